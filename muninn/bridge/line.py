"""One connection to the gateway, kept from call to call.

No redirect is followed and no proxy of the environment is used: the token goes to the one address it is meant for. A
request is sent once. A connection that the gateway may have closed meanwhile is made anew before, so that none needs
to be sent again without knowing whether it was done.
"""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .address import Address

if TYPE_CHECKING:
    import ssl

MOST_ANSWER: Final = 64 * 1024 * 1024
_CONNECT_S: Final = 10.0
# A script may run for 60 s, and wait for its turn before; nothing of the gateway's takes longer. Of the whole answer:
# one that comes byte by byte would else never end.
_ANSWER_S: Final = 300.0
# The gateway closes a connection after 5 s without a call.
_IDLE_S: Final = 3.0


class DownError(Exception):
    """The gateway could not be reached; nothing was sent."""


class LostError(Exception):
    """The gateway went away between call and answer; what was asked may have been done."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An HTTP answer."""

    status: int
    kind: str
    retry_after: str
    body: bytes


class Line:
    """A connection. Used by one thread; ``cut`` may be called by another."""

    def __init__(self, address: Address, trust: ssl.SSLContext | None) -> None:
        self._address = address
        self._trust = trust
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._used = 0.0

    def post(self, body: bytes, headers: dict[str, str]) -> Heard:
        """Send one request and read its answer. Raises DownError or LostError."""
        connection = self._open()
        late = threading.Timer(_ANSWER_S, self.cut)
        late.daemon = True
        late.start()
        try:
            heard = _ask(connection, self._address.target, body, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise LostError(type(error).__name__) from error
        finally:
            late.cancel()
        self._used = time.monotonic()
        if connection.sock is None:
            self.close()
        return heard

    def cut(self) -> None:
        """End the call that is under way, if any: whoever waits for it gets LostError."""
        held = self._socket
        if held is not None:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connection; the next call makes another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._socket = None

    def _open(self) -> http.client.HTTPConnection:
        if self._socket is not None and (time.monotonic() - self._used > _IDLE_S or _has_ended(self._socket)):
            self.close()
        if self._connection is None:
            made = self._make()
            try:
                made.connect()
            except OSError as error:  # ssl's own errors are OSErrors, too
                made.close()
                raise DownError(_said(error)) from error
            made.sock.settimeout(_ANSWER_S)
            self._connection, self._socket = made, made.sock
        return self._connection

    def _make(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._trust is not None:
            return http.client.HTTPSConnection(host, port, timeout=_CONNECT_S, context=self._trust)
        return http.client.HTTPConnection(host, port, timeout=_CONNECT_S)


def _ask(connection: http.client.HTTPConnection, target: str, body: bytes, headers: dict[str, str]) -> Heard:
    # Who is turned away early may hear so before the whole body is sent.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", target, body, headers)
    answer = connection.getresponse()
    found = answer.read(MOST_ANSWER + 1)
    if len(found) > MOST_ANSWER:
        raise ValueError(f"an answer of over {MOST_ANSWER} bytes")
    if answer.length:  # fewer bytes than were announced, which is no error to http.client
        raise http.client.IncompleteRead(found, answer.length)
    kind = answer.getheader("Content-Type", "").partition(";")[0].strip().lower()
    return Heard(answer.status, kind, answer.getheader("Retry-After", ""), found)


def _has_ended(held: socket.socket) -> bool:
    """Whether the other side has closed a connection on which nothing is awaited."""
    return bool(select.select([held], [], [], 0)[0])


def _said(error: OSError) -> str:
    """What went wrong, in a few words and without anything that was sent."""
    return str(getattr(error, "verify_message", "") or error.strerror or error.args[-1] if error.args else "no answer")
