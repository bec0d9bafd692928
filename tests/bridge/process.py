"""A bridge as a client starts it, and a gateway that misbehaves on request."""

from __future__ import annotations

import http.server
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.door.gateway import STATELESS

BARE = {name: value for name, value in os.environ.items() if not name.startswith("MUNINN_")}


@dataclass(slots=True)
class Bridge:
    """The process with what it wrote, line by line as it came."""

    process: subprocess.Popen[bytes]
    heard: queue.Queue[bytes] = field(default_factory=queue.Queue)

    def send(self, message: Any) -> None:
        """One message; bytes go out as they stand."""
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def next(self, seconds: float = 20) -> Any:
        """The next message from the bridge; whatever is no JSON fails."""
        return json.loads(self.heard.get(timeout=seconds))

    def ask(self, method: str, params: dict[str, Any] | None = None, message_id: Any = 1, era: str = "") -> Any:
        """A request and its answer."""
        self.send(request(method, params, message_id, era))
        return self.next()

    def call(self, tool: str, arguments: dict[str, Any], message_id: Any = 1, era: str = "") -> Any:
        """A tool's answer."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments}, message_id, era)
        return answer["result"]["structuredContent"]

    def end(self) -> tuple[int, str]:
        """Close its input, and give status and remarks."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        return self.process.wait(timeout=10), self.process.stderr.read().decode()


def request(method: str, params: dict[str, Any] | None = None, message_id: Any = 1, era: str = "") -> dict[str, Any]:
    """A request in one era or the other."""
    params = params or {}
    if era == STATELESS:
        version = {"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": {}}
        params = params | {"_meta": version}
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}


@contextmanager
def bridged(*arguments: str, token: str | None = None, **more: str) -> Iterator[Bridge]:
    """A bridge for the length of a block."""
    command = [sys.executable, "-P", "-m", "muninn", "bridge", *arguments]
    environment = BARE | ({} if token is None else {"MUNINN_TOKEN": token}) | more
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
    made = Bridge(process)
    reader = threading.Thread(target=_read, args=(made,), daemon=True)
    reader.start()
    try:
        yield made
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=10)
        reader.join(timeout=10)
        for end in (process.stdin, process.stdout, process.stderr):
            assert end is not None
            end.close()


def _read(bridge: Bridge) -> None:
    assert bridge.process.stdout is not None
    for line in iter(bridge.process.stdout.readline, b""):
        bridge.heard.put(line)


@dataclass(frozen=True, slots=True)
class Said:
    """What a hostile gateway answers with."""

    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


@contextmanager
def pretending(answer: Callable[[bytes, dict[str, str]], Said]) -> Iterator[str]:
    """A server that answers as it is told, at the address given."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            said = answer(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
