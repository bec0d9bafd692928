"""Server processes of a run, each ended by its own handle, and the processor time they have used."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_START_S: Final = 60.0
_SETTLE_S: Final = 180.0
_IDLE_S: Final = 0.02
"""Of half a second: a server without a call and without work of its own stays well below."""
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers on a port of this machine."""

    process: int
    port: int

    def cpu(self) -> float:
        """Seconds of processor time so far, to the nanosecond where the kernel tells each thread's, else in ticks."""
        tasks = Path(f"/proc/{self.process}/task")
        try:
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
        except (OSError, ValueError, IndexError):
            fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) * _TICK_S

    def settle(self) -> None:
        """Wait until what a start sets going in the background is done: two seconds of nothing to do."""
        end, quiet = time.monotonic() + _SETTLE_S, 0
        while quiet < 4:
            if time.monotonic() > end:
                raise RuntimeError(f"a server was still busy after {_SETTLE_S:.0f} s without a call")
            before = self.cpu()
            time.sleep(0.5)
            quiet = quiet + 1 if self.cpu() - before < _IDLE_S else 0


class Line:
    """One kept-alive connection to a server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> tuple[int, bytes]:
        """One request and its whole answer. A connection that the server has hung up for idleness is opened again."""
        try:
            return self._exchange(method, path, headers, body)
        except (ConnectionError, http.client.RemoteDisconnected):
            self._connection.close()
            return self._exchange(method, path, headers, body)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> tuple[int, bytes]:
        self._connection.request(method, path, body, dict(headers))
        answer = self._connection.getresponse()
        return answer.status, answer.read()


@contextmanager
def serving(command: Sequence[str], port: int, environment: Mapping[str, str], log: Path) -> Iterator[Served]:
    """Start a server, wait until ``/health`` answers 200, and stop it at the end of the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=output, stderr=output)
        try:
            _wait(process, port, log)
            yield Served(process.pid, port)
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=20)


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end and process.poll() is None:
        line = Line(port)
        try:
            if line.ask("GET", "/health", {})[0] == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        finally:
            line.close()
    raise RuntimeError(f"a server did not become ready: {log.read_text(errors='replace')[-400:]}")
