"""What the bridge reads of a message, and what it says itself: pure functions over JSON-RPC."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final

from .address import Address
from .line import Heard

MAX_BODY: Final = 4 * 1024 * 1024
"""The most bytes a gateway takes in one request."""
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
GATEWAY_ERROR: Final = -32010
"""The gateway could not be asked, or did not answer as one. In JSON-RPC's range for a server's own errors, and outside
of the codes that MCP 2026-07-28 and its SDKs have given a meaning (-32020 and on, -32000, -32001)."""

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")


def headers_of(message: dict[str, Any], negotiated: str | None) -> dict[str, str]:
    """What the transport wants beside the body: of revision 2026-07-28 the version that the message names, its method
    and its name; of earlier ones the version that the handshake ended with.
    """
    method = message["method"]
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return {"MCP-Protocol-Version": negotiated} if negotiated and method != "initialize" else {}
    found = {"MCP-Protocol-Version": encoded(version), "Mcp-Method": encoded(method)}
    name = params.get(_NAMED.get(method, ""))
    return found | ({"Mcp-Name": encoded(name)} if isinstance(name, str) else {})


def encoded(value: str) -> str:
    """A value as a header carries it: in base64 where it is not plain ASCII (MCP 2026-07-28, transports).

    >>> encoded("read"), encoded("été")
    ('read', '=?base64?w6l0w6k=?=')
    """
    if _PLAIN.match(value) and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def fault(message_id: Any, code: int, text: str, reason: str) -> bytes:
    """A JSON-RPC error of the bridge's own."""
    error = {"code": code, "message": text, "data": {"reason": reason}}
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error}).encode()


def answer_in(heard: Heard, message_id: Any) -> tuple[bytes, dict[str, Any]] | None:
    """The JSON-RPC answer to a request that an HTTP answer holds, as one line and as a value. None where it is none."""
    if heard.kind != "application/json":
        return None
    try:
        found = parsed(heard.body)
        if not isinstance(found, dict) or found.get("jsonrpc") != "2.0" or ("result" in found) == ("error" in found):
            return None
        if found.get("id") is None and "error" in found:  # the gateway could not tell whose it is; the bridge can
            found["id"] = message_id
        if not is_id(found.get("id")) or key(found.get("id")) != key(message_id):
            return None
        # Written anew, whatever it was: in one line, in ASCII, each name once, and no number that JSON has not.
        return json.dumps(found, allow_nan=False).encode(), found
    except (ValueError, RecursionError):
        return None


def parsed(raw: bytes) -> Any:
    """A message as a value. Raises ValueError for what is no UTF-8 or no JSON, RecursionError for what is too deep.

    From bytes, ``json`` would guess among encodings, and let halves of surrogate pairs pass.
    """
    return json.loads(raw.decode())


def is_id(found: Any) -> bool:
    """Whether a value may be an id (JSON-RPC 2.0): a text, a number, or null."""
    return found is None or (isinstance(found, str | int | float) and not isinstance(found, bool))


def key(message_id: Any) -> str:
    """An id by which messages are told apart: 1 is not "1"."""
    return json.dumps(message_id)


def meaning(status: int, address: Address, source: str) -> tuple[str, str]:
    """What an answer that is none of the protocol's means, with the next step, and a word for programs."""
    where = address.url
    match status:
        case 401:
            step = f"make another (muninn client rotate NAME) and put it into {source}"
            return (
                f"the gateway at {where} takes no such token: it is wrong, expired, rotated, revoked or another "
                f"gateway's; {step}",
                "unauthorized",
            )
        case 403:
            step = f"give another --url, or start the gateway with --allow-host {address.host}"
            return f"the gateway is not served under the name {address.host}; {step}", "forbidden_host"
        case 404:
            return f"nothing is at {where}; the address of a gateway ends in /mcp", "not_found"
        case 408:
            return "the gateway waited too long for the message; call again", "timeout"
        case 413:
            return (
                "the message is larger than the gateway takes; send less (see the tool edit)",
                "too_large",
            )
        case 429:
            return "too many calls, also after waiting as the gateway asked; go on more slowly", "rate"
        case _ if 300 <= status < 400:
            step = "it is not followed, because the token would go along; give the final address as --url"
            return f"{where} answers with a redirect; {step}", "redirect"
        case _:
            return f"{where} answers with status {status}, and not as a gateway does; look at --url", "no_gateway"
