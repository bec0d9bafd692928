"""How a gateway is, asked from outside as anybody may ask it: by the status of its ``/health``.

Within a time, and of what is said one line is read: whoever answers in its place is not waited for.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from typing import Final
from urllib.parse import urlsplit

_TIMEOUT_S: Final = 3.0
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([2-5][0-9]{2})\b")
_MOST: Final = 1024


def status(address: str) -> int | None:
    """The status that ``/health`` answers with at an address (scheme, host, port); None where nobody answers there as
    HTTP does within three seconds, or it is no such address.

    200 is well, 503 says that vault or ledger is down. No proxy of the environment is used, and no redirect followed.
    """
    end = time.monotonic() + _TIMEOUT_S
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
        if not host or not port:
            return None
        with socket.create_connection((host, port), timeout=_TIMEOUT_S) as plain:
            request = f"GET /health HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode("ascii")
            if parts.scheme != "https":
                return _asked(plain, request, end)
            plain.settimeout(_left(end))
            with _anyone().wrap_socket(plain) as encrypted:
                return _asked(encrypted, request, end)
    except (OSError, ValueError):  # ssl's own errors are OSErrors, too
        return None


def _asked(held: socket.socket, request: bytes, end: float) -> int | None:
    held.settimeout(_left(end))
    held.sendall(request)
    heard = b""
    while b"\n" not in heard and len(heard) < _MOST:
        held.settimeout(_left(end))
        more = held.recv(_MOST)
        if not more:
            break
        heard += more
    found = _STATUS.match(heard)
    return int(found[1]) if found else None


def _left(end: float) -> float:
    """The time that is left. Raises TimeoutError where there is none."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _anyone() -> ssl.SSLContext:
    # Nothing is sent and only a status is read, so whose certificate it is does not matter here.
    made = ssl.create_default_context()
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made
