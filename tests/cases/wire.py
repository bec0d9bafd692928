"""HTTP/1.1 over a bare socket, so that odd requests can be sent exactly as they are written."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
LIMIT_S = 120.0
_PIECE = 65536


class LateError(Exception):
    """No end of an answer within the limit."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the body as it goes over the wire and what its Content-Length says (None: not sent)."""

    method: str
    target: str
    headers: tuple[tuple[str, bytes], ...]
    body: bytes = b""
    length: int | None = None
    chunked: bool = False

    def head(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1".encode("utf-8", "surrogateescape")]
        lines += [name.encode() + b": " + value for name, value in self.headers]
        if self.chunked:
            lines.append(b"Transfer-Encoding: chunked")
        elif self.length is not None:
            lines.append(b"Content-Length: %d" % self.length)
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def payload(self) -> bytes:
        if not self.chunked:
            return self.body
        pieces = (self.body[at : at + _PIECE] for at in range(0, len(self.body), _PIECE))
        return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Response:
    """One answer; the names of its headers are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The JSON value of the body, or of the last message of an event stream; None where it is neither."""
        texts = _events(self.text) if "event-stream" in self.headers.get("content-type", "") else [self.text]
        for text in reversed(texts):
            with contextlib.suppress(ValueError):
                value = json.loads(text)
                if len(texts) == 1 or (isinstance(value, dict) and ("result" in value or "error" in value)):
                    return value
        return None


def _events(text: str) -> list[str]:
    blocks = text.replace("\r\n", "\n").split("\n\n")
    lines = [[line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")] for block in blocks]
    return ["\n".join(data) for data in lines if data]


class Connection:
    """One connection to the door, for one request and its answer."""

    def __init__(self, port: int, *, tls: bool = False, limit_s: float = LIMIT_S) -> None:
        self._end = time.monotonic() + limit_s
        self._buffer = b""
        plain = socket.create_connection((HOST, port), timeout=limit_s)
        self._socket = _in_tls(plain) if tls else plain

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Sends as much as the other side takes: an answer that comes before the end stops the sending."""
        rest = memoryview(data)
        while rest:
            readable, writable, _ = select.select([self._socket], [self._socket], [], self._left())
            if readable and len(rest) < len(data):
                return
            if writable:
                try:
                    rest = rest[self._socket.send(rest[:_PIECE]) :]
                except OSError:
                    return

    def receive(self, *, head_only: bool = False) -> Response | None:
        """The answer, or None where the connection ended without one."""
        try:
            return self._receive(head_only=head_only)
        except EOFError:
            return None

    def _receive(self, *, head_only: bool) -> Response:
        while True:
            status_line, headers = self._head()
            status = int(status_line.split(b" ", 2)[1])
            if status >= 200:
                break
        if head_only or status in (204, 304):
            return Response(status, headers, b"")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return Response(status, headers, b"".join(self._chunks()))
        if "content-length" in headers:
            return Response(status, headers, self._exactly(int(headers["content-length"])))
        return Response(status, headers, self._rest())

    def _head(self) -> tuple[bytes, dict[str, str]]:
        status_line = self._line()
        if not status_line.startswith(b"HTTP/"):
            raise EOFError
        headers: dict[str, str] = {}
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        return status_line, headers

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._line().split(b";")[0], 16):
            yield self._exactly(size)
            self._line()
        while self._line():
            pass

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._more()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.rstrip(b"\r")

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _rest(self) -> bytes:
        with contextlib.suppress(EOFError):
            while True:
                self._more()
        return self._buffer

    def _more(self) -> None:
        try:
            self._socket.settimeout(self._left())
            piece = self._socket.recv(_PIECE)
        except TimeoutError as late:
            raise LateError("no end of the answer") from late
        except OSError as wrong:
            raise EOFError from wrong
        if not piece:
            raise EOFError
        self._buffer += piece

    def _left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise LateError("no end of the answer")
        return left


def _in_tls(plain: socket.socket) -> socket.socket:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


def exchange(port: int, request: Request, *, tls: bool = False, limit_s: float = LIMIT_S) -> Response | None:
    """Sends a request and gives the answer, or None where there is none; raises LateError past the limit."""
    try:
        with Connection(port, tls=tls, limit_s=limit_s) as connection:
            connection.send(request.head() + request.payload())
            return connection.receive(head_only=request.method == "HEAD")
    except (ConnectionError, ssl.SSLError):
        return None
    except TimeoutError as late:
        raise LateError("no connection") from late


def with_defaults(
    headers: Mapping[str, Any],
    port: int,
    extra: Sequence[tuple[str, str]] = (),
) -> tuple[tuple[str, bytes], ...]:
    """The given headers as bytes; Host, Content-Type, Accept and Connection are added where their name is not given.

    A header null is not sent and counts as given; a list is sent as several headers of that name.
    """
    given = {name.lower() for name in headers}
    defaults = [
        ("Host", f"{HOST}:{port}"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Connection", "close"),
        *extra,
    ]
    sent = [(name, value.encode()) for name, value in defaults if name.lower() not in given]
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        sent += [(name, _header_bytes(one)) for one in values if one is not None]
    return tuple(sent)


def _header_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
