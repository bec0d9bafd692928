"""A real gateway on the bundled sample vault, and the injector before it; both end with the block that started them."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from muninn import clients
from muninn.cli.start import lay_out_sample
from muninn.settings import Places

_START_S: Final = 30.0


class NotStartedError(Exception):
    """The gateway or the injector did not become ready; the message says which, with the end of its output."""


@dataclass(frozen=True, slots=True)
class Address:
    """``door`` is the gateway, ``open_door`` the injector before it, ``token`` what the gateway asks for."""

    door: str
    open_door: str
    token: str = field(repr=False)


@contextmanager
def running(folder: Path) -> Iterator[Address]:
    """Start both processes, wait until they answer, and stop them at the end of the block."""
    places = lay_out_sample(folder)
    token = clients.new_token()
    client = clients.make("conformance", token)
    clients.save(places.clients, clients.added({}, client))
    port, open_port = _free_ports()
    injector = [sys.executable, "-P", "-m", "tests.conformance.injector", str(open_port), str(port)]
    with (
        _process([sys.executable, "-P", "-m", "muninn", "serve", "--port", str(port)], places, folder / "gateway.log"),
        _process(injector, places, folder / "injector.log", token),
    ):
        _wait(port, "the gateway", folder / "gateway.log")
        _wait(open_port, "the injector", folder / "injector.log")
        yield Address(f"http://127.0.0.1:{port}/mcp", f"http://127.0.0.1:{open_port}/mcp", token)


@contextmanager
def _process(command: list[str], places: Places, log: Path, said: str | None = None) -> Iterator[None]:
    own = {"MUNINN_VAULT": str(places.vault), "MUNINN_HOME": str(places.home), "MUNINN_CACHE": str(places.cache)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **own}, stdin=subprocess.PIPE, stdout=output, stderr=output
        )
        try:
            if process.stdin is not None:
                process.stdin.write((said or "").encode() + b"\n")
                process.stdin.close()
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=20)


def _wait(port: int, what: str, log: Path) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)
    said = log.read_text(errors="replace").strip().splitlines()[-3:]
    raise NotStartedError(f"{what} was not ready within {_START_S:.0f} s: {' / '.join(said)}")


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])
