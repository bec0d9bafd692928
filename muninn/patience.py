"""How long a stranger may keep a connection open without saying anything, and how much may be said before the body."""

from __future__ import annotations

import asyncio
from typing import Any, Final

FIRST_REQUEST_S: Final = 10.0
"""Within this time the head of a first request must have arrived."""
MOST_HEAD: Final = 64 * 1024
"""Bytes of a request's address and headers, as uvicorn's slower protocol takes them by itself."""


def protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol, the quicker one where it is there, that hangs up on connections which stay silent and
    answers 400 to a head of over ``MOST_HEAD`` bytes."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol

    class Patient(base):  # type: ignore[misc]
        """Closes a connection whose first request does not come; keep-alive between requests is uvicorn's own."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            asyncio.get_running_loop().call_later(FIRST_REQUEST_S, self._hang_up_if_silent)

        def _hang_up_if_silent(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return _brief(Patient) if hasattr(base, "on_header") else Patient


def _brief(patient: Any) -> type[asyncio.Protocol]:
    """The quicker protocol sets no limit to a head, and joins what has come with each piece that comes: some ten
    megabytes from a stranger kept everybody waiting for seconds."""

    class Brief(patient):  # type: ignore[misc]
        """Counts what was parsed of a head, and what came since the parser last took anything: a header whose end is
        still to come, before a body or behind it."""

        _head = 0
        _waiting = 0

        def on_message_begin(self) -> None:
            self._head = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._grow(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._grow(len(name) + len(value) + len(": \r\n"))
            super().on_header(name, value)

        def on_body(self, body: bytes) -> None:
            self._waiting = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._waiting = 0
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            self._waiting += len(data)
            super().data_received(data)
            if self._waiting > MOST_HEAD and not self.transport.is_closing():
                self._refuse()

        def _refuse(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response("The head of the request is too long.")
            else:
                self.transport.close()

        def _grow(self, more: int) -> None:
            self._head += more
            self._waiting = 0
            if self._head > MOST_HEAD:
                raise ValueError("the head is too long")  # the parser makes a 400 of it

    return Brief
