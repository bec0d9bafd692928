"""A process that stands before a gateway and adds a bearer token to every request: the suite can send no headers.

Nothing else is changed by a byte, so that Host, Origin, spaces and cases of headers reach the gateway as they were
sent. The token comes over standard input, the two ports as arguments: ``python -P -m tests.conformance.injector PORT
GATEWAY_PORT``.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from typing import Final

_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_MOST_HEAD: Final = 64 * 1024


def with_token(head: bytes, token: bytes) -> bytes:
    """A request's head, its last empty line included, with the token as its first header.

    >>> with_token(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", b"t")
    b'GET / HTTP/1.1\\r\\nAuthorization: Bearer t\\r\\nHost: a\\r\\n\\r\\n'
    """
    line, _, rest = head.partition(b"\r\n")
    return line + b"\r\nAuthorization: Bearer " + token + b"\r\n" + rest


def body_length(head: bytes) -> int:
    """How many bytes follow a head. Raises ValueError for a chunked body, which the suite does not send."""
    if _CHUNKED.search(head):
        raise ValueError("a chunked request cannot be passed on here")
    found = _LENGTH.search(head)
    return int(found[1]) if found else 0


async def _requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: bytes) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(with_token(head, token))
            writer.write(await reader.readexactly(body_length(head)))
            await writer.drain()
    writer.close()


async def _answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def _serve(port: int, gateway: int, token: bytes) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", gateway)
        with contextlib.suppress(ConnectionError, OSError):
            await asyncio.gather(_requests(reader, inner_writer, token), _answers(inner_reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=_MOST_HEAD)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), sys.stdin.readline().strip().encode()))
