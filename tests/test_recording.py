"""Each request gets an id and is counted by its answer; a bug in one is told under its id, and not to the caller."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from muninn.metrics import Metrics
from muninn.recording import Marked

SECRET = "mnn_0123456789abcdef0123456789abcdef"


def ask(app: Any, metrics: Metrics, kind: str = "http") -> list[Any]:
    """What an app behind the middleware sends for one request."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    headers = [(b"x-request-id", SECRET.encode())]
    asyncio.run(Marked(app, metrics)({"type": kind, "headers": headers}, receive, send))
    return sent


def counted(metrics: Metrics, status: int) -> float:
    found = (line.split() for line in metrics.counts().decode().splitlines())
    name = f'muninn_http_responses_total{{status="{status}"}}'
    return next((float(line[1]) for line in found if line[0] == name), 0.0)


async def _well(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": [(b"a", scope["state"]["request"].encode())]})
    await send({"type": "http.response.body", "body": b""})


async def _broken(scope: Any, receive: Any, send: Any) -> None:
    raise RuntimeError(SECRET)


async def _cut(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError(SECRET)


async def _silent(scope: Any, receive: Any, send: Any) -> None:
    return


def test_the_id_that_the_app_sees_is_the_one_in_the_answer() -> None:
    metrics = Metrics([])
    start, _ = ask(_well, metrics)
    headers = dict(start["headers"])
    assert headers[b"x-request-id"] == headers[b"a"]
    assert headers[b"x-request-id"] != SECRET.encode()
    assert counted(metrics, 204) == 1


def test_a_bug_is_answered_with_500_logged_under_its_id_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics([])
    start, body = ask(_broken, metrics)
    assert start["status"] == 500
    assert SECRET.encode() not in body["body"]
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "a bug in a request")
    assert record.__dict__["request"].encode() == dict(start["headers"])[b"x-request-id"]
    assert counted(metrics, 500) == 1


def test_an_answer_that_breaks_off_is_counted_once_and_the_connection_is_left_to_the_server() -> None:
    metrics = Metrics([])
    with pytest.raises(RuntimeError):
        ask(_cut, metrics)
    assert (counted(metrics, 200), counted(metrics, 500)) == (1, 0)


def test_a_caller_who_hung_up_is_no_answer() -> None:
    metrics = Metrics([])
    assert ask(_silent, metrics) == []
    assert (counted(metrics, 200), counted(metrics, 500)) == (0, 0)


def test_what_is_no_request_passes_untouched() -> None:
    metrics = Metrics([])
    assert ask(_silent, metrics, "lifespan") == []
