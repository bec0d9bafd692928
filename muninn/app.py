"""The composition root: a door becomes an ASGI app. The lifespan opens and closes in order."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Final

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from index import keep_fresh, watch
from index.filling import keep_filled
from ledger import Ledger
from muninn import logs, tools
from muninn.auth import Gate, Rates, SideDoor
from muninn.clients import Register
from muninn.door import Door
from muninn.external import Suspects, keep_witness
from muninn.holding import HOLD_S, keep_releasing
from muninn.metrics import CONTENT_TYPE, Metrics
from muninn.model.errors import LedgerUnavailableError, VaultUnavailableError
from muninn.protocol import make_server
from muninn.recording import Marked, Recorder

log = logging.getLogger("muninn.app")

_PAUSE_S: Final = 0.02
"""After every few hundred rows of the ledger that are verified behind a running gateway."""


@dataclass(frozen=True, slots=True)
class Front:
    """What the gate needs to know: who may come, under which host names, how often."""

    register: Register
    hosts: tuple[str, ...]
    rate_per_s: float
    rate_burst: float


def build(
    door: Door, front: Front, port: int = 0, *, baseline: bool = True, console: Callable[[], SideDoor] | None = None
) -> Starlette:
    """The app of one door, with its threads that keep index and ledger up with the vault for as long as it lives.

    ``console`` makes what answers below ``/console``, with an admission of its own, when that is first asked for.
    """
    metrics = Metrics(tools.BY_NAME)
    recorder = Recorder(metrics, logs.path_key(door.home))
    sessions = StreamableHTTPSessionManager(make_server(door, recorder), json_response=True, stateless=True)
    fresh = _Freshness(door, baseline)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        fresh.start()
        try:
            async with sessions.run():
                log.info("ready", extra={"port": port})
                try:
                    yield
                finally:
                    # First of all, so that nobody waits for a script that runs.
                    await anyio.to_thread.run_sync(door.scripts.close)
        finally:
            await anyio.to_thread.run_sync(fresh.end)
            door.index.close()
            door.ledger.close()

    routes = [
        Route("/health", _health(door), methods=["GET"]),
        _metrics(door, metrics),
        Route("/mcp", _Endpoint(sessions), methods=["POST"]),
        Route("/mcp/", _Endpoint(sessions), methods=["POST"]),
    ]
    gate = Middleware(
        Gate,
        register=front.register,
        hosts=front.hosts,
        rates=Rates(front.rate_per_s, front.rate_burst),
        console=_Waking(console) if console is not None else None,
        tell=recorder.turned,
    )
    marked = Middleware(Marked, metrics=metrics)
    app = Starlette(routes=routes, middleware=[marked, gate], lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


class _Waking:
    """The console, made in a thread when it is first asked for: its templates cost a start a tenth of its time."""

    def __init__(self, make: Callable[[], SideDoor]) -> None:
        self._make = make
        self._lock = anyio.Lock()
        self._made: SideDoor | None = None

    async def __call__(self) -> SideDoor:
        async with self._lock:
            if self._made is None:
                self._made = await anyio.to_thread.run_sync(self._make)
            return self._made


class _Endpoint:
    """The MCP endpoint. There are no sessions here, so a request that names one is told that it is gone."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if any(name == b"mcp-session-id" for name, _ in scope["headers"]):
            gone = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}
            await JSONResponse(gone, status_code=404)(scope, receive, send)
            return
        await self._sessions.handle_request(scope, receive, send)


def _health(door: Door) -> Callable[[Request], Response]:
    """200 while vault and ledger can be opened, 503 while one is down, and no more."""

    def health(_: Request) -> Response:
        try:
            with door.vault.opened():
                door.ledger.head()
            if door.ledger.fault is not None:
                raise LedgerUnavailableError(door.ledger.fault)
        except (VaultUnavailableError, LedgerUnavailableError):
            return JSONResponse({"status": "unavailable"}, status_code=503)
        return JSONResponse({"status": "ok"})

    return health


def _metrics(door: Door, metrics: Metrics) -> Route:
    """The page for Prometheus, for clients with the scope ``metrics``."""
    turns = anyio.CapacityLimiter(1)  # who asks for many at once waits for itself

    async def page(request: Request) -> Response:
        client = request.state.client
        if "metrics" not in client.scopes:
            return JSONResponse({"error": "this client lacks the scope metrics; ask the owner for it"}, 403)
        text = await anyio.to_thread.run_sync(metrics.page, door, client.rights(door.contract.private), limiter=turns)
        return Response(text, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})

    route = Route("/metrics", page)
    route.methods = {"GET"}  # without the HEAD that comes along
    return route


class _Freshness:
    """The threads that follow the vault: the scan to be sure, watching to be quick, and the witness of outsiders."""

    def __init__(self, door: Door, baseline: bool) -> None:
        self._stop, self._kick = threading.Event(), threading.Event()
        door.held.seconds = HOLD_S
        suspects = Suspects(door.vault.look)
        scan = (door.index, door.vault.walk, suspects.look, self._stop, self._kick)
        self._threads = [
            threading.Thread(target=keep_fresh, args=scan, name="scan"),
            threading.Thread(target=keep_releasing, args=(door, self._stop), name="release"),
            threading.Thread(target=keep_witness, args=(door, suspects, baseline, self._stop), name="witness"),
            threading.Thread(target=_look_through, args=(door.ledger, self._stop), name="verify"),
            threading.Thread(target=watch, args=(door.vault.root, self._kick, self._stop), name="watch", daemon=True),
        ]
        if door.models.semantic is not None:
            filling = (door.models.semantic, door.index, door.vault.look, self._stop)
            self._threads.append(threading.Thread(target=keep_filled, args=filling, name="vectors", daemon=True))
        self._models = door.models

    def start(self) -> None:
        self._models.start()
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._stop.set()
        self._kick.set()
        self._models.close()
        for thread in self._threads:
            thread.join(timeout=10)


class _EndedError(Exception):
    """The gateway ends while its ledger is being looked through."""


def _look_through(ledger: Ledger, stop: threading.Event) -> None:
    """The body of a thread: verify the whole ledger once, slowly enough that no call waits for it."""

    def pause() -> None:
        if stop.wait(_PAUSE_S):
            raise _EndedError

    sound = ledger.fault is None
    with contextlib.suppress(_EndedError):
        ledger.look_through(pause)
    if sound and ledger.fault is not None:
        log.error("the ledger is broken: writes stop, reads go on; run muninn ledger verify: %s", ledger.fault)


def host_names(host: str, allowed: Iterable[str]) -> tuple[str, ...]:
    """The names a request may come under: this machine's own, the address bound, and what the owner allows."""
    own = ("127.0.0.1", "localhost", "[::1]")
    bound = f"[{host}]" if ":" in host else host
    return (*own, *(() if host in ("0.0.0.0", "::") else (bound,)), *allowed)
