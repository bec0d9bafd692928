"""Tool calls and JSON-RPC bodies: what is sent, and what record an answer makes."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .records import Record
from .verdict import NotCarriedOutError
from .wire import Connection, LateError, Request, Response, exchange, with_defaults

REVISION = "2025-11-25"
_numbers = itertools.count(1)
_CLIENT = {"name": "muninn-cases", "version": "1"}


@dataclass(frozen=True, slots=True)
class Door:
    """Where the door is and with which token it is called."""

    port: int
    token: str
    tls: bool = False


def rpc_message(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A JSON-RPC message with the parameters its method needs; a notification has no id."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if not method.startswith("notifications/"):
        message["id"] = next(_numbers)
    needed = params if params is not None else _NEEDED.get(method, {})
    return message | ({"params": needed} if needed or message.get("id") else {})


_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NEEDED: Mapping[str, Mapping[str, Any]] = {
    "initialize": {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": _CLIENT},
    "server/discover": {"_meta": _META},
    "tools/call": {"name": "contract", "arguments": {}},
    "resources/read": {"uri": "muninn://contract"},
    "resources/subscribe": {"uri": "muninn://contract"},
    "resources/unsubscribe": {"uri": "muninn://contract"},
    "prompts/get": {"name": "none"},
    "logging/setLevel": {"level": "info"},
    "completion/complete": {
        "ref": {"type": "ref/resource", "uri": "muninn://note/{path}"},
        "argument": {"name": "path", "value": ""},
    },
    "notifications/cancelled": {"requestId": 0, "reason": "no longer needed"},
    "notifications/progress": {"progressToken": 0, "progress": 0},
}


def tool_message(name: str, args: Any) -> dict[str, Any]:
    """The message of a tools/call with exactly these arguments."""
    return rpc_message("tools/call", {"name": name, "arguments": args})


def encoded(message: Any) -> bytes:
    """JSON as UTF-8; lone surrogates travel escaped, bytes only where they are UTF-8."""
    try:
        return json.dumps(message, ensure_ascii=False, default=_text_of_bytes).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(message, default=_text_of_bytes).encode("ascii")


def _text_of_bytes(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as wrong:
            raise NotCarriedOutError("an argument of bytes that are no UTF-8") from wrong
    raise NotCarriedOutError(f"an argument that JSON cannot say: {value!r}")


def post(door: Door, body: bytes, length: int | None = None) -> Request:
    """The POST that carries a message to the door."""
    headers = with_defaults(
        {"Authorization": f"Bearer {door.token}"},
        door.port,
        [("MCP-Protocol-Version", REVISION)],
    )
    return Request("POST", "/mcp", headers, body, len(body) if length is None else length)


def call(door: Door, name: str, args: Any, limit_s: float = 120.0) -> Record:
    """Calls a tool. The record is ok only as far as the answer itself tells; schemas are judged elsewhere."""
    body = encoded(tool_message(name, args))
    return _timed(body, lambda: exchange(door.port, post(door, body), tls=door.tls, limit_s=limit_s))


def cut_call(door: Door, name: str, args: Any, how: str, after_s: float) -> Record:
    """Calls a tool and cuts the call: `close`, `cancel`, `half_body` or `short_body`."""
    message = tool_message(name, args)
    body = encoded(message)
    match how:
        case "close":
            return _timed(body, lambda: _closed_early(door, post(door, body), body, after_s))
        case "half_body":
            half = body[: len(body) // 2]
            return _timed(body, lambda: _closed_early(door, post(door, body), half, after_s))
        case "cancel":
            return _timed(body, lambda: _cancelled(door, body, message["id"], after_s))
        case _:
            short = post(door, body, len(body) + 1000)
            record = _timed(body, lambda: exchange(door.port, short, tls=door.tls))
            return record if isinstance(record.data, dict) and "http" not in record.data else _lost(record)


def _closed_early(door: Door, request: Request, body: bytes, after_s: float) -> None:
    try:
        with Connection(door.port, tls=door.tls) as connection:
            connection.send(request.head() + body)
            time.sleep(after_s)
    except ConnectionError:
        return


def _cancelled(door: Door, body: bytes, number: int, after_s: float) -> Response | None:
    try:
        with Connection(door.port, tls=door.tls) as connection:
            request = post(door, body)
            connection.send(request.head() + body)
            time.sleep(after_s)
            notice = encoded(rpc_message("notifications/cancelled", {"requestId": number, "reason": "cut"}))
            exchange(door.port, post(door, notice), tls=door.tls)
            return connection.receive()
    except ConnectionError:
        return None


def _timed(sent: bytes, ask: Any) -> Record:
    began = time.monotonic()
    try:
        response = ask()
    except LateError as late:
        raise NotCarriedOutError(f"a call took more than 120 s: {late}") from late
    return answer_record(response, time.monotonic() - began, sent.decode("utf-8"))


def answer_record(response: Response | None, seconds: float, sent: str) -> Record:
    """The record of an answer to a tool call."""
    if response is None:
        return Record("tool", {"lost": True}, "", 0, seconds, "no answer", sent=sent, lost=True)
    message = response.json()
    data, fault, refused = _outcome(response, message)
    return Record(
        op="tool",
        data=data,
        text=response.text,
        size=len(response.body),
        seconds=seconds,
        fault=fault,
        status=response.status,
        sent=sent,
        refused=refused,
    )


def _outcome(response: Response, message: Any) -> tuple[Any, str, bool]:
    if isinstance(message, dict) and isinstance(message.get("error"), dict):
        error = message["error"]
        data = {"protocol_error": {"code": error.get("code"), "message": error.get("message")}}
        return data, f"JSON-RPC error {error.get('message')!r}", False
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict):
        data = {"http": {"status": response.status, "body": response.text}}
        return data, f"HTTP {response.status} without an answer", False
    if not result.get("isError"):
        structured = result.get("structuredContent")
        return structured, "" if structured is not None else "an answer without structuredContent", False
    return _refusal(result)


def _refusal(result: Mapping[str, Any]) -> tuple[Any, str, bool]:
    content = result.get("content")
    text = content[0].get("text") if isinstance(content, list) and content and isinstance(content[0], dict) else None
    try:
        data = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        data = None
    if not isinstance(data, dict):
        return {"tool_error": text}, f"a tool error that is no JSON object: {text!r}", True
    error = data.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return data, f"refused with {code}: {message}", True


def _lost(record: Record) -> Record:
    return Record(
        op="tool",
        data={"lost": True},
        text=record.text,
        size=record.size,
        seconds=record.seconds,
        fault="no answer",
        status=record.status,
        sent=record.sent,
        lost=True,
    )


def speaks_of_unknown_tool(record: Record) -> bool:
    """Whether the answer says that the door has no such tool."""
    data = record.data if isinstance(record.data, dict) else {}
    said = data.get("protocol_error") or {}
    return "Unknown tool" in str(said.get("message")) or str(data.get("tool_error")).startswith("Unknown tool")


def http_record(response: Response | None, seconds: float, sent: str) -> Record:
    """The record of a raw request."""
    if response is None:
        return Record("http", {"lost": True}, "", 0, seconds, "no answer", sent=sent, lost=True)
    data = {"status": response.status, "headers": dict(response.headers), "body": response.text}
    parsed = response.json()
    return Record(
        op="http",
        data=data | ({"json": parsed} if parsed is not None else {}),
        text=response.text,
        size=len(response.body),
        seconds=seconds,
        fault="" if 200 <= response.status < 300 else f"HTTP {response.status}",
        status=response.status,
        sent=sent,
    )
