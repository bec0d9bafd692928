"""The raw request of an `http` step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import calls
from .values import Sight, as_bytes
from .verdict import UnknownWordError
from .wire import Request, with_defaults

_BODILESS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"})


def http_request(step: Mapping[str, Any], sight: Sight, port: int) -> Request:
    """The request as the step writes it; only what it leaves out is filled in."""
    method = str(sight.value(step["method"]))
    target = str(sight.value(step["path"]))
    given = {str(name): sight.value(value) for name, value in step["headers"].items()}
    body = sight.value(step["body"]) if _is_whole(step.get("body")) else step.get("body")
    names = {name.lower() for name in given}
    framed = "content-length" in names or "transfer-encoding" in names
    headers = with_defaults(given, port)
    if body is None:
        return Request(method, target, headers, length=None if framed or method in _BODILESS else 0)
    data = _body_bytes(body, sight)
    if framed:
        return Request(method, target, headers, data)
    if sight.value(body.get("chunked")):
        return Request(method, target, headers, data, chunked=True)
    declared = sight.value(body.get("declared"))
    return Request(method, target, headers, data, len(data) if declared is None else int(declared))


def _is_whole(body: Any) -> bool:
    """Whether the body is a reference; an object is read key by key, since {"text": …} is no form."""
    return isinstance(body, str)


def _body_bytes(body: Mapping[str, Any], sight: Sight) -> bytes:
    if "rpc" in body:
        return calls.encoded(calls.rpc_message(str(sight.value(body["rpc"]))))
    if "tool" in body:
        message = calls.tool_message(sight.value(body["tool"]), sight.value(body.get("args", {})))
        return calls.encoded(message)
    if "text" in body:
        return as_bytes(sight.value(body["text"]))
    if "fill" in body:
        fill = sight.value(body["fill"])
        unit, size = as_bytes(fill["unit"]), int(fill["bytes"])
        return (unit * (size // max(len(unit), 1) + 1))[:size]
    raise UnknownWordError(f"body {sorted(body)}")
