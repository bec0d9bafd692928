"""How long a stranger may keep a connection open without saying anything."""

from __future__ import annotations

import asyncio
from typing import Any, Final

FIRST_REQUEST_S: Final = 10.0
"""Within this time the head of a first request must have arrived."""


def protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol, the quicker one where it is there, that hangs up on connections which stay silent."""
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

    return Patient
