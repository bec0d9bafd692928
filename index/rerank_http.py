"""A reranker on another machine of the owner's, asked over HTTP in the form that Jina, Cohere, vLLM, llama.cpp and TEI
understand: ``POST {query, documents}``, answered by ``results[{index, relevance_score}]``.

Encrypted, or to this machine, unless the owner allows it otherwise. No redirect is followed, no proxy of the
environment is used, the answer is bounded in size and the whole call in time. The token appears in no error and no log.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from .public import PublicText

if TYPE_CHECKING:
    from http.client import HTTPConnection

MOST_ANSWER_BYTES: Final = 256 * 1024
_CONNECT_S: Final = 5.0


class EndpointError(Exception):
    """The endpoint did not answer as one. The text names what was wrong and nothing that was sent or received."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the endpoint is. Made by ``parse`` alone."""

    secure: bool
    host: str
    port: int
    target: str


def parse(url: str, *, allow_plain: bool = False) -> Address | str:
    """The endpoint's address, or what is wrong with it.

    >>> parse("http://127.0.0.1:8080/rerank")
    Address(secure=False, host='127.0.0.1', port=8080, target='/rerank')
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("https", "http") or not parts.hostname:
        return "it must begin with https:// (or http:// to this machine) and name a host"
    if parts.username is not None or parts.password is not None:
        return "it holds a user or a password; put the token into a file of mode 0600 and name that"
    if parts.fragment or any(char <= " " or char == "\x7f" for char in url):
        return "it holds a fragment, a space or a control character"
    secure = parts.scheme == "https"
    if not (secure or allow_plain or _is_this_machine(parts.hostname)):
        return "it is neither https nor this machine, so texts of notes would travel in clear"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(secure, parts.hostname, port or (443 if secure else 80), target)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class HttpReranker:
    """The endpoint as a reranker. ``within_s`` bounds a whole call; ``model`` is the name it may ask for."""

    address: Address
    within_s: float
    token: str | None = field(default=None, repr=False)
    model: str | None = None

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        """Raises EndpointError, or the socket's own OSError, where there is no answer that fits."""
        asked: dict[str, Any] = {"query": question, "documents": [text.text for text in texts], "top_n": len(texts)}
        asked |= {"return_documents": False} | ({"model": self.model} if self.model else {})
        return _read(self._post(json.dumps(asked).encode()), len(texts))

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = _connection(self.address, min(self.within_s, _CONNECT_S))
        try:
            with _ended_after(connection, self.within_s):
                connection.request("POST", self.address.target, body, headers)
                answer = connection.getresponse()
                if answer.status != 200:
                    raise EndpointError(f"status {answer.status}")
                found = answer.read(MOST_ANSWER_BYTES + 1)
        finally:
            connection.close()
        if len(found) > MOST_ANSWER_BYTES:
            raise EndpointError(f"over {MOST_ANSWER_BYTES} bytes")
        return found


def _connection(address: Address, timeout_s: float) -> HTTPConnection:
    # Not needed by a search that asks nobody else, and slow to import.
    from http.client import HTTPConnection, HTTPSConnection

    if not address.secure:
        return HTTPConnection(address.host, address.port, timeout=timeout_s)
    import ssl

    return HTTPSConnection(address.host, address.port, timeout=timeout_s, context=ssl.create_default_context())


@contextlib.contextmanager
def _ended_after(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    """Cut the connection when the time is over, so that an answer that drips does not hold the thread."""
    until = time.monotonic() + seconds
    connection.connect()
    held = connection.sock  # the connection lets go of it as soon as the answer's head is there

    def cut() -> None:
        with contextlib.suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, until - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(found: bytes, count: int) -> list[float]:
    """The scores in the order of the texts, from either form of answer."""
    try:
        answer = json.loads(found)
        rows = answer["results"] if isinstance(answer, dict) else answer
        scores = {int(row["index"]): float(row.get("relevance_score", row.get("score"))) for row in rows}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EndpointError("not the JSON of a reranker") from error
    if set(scores) != set(range(count)):
        raise EndpointError("not one score for each text")
    return [scores[number] for number in range(count)]
