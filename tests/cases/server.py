"""The door's process: started on a port of its own, waited for, stopped or killed."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .process import Child, spawn
from .records import Record
from .verdict import NotCarriedOutError
from .wire import HOST, LateError, Request, exchange, with_defaults

MUNINN = (sys.executable, "-P", "-m", "muninn")
_START_S = 60.0
_STOP_S = 60.0
_SECOND_ON_PORT_S = 30.0
_GRACE_S = 1.0
_ports: set[int] = set()
_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Server:
    """A started door; `stub` says whether the runner's reranker stands behind it."""

    child: Child
    port: int
    stub: bool
    tls: bool

    def running(self) -> bool:
        return self.child.exit() is None


def free_port() -> int:
    """A port that was free a moment ago and that this run has not given away before."""
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
        with _guard:
            if port not in _ports:
                _ports.add(port)
                return port


def launch(port: int, more: Sequence[str], env: Mapping[str, str], cwd: Path, logs: Path) -> Server:
    """Starts `muninn serve` and does not wait."""
    logs.mkdir()
    argv = [*MUNINN, "serve", "--port", str(port), *more]
    child = spawn(argv, env, cwd, logs / "stdout", logs / "stderr")
    tls = any(word.split("=")[0] == "--tls-cert" for word in more)
    return Server(child, port, "MUNINN_TEST_RERANKER" in env, tls)


def wait_for(server: Server, port_is_taken: Callable[[], bool]) -> Record:
    """Waits until /health says 200 or the process has ended, at most 60 s.

    While an older door still holds the port, its answers say nothing: then only the end is waited for, for 30 s.
    """
    began = time.monotonic()
    taken = port_is_taken()
    while time.monotonic() - began < (_SECOND_ON_PORT_S if taken else _START_S) and server.running():
        taken = port_is_taken()
        if not taken and health(server) == 200 and server.running():
            break
        time.sleep(0.03)
    return record(server, time.monotonic() - began)


def ends_soon(server: Server) -> bool:
    """Whether a door that may have just died is gone within a second."""
    end = time.monotonic() + _GRACE_S
    while server.running() and time.monotonic() < end:
        time.sleep(0.01)
    return not server.running()


def record(server: Server, seconds: float) -> Record:
    """What can be said of a door now."""
    running = server.running()
    output = server.child.output()
    text = output.decode("utf-8", "replace")
    status = server.child.exit()
    data = {"running": running, "exit": status, "output": text, "seconds": seconds}
    fault = "" if running else f"the server ended with status {status}"
    return Record("server", data, text, len(output), seconds, fault)


def health(server: Server) -> int | None:
    """The status of GET /health, None where there is no answer in 2 s."""
    request = Request("GET", "/health", with_defaults({"Content-Type": None}, server.port))
    try:
        response = exchange(server.port, request, tls=server.tls, limit_s=2.0)
    except LateError:
        return None
    return None if response is None else response.status


def stop(server: Server) -> Record:
    """SIGTERM, then waits for the end; refuses to wait longer than 60 s."""
    began = time.monotonic()
    if server.running() and server.child.end(signal.SIGTERM, _STOP_S) is None:
        raise NotCarriedOutError(f"server stop: still running {_STOP_S:g} s after SIGTERM")
    return _ended(server, began)


def kill(server: Server) -> Record:
    """SIGKILL to the door and what it started."""
    began = time.monotonic()
    if server.running():
        server.child.kill()
    return _ended(server, began)


def _ended(server: Server, began: float) -> Record:
    said = record(server, time.monotonic() - began)
    return Record("server", said.data, said.text, said.size, said.seconds)
