"""What a request must get past before anything of it is acted on: host, token, rate and size. Plain ASGI.

The order is fixed: foreign hosts and origins are turned away before the token is judged, the token before
the body is read. A token counts in the Authorization header alone and is written nowhere.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Protocol

import anyio

from muninn.asgi import App, Message, Receive, Scope, Send
from muninn.clients import Client, Register

MAX_BODY: Final = 4 * 1024 * 1024
BODY_SECONDS: Final = 60.0
MAX_FORM: Final = 256 * 1024
"""Of what a page of the console sends."""
LOGIN_BODY: Final = 8 * 1024
LOGIN_SECONDS: Final = 10.0
"""What a browser may send that is not logged in, and how long it may take: a token and no more."""
# Addresses of sign-in that do not exist here: a plain 404 keeps clients with a fixed token from trying one.
_NO_SIGN_IN: Final = re.compile(r"/\.well-known(?:/.*)?\Z|/(?:register|authorize|token)/?\Z")
_PASSED_OVER: Final = 32 * 1024 * 1024
_SMALL: Final = 32 * 1024
_MOST_VALUES: Final = 20_000
_STRING: Final = re.compile(rb'"(?:[^"\\]+|\\.)*"', re.DOTALL)
_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?\Z")
_ORIGIN: Final = re.compile(r"https?://([^/?#@]+)\Z", re.IGNORECASE)

log = logging.getLogger("muninn.auth")


@dataclass(frozen=True, slots=True)
class Turned:
    """An answer from the door itself: status, a short reason, headers, and whose request it was if that is known."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...] = ()
    client: str | None = None


UNAUTHORISED: Final = Turned(401, "a valid bearer token is needed", (("www-authenticate", "Bearer"),))
_FOREIGN: Final = Turned(403, "this host or origin is not served here; the owner allows names with --allow-host")
_PLAIN: Final = (
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cache-control", "no-store"),
)
"""With an answer of the gate to a browser."""


@dataclass(slots=True)
class Bucket:
    """How many calls a client may make now: filled at ``rate`` a second up to ``burst``."""

    left: float
    at: float


@dataclass(slots=True)
class Rates:
    """A token bucket a client. A rate of 0 sets no limit."""

    per_second: float
    burst: float
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def take(self, client: str, now: float) -> float:
        """Take one call; gives the seconds to wait, 0 where it may go on."""
        if self.per_second <= 0:
            return 0.0
        bucket = self.buckets.setdefault(client, Bucket(self.burst, now))
        bucket.left = min(self.burst, bucket.left + (now - bucket.at) * self.per_second)
        bucket.at = now
        if bucket.left < 1:
            return (1 - bucket.left) / self.per_second
        bucket.left -= 1
        return 0.0


class Admitted(Protocol):
    """Somebody the console knows, and the client that goes with it."""

    @property
    def client(self) -> Client: ...


class SideDoor(Protocol):
    """An app with an admission of its own, as the console: it says who it knows, and answers strangers itself."""

    def admit(self, scope: Scope) -> Admitted | None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Gate:
    """The middleware in front of every route but ``/health``. Leaves the Client in ``scope["state"]["client"]``.

    What is asked below ``/console`` goes to ``console`` and never to the app behind the gate: a cookie opens nothing
    there, and a token opens nothing here. Without ``console`` these addresses are like any other.
    """

    def __init__(
        self,
        app: App,
        register: Register,
        hosts: Iterable[str],
        rates: Rates,
        console: Callable[[], Awaitable[SideDoor]] | None = None,
        tell: Callable[[Scope, int, str | None], None] | None = None,
    ) -> None:
        """``console`` gives the console, made when it is first asked for.

        ``tell`` hears of each request that is answered here: its status, and the client where that is known.
        """
        self._app = app
        self._tell = tell or (lambda _scope, _status, _client: None)
        self._register = register
        self._hosts = frozenset(host.lower() for host in hosts)
        self._rates = rates
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "http":
            # White space around a value is no part of it (RFC 9110, 5.5); not every parser takes it away.
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        is_health = scope.get("path") == "/health" and scope.get("method") in ("GET", "HEAD")
        if scope["type"] != "http" or is_health:
            await self._app(scope, receive, send)
            return
        if self._console is not None and is_for_console(scope["path"]):
            await self._to_console(self._console, scope, receive, send)
            return
        client = self._admit(scope)
        if isinstance(client, Turned):
            # Much that is still to come is not waited for; a small body is passed over with the connection kept.
            close = (("connection", "close"),) if _announces_much(scope["headers"]) else ()
            self._tell(scope, client.status, client.client)
            await answer(send, replace(client, headers=(*client.headers, *close)))
            return
        body = await _whole_body(scope, receive)
        if isinstance(body, bytes) and len(body) > _SMALL and await anyio.to_thread.run_sync(_is_a_thicket, body):
            body = Turned(413, f"the body holds over {_MOST_VALUES} JSON values; send less")
        match body:
            case Turned():
                self._tell(scope, body.status, client.name)
                await answer(send, body)
            case bytes():
                scope.setdefault("state", {})["client"] = client
                await self._app(scope, _replay(body, receive), send)
            case None:
                log.info("a caller hung up before the request was whole", extra={"client": client.name})

    async def _to_console(
        self, wake: Callable[[], Awaitable[SideDoor]], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Host, rate and size hold for a browser as for a client; who it is, the console says."""
        if not self._is_known_host(scope["headers"]):
            self._tell(scope, _FOREIGN.status, None)
            await answer(send, replace(_FOREIGN, headers=(*_PLAIN, ("connection", "close"))))
            return
        console = await wake()
        admitted = console.admit(scope)
        turned = self._too_often(admitted.client) if admitted is not None else None
        limits = (MAX_FORM, BODY_SECONDS) if admitted is not None else (LOGIN_BODY, LOGIN_SECONDS)
        body = turned if turned is not None else await _whole_body(scope, receive, *limits)
        match body:
            case Turned():
                self._tell(scope, body.status, admitted.client.name if admitted is not None else None)
                headers = dict.fromkeys((*body.headers, *_PLAIN, ("connection", "close")))
                await answer(send, replace(body, headers=tuple(headers)))
            case bytes():
                scope["state"] = {**scope.get("state", {}), "admitted": admitted}
                await console(scope, _replay(body, receive), send)
            case None:
                log.info("a browser hung up before its request was whole")

    def _too_often(self, client: Client) -> Turned | None:
        wait = self._rates.take(client.name, time.monotonic())
        if wait <= 0:
            return None
        return Turned(429, "too many calls; wait and go on", (("retry-after", str(int(wait) + 1)),), client.name)

    def _admit(self, scope: Scope) -> Client | Turned:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if not self._is_known_host(headers):
            return _FOREIGN
        if _NO_SIGN_IN.match(scope["path"]):
            return Turned(404, "not found")
        token = bearer(headers)
        client = self._register.find(token, datetime.now(UTC)) if token is not None else None
        if client is None:
            return UNAUTHORISED
        return self._too_often(client) or client

    def _is_known_host(self, headers: list[tuple[bytes, bytes]]) -> bool:
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or len(origins) > 1 or not self._knows(hosts[0].decode("latin-1")):
            return False
        if not origins:
            return True
        origin = _ORIGIN.match(origins[0].decode("latin-1"))
        return origin is not None and self._knows(origin[1])

    def _knows(self, text: str) -> bool:
        """Whether a ``host[:port]`` is one of the names served: compared whole, at any port."""
        found = _HOST.match(text)
        return found is not None and found[1].lower() in self._hosts


def is_for_console(path: str) -> bool:
    """Whether a path is the console's: ``/console`` itself or below it, in this spelling alone."""
    return path == "/console" or path.startswith("/console/")


def bearer(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The token of the one Authorization header; None where it is missing, doubled or of another kind."""
    found = [value for name, value in headers if name == b"authorization"]
    if len(found) != 1:
        return None
    scheme, _, token = found[0].partition(b" ")
    token = token.strip(b" ")
    return token if scheme.lower() == b"bearer" and token else None


def _is_a_thicket(body: bytes) -> bool:
    """Whether JSON holds so many values that reading it would keep everybody waiting. Strings are passed over."""
    if body.count(b",") + body.count(b"[") + body.count(b"{") <= _MOST_VALUES:
        return False
    bare = _STRING.sub(b"", body)
    return bare.count(b",") + bare.count(b"[") + bare.count(b"{") > _MOST_VALUES


async def answer(send: Send, turned: Turned) -> None:
    """Send a short JSON answer and end."""
    body = json.dumps({"error": turned.reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.encode(), value.encode()) for name, value in turned.headers]
    await send({"type": "http.response.start", "status": turned.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _whole_body(
    scope: Scope, receive: Receive, most: int = MAX_BODY, seconds: float | None = None
) -> bytes | Turned | None:
    """The body within its limits of size (``most`` bytes) and time; None where the caller hung up."""
    seconds = BODY_SECONDS if seconds is None else seconds
    too_large = Turned(413, f"the body is over {most} bytes; send less", (("connection", "close"),))
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not declared.isdigit() or int(declared) > most:
        await _pass_over(receive)
        return too_large
    pieces: list[bytes] = []
    size = 0
    with anyio.move_on_after(seconds):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > most:
                return too_large
            if not message.get("more_body", False):
                return b"".join(pieces)
    return Turned(408, f"the body did not arrive within {seconds:.0f} seconds", (("connection", "close"),))


async def _pass_over(receive: Receive) -> None:
    """Read on for a moment what will not be used: who is still sending could not hear the answer otherwise."""
    left = _PASSED_OVER
    with anyio.move_on_after(2):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                return


def _announces_much(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a body is announced that is large, or of no known length."""
    for name, value in headers:
        if name == b"transfer-encoding" or (name == b"content-length" and (not value.isdigit() or int(value) > _SMALL)):
            return True
    return False


def _replay(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the body that was read already, and then what the connection says."""
    waiting: list[bytes] = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
