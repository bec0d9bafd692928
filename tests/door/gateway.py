"""A real gateway in a process of its own, on temporary places, and plain HTTP to speak to it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muninn import clients
from muninn.model.rights import DEFAULT_SCOPES

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Heard:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Gateway:
    """Where it is, and the tokens of its clients."""

    folder: Path
    port: int
    tokens: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def vault(self) -> Path:
        return self.folder / "vault"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def environment(self) -> dict[str, str]:
        own = {"vault": self.vault, "home": self.home, "cache": self.folder / "cache"}
        return os.environ | {f"MUNINN_{name.upper()}": str(place) for name, place in own.items()}

    def add(self, name: str, scopes: frozenset[str] = DEFAULT_SCOPES, read: str = "**", write: str = "**") -> None:
        """Register a client, also while the gateway runs."""
        self.tokens[name] = clients.new_token()
        made = clients.make(name, self.tokens[name], scopes, (read,), (write,), None)
        path = self.home / "clients.toml"
        clients.save(path, clients.added(clients.load(path), made))

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Heard:
        """One raw request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return Heard(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def rpc(self, client: str | None, method: str, params: dict[str, Any], era: str = HANDSHAKE, **more: str) -> Heard:
        """One JSON-RPC request as a client, in either era of the protocol."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"MCP-Protocol-Version": era} | more
        if client is not None:
            headers["Authorization"] = f"Bearer {self.tokens[client]}"
        if era == STATELESS:
            headers["Mcp-Method"] = method
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
            meta = {
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = params | {"_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return self.ask("POST", "/mcp", headers, body.encode())

    def call(self, tool: str, arguments: dict[str, Any], client: str = "a", era: str = HANDSHAKE) -> dict[str, Any]:
        """A tool's answer, or its refusal as ``{"error": …}``."""
        heard = self.rpc(client, "tools/call", {"name": tool, "arguments": arguments}, era)
        result = heard.json["result"]
        if result.get("isError"):
            found: dict[str, Any] = json.loads(result["content"][0]["text"])
            return found
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def muninn(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command beside the gateway."""
        command = [sys.executable, "-P", "-m", "muninn", *arguments]
        environment = self.environment | more.pop("env", {})
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60, **more)

    def launch(self, *arguments: str) -> None:
        """Start it, without waiting."""
        command = [sys.executable, "-P", "-m", "muninn", "serve", "--port", str(self.port), *arguments]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def start(self, *arguments: str) -> None:
        """Start it, and wait until it is ready."""
        self.launch(*arguments)
        assert self.process is not None
        for _ in range(400):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                if self.ask("GET", "/health", {}).status == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the gateway did not become ready")

    def stop(self) -> int:
        """End it as a person would, and give its exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=20)

    def log(self) -> str:
        return (self.folder / "log").read_text()


def places(folder: Path) -> Gateway:
    """An empty vault with a client ``a``, not yet served."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        made = Gateway(folder, int(probe.getsockname()[1]))
    made.vault.mkdir(parents=True)
    made.add("a")
    return made


@contextmanager
def served(made: Gateway, *arguments: str) -> Iterator[Gateway]:
    """A gateway that runs for the length of a block."""
    made.start(*arguments)
    try:
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()


def until_ready(made: Gateway) -> None:
    """Wait until the index has made its first scan."""
    for _ in range(200):
        if made.call("status", {})["index"]["state"] == "ready":
            return
        time.sleep(0.05)
    raise AssertionError("the index did not become ready")
