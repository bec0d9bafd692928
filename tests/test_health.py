"""Who answers for a gateway and is none: within a time, and without a word taken for health."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from muninn import health

Stranger = Callable[[socket.socket], None]


def _drips(held: socket.socket) -> None:
    held.sendall(b"HTTP/1.1 200 OK"[:9])
    while True:
        held.sendall(b" ")
        time.sleep(0.05)


def _goes_on(held: socket.socket) -> None:
    while True:
        held.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def _pours(held: socket.socket) -> None:
    while True:
        held.sendall(b"x" * 65536)


def _sends_away(held: socket.socket) -> None:
    held.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/health\r\n\r\n")


def _is_another(held: socket.socket) -> None:
    held.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")


def _is_silent(held: socket.socket) -> None:
    held.recv(1)


@contextmanager
def answering(stranger: Stranger) -> Iterator[int]:
    """A port that a stranger holds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk(held: socket.socket) -> None:
            with held, contextlib.suppress(OSError):
                held.recv(1000)
                stranger(held)

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("stranger", [_drips, _goes_on, _pours, _is_another, _is_silent])
def test_a_stranger_is_no_gateway_and_is_not_waited_for(
    stranger: Stranger, secure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_TIMEOUT_S", 0.5)
    with answering(stranger) as port:
        began = time.monotonic()
        assert health.status(f"{'https' if secure else 'http'}://127.0.0.1:{port}") is None
        assert time.monotonic() - began < 5


def test_a_redirect_is_not_followed() -> None:
    with answering(_sends_away) as port:
        assert health.status(f"http://127.0.0.1:{port}") == 302


@pytest.mark.parametrize(
    "address", ["", "http://", "http://127.0.0.1", "http://127.0.0.1:x", "http://[::1:80", "http://é:80"]
)
def test_an_address_that_was_changed_by_hand_is_nobodys(address: str) -> None:
    assert health.status(address) is None
