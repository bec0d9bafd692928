"""What is kept of a request and of a call: an id, one line of the log, and counts. Never what was in it."""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass, field
from typing import Final

from muninn import logs, metrics
from muninn.asgi import App, Message, Receive, Scope, Send
from muninn.metrics import Metrics
from muninn.model.hits import Found

calls = logging.getLogger("muninn.calls")
gate = logging.getLogger("muninn.gate")

HEADER: Final = b"x-request-id"
_ID_BYTES: Final = 8
_INTERNAL: Final = b'{"error": "internal error; it was logged"}'


@dataclass(frozen=True, slots=True)
class Asked:
    """A call on its way: in which request, whose, of which tool; ``path`` is the hash that stands for one."""

    request: str
    client: str | None
    tool: str
    path: str | None
    began: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes down how calls ended: in the log, with paths hashed under ``key``, and in the counts."""

    metrics: Metrics
    key: bytes = field(repr=False)

    def asked(self, request: str, client: str | None, tool: str, path: object = None) -> Asked:
        """A call has come, on this path where it has one. ``tool`` is a name of the table, or one beside it."""
        return Asked(request, client, tool, logs.hashed(self.key, path))

    def ended(self, asked: Asked, answer: object) -> None:
        """A call was answered, with a refusal or with what was asked for."""
        if isinstance(answer, Found):
            self.metrics.searched(answer)
        self._note(asked, metrics.outcome_of(answer), getattr(answer, "state", None))

    def failed(self, asked: Asked, outcome: str) -> None:
        """A call ended in ``protocol_error`` or ``internal_error``."""
        self._note(asked, outcome, None)

    def turned(self, scope: Scope, status: int, client: str | None) -> None:
        """The gate answered a request itself; ``client`` is None where it knows nobody by that token."""
        self.metrics.turned(status)
        gate.info("turned away", extra={"request": request_of(scope), "client": client, "status": status})

    def _note(self, asked: Asked, outcome: str, state: object) -> None:
        took = time.perf_counter() - asked.began
        self.metrics.called(asked.tool, asked.client, outcome, took)
        if not calls.isEnabledFor(logging.INFO):
            return
        told = {"request": asked.request, "client": asked.client, "tool": asked.tool, "outcome": outcome}
        told |= {"path": asked.path} if asked.path is not None else {}
        told |= {"state": state} if isinstance(state, str) else {}
        calls.info("call", extra={**told, "ms": round(took * 1000, 1)})


class Marked:
    """The outermost middleware: gives each request an id, says it in the answer, and counts how it was answered.

    A client's own ``X-Request-Id`` is not looked at: it could name another's request, or hold anything.
    """

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; a bug that comes up from it is logged under its id and answered with 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = secrets.token_hex(_ID_BYTES)
        scope.setdefault("state", {})["request"] = request
        status: int | None = None

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                self._metrics.answered(status)
                message["headers"] = [*message.get("headers", ()), (HEADER, request.encode())]
            await send(message)

        try:
            await self._app(scope, receive, marked)
        except Exception:
            gate.exception("a bug in a request", extra={"request": request})
            if status is not None:
                raise  # the answer has begun: all that is left is to hang up
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(_INTERNAL)).encode())]
            await marked({"type": "http.response.start", "status": 500, "headers": headers})
            await marked({"type": "http.response.body", "body": _INTERNAL})


def request_of(scope: Scope) -> str:
    """The id that a request was given; "" where it came past the middleware, as in a test of the gate alone."""
    return str(scope.get("state", {}).get("request", ""))
