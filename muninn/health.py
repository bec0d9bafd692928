"""How a gateway is, asked from outside as anybody may ask it: by the status of its ``/health``."""

from __future__ import annotations

import http.client
import ssl
from typing import Final
from urllib.parse import urlsplit

_TIMEOUT_S: Final = 3.0


def status(address: str) -> int | None:
    """The status that ``/health`` answers with at an address (scheme, host, port); None where nobody answers there.

    200 is well, 503 says that vault or ledger is down. No proxy of the environment is used, and no redirect followed.
    """
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        # Nothing is sent and only a status is read, so whose certificate it is does not matter here.
        anyone = ssl.create_default_context()
        anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
        connection: http.client.HTTPConnection
        connection = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=anyone)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
