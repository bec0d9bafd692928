"""A keep-alive connection that sends any bytes and hears what comes back."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass

_LAWFUL_S = 60.0
_OTHER_S = 3.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer; status 0 where the other side hung up or kept silent."""

    status: int
    body: bytes
    kind: str = ""


SILENCE = Reply(0, b"")


class Wire:
    """One connection, opened again when it is gone."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def send(self, raw: bytes, method: str, *, lawful: bool) -> Reply:
        """Send one request. After an unlawful one the connection is closed; a lawful one is tried on a second."""
        kept = self._socket is not None
        reply = self._once(raw, method, lawful)
        if reply is SILENCE and kept and lawful:
            reply = self._once(raw, method, lawful)
        return reply

    def _once(self, raw: bytes, method: str, lawful: bool) -> Reply:
        try:
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=10)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(_LAWFUL_S if lawful else _OTHER_S)
            self._socket.sendall(raw)
            if not lawful:
                self._socket.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(self._socket, method=method)
            answer.begin()
            reply = Reply(answer.status, answer.read(), answer.getheader("content-type", ""))
            if answer.will_close or not lawful:
                self.close()
            return reply
        except (OSError, http.client.HTTPException):
            self.close()
            return SILENCE

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
