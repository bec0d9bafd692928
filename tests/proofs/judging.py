"""What no request may bring about, and the smallest request that does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from muninn.auth import MAX_BODY

from .asking import Shot
from .wire import Reply

_SHORT: Final = 400
_PLAIN: Final = (
    b"Invalid HTTP request received.",
    b"Not Found",
    b"Method Not Allowed",
    b"Invalid Content-Type header",
    b"",
)
"""What the HTTP layers below the protocol say in plain text; a client that speaks HTTP and MCP never sees them."""
_INTERNAL: Final = -32603


def fault(shot: Shot, reply: Reply) -> str | None:
    """Why an answer is not one that may be given; None where it is."""
    if reply.status == 0:
        # A body over the limit is turned away while it is still being sent: the sender may only see the line go.
        return "no answer to a lawful request" if shot.lawful and len(shot.bytes()) <= MAX_BODY else None
    if reply.status >= 500:
        return f"status {reply.status}"
    if reply.body in _PLAIN:
        return None
    try:
        found = json.loads(reply.body)
    except ValueError:
        return f"the body is no JSON: {reply.body[:80]!r} (status {reply.status})"
    rows = found if isinstance(found, list) else [found]
    return next((why for why in map(_row_fault, rows) if why), None)


def _row_fault(row: Any) -> str | None:
    if not isinstance(row, dict):
        return "the body is no JSON object"
    if row.get("jsonrpc") == "2.0":
        error = row.get("error")
        if ("result" in row) == ("error" in row):
            return "neither result nor error, or both"
        return "internal error -32603" if isinstance(error, dict) and error.get("code") == _INTERNAL else None
    if set(row) <= {"error", "status", "detail"} and len(json.dumps(row)) <= _SHORT:
        return None
    return f"neither JSON-RPC nor a short error: {json.dumps(row)[:80]}"


def smallest(shot: Shot, fails: Callable[[Shot], bool]) -> Shot:
    """Drop headers and fields, and shorten texts, as long as it still fails."""
    shrinking = True
    while shrinking:
        shrinking = False
        for smaller in _smaller(shot):
            if fails(smaller):
                shot, shrinking = smaller, True
                break
    return shot


def _smaller(shot: Shot) -> Iterator[Shot]:
    if shot.raw is not None:
        for size in (len(shot.raw) // 2, len(shot.raw) // 8):
            if size:
                yield replace(shot, raw=shot.raw[:-size])
                yield replace(shot, raw=shot.raw[size:])
        return
    for at in range(len(shot.headers)):
        yield replace(shot, headers=shot.headers[:at] + shot.headers[at + 1 :])
    if shot.body is not None:
        yield replace(shot, body=None)
        return
    for call in _less(shot.call):
        yield replace(shot, call=call)


def _less(value: Any) -> Iterator[Any]:
    """The same value with one thing less in it."""
    match value:
        case dict():
            for key in value:
                yield {k: v for k, v in value.items() if k != key}
            for key, inner in value.items():
                for less in _less(inner):
                    yield value | {key: less}
        case list():
            for at in range(len(value)):
                yield value[:at] + value[at + 1 :]
            for at, inner in enumerate(value):
                for less in _less(inner):
                    yield [*value[:at], less, *value[at + 1 :]]
        case str() if len(value) > 1:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
            if len(value) < 20:
                yield value[1:]
                yield value[:-1]


def shown(shot: Shot) -> str:
    """A request to read and to send again."""
    raw = shot.bytes()
    return repr(raw if len(raw) < 3_000 else raw[:2_900] + b"...")
