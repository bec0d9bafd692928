"""Opaque places to go on from: each is bound to the tool and the arguments of the answer that gave it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from muninn.model.refusal import Code, Refusal


def make(tool: str, arguments: dict[str, Any], position: int | str) -> str:
    """The cursor that goes on at ``position`` of this question."""
    body = json.dumps([position, _seal(tool, arguments)], separators=(",", ":"))
    return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")


def read(tool: str, arguments: dict[str, Any], cursor: str) -> int | str | Refusal:
    """The position in a cursor; a Refusal where it is damaged or belongs to another question."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position, seal = json.loads(base64.b64decode(padded.encode(), altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        return _bad()
    if seal != _seal(tool, arguments) or isinstance(position, bool) or not isinstance(position, int | str):
        return _bad()
    if isinstance(position, int) and not 0 <= position < 1 << 62:
        return _bad()
    return position


def read_number(tool: str, arguments: dict[str, Any], cursor: str) -> int | Refusal:
    """The position in a cursor of a question whose positions are numbers."""
    position = read(tool, arguments, cursor)
    return _bad() if isinstance(position, str) else position


def _seal(tool: str, arguments: dict[str, Any]) -> str:
    text = json.dumps([tool, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _bad() -> Refusal:
    message = "cursor does not belong to these arguments; ask without one for the first page"
    return Refusal(Code.INVALID_ARGUMENTS, message)
