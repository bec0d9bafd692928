"""Requests drawn from a grammar: mostly right, often nearly, sometimes hostile, in both eras of the protocol."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

from muninn.tools import TOOLS
from tests.door.gateway import HANDSHAKE, STATELESS

from . import hostile
from .drawing import Drawer, Known

_METHODS: Final = (
    "initialize", "ping", "tools/list", "resources/list", "resources/templates/list", "resources/read",
    "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "notifications/initialized",
    "notifications/cancelled", "server/discover", "sampling/createMessage", "tools/unknown", "subscriptions/listen",
    "roots/list",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shot:
    """One request. ``call`` is its body as a value, ``body`` as bytes where it is none; ``lawful`` is plain HTTP."""

    call: Any = None
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    method: str = "POST"
    target: str = "/mcp"
    raw: bytes | None = None
    lawful: bool = True

    def bytes(self) -> bytes:
        """As it goes over the wire."""
        if self.raw is not None:
            return self.raw
        body = self.body if self.body is not None else hostile.dumped(self.call)
        names = {name.lower() for name, _ in self.headers}
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {text}" for name, text in self.headers)]
        if "content-length" not in names and "transfer-encoding" not in names:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


class Asker:
    """Draws requests for one thread."""

    def __init__(self, chance: random.Random, known: Known, port: int, token: str) -> None:
        self._chance = chance
        self._known = known
        self._drawer = Drawer(chance, known)
        self._port = port
        self._token = token

    def draw(self) -> Shot:
        """The next request."""
        roll = self._chance.random()
        if roll < 0.78:
            return self._call(era=self._chance.choice((HANDSHAKE, HANDSHAKE, STATELESS)))
        if roll < 0.90:
            return self._odd_envelope()
        return self._odd_http() if roll < 0.97 else self._garbage()

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, era: str) -> Shot:
        tool = self._chance.choice(TOOLS)
        schema = tool.input_schema
        arguments: dict[str, Any] = {}
        for name, shape in schema["properties"].items():
            if name in schema.get("required", ()) or self._chance.random() < 0.3:
                arguments[name] = self._drawer.argument(name, shape, schema)
        if "expected_hash" in arguments and self._chance.random() < 0.8:
            arguments["expected_hash"] = self._known.hashes.get(str(arguments.get("path")), "missing")
        if self._chance.random() < 0.05:
            arguments[hostile.string(self._chance)[:100]] = hostile.value(self._chance)
        if arguments and self._chance.random() < 0.04:
            del arguments[self._chance.choice(list(arguments))]
        params: Any = {"name": tool.name, "arguments": arguments}
        return self._as_request("tools/call", params, era)

    # --- envelopes --------------------------------------------------------------------------------

    def _as_request(self, method: Any, params: Any, era: str, **more: Any) -> Shot:
        headers = [*self._headers(), ("MCP-Protocol-Version", era)]
        if era == STATELESS:
            meta = {
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            if isinstance(params, dict):
                params = params | {"_meta": meta}
                if isinstance(params.get("name"), str):
                    headers.append(("Mcp-Name", params["name"]))
            if isinstance(method, str) and method.isprintable():
                headers.append(("Mcp-Method", method))
        call = {"jsonrpc": "2.0", "id": self._chance.randrange(1000), "method": method, "params": params} | more
        return Shot(call, headers=tuple(headers))

    def _headers(self) -> list[tuple[str, str]]:
        return [
            ("Host", f"127.0.0.1:{self._port}"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Authorization", f"Bearer {self._token}"),
        ]

    def _odd_envelope(self) -> Shot:
        chance = self._chance
        method: Any = chance.choice(_METHODS) if chance.random() < 0.8 else hostile.value(chance)
        params: Any = self._params(method)
        shot = self._as_request(method, params, chance.choice((HANDSHAKE, STATELESS)))
        call: Any = dict(shot.call)
        match chance.randrange(8):
            case 0:
                del call[chance.choice(list(call))]
            case 1:
                call["id"] = hostile.value(chance)
            case 2:
                call[chance.choice(("jsonrpc", "method", "params", "result", "error"))] = hostile.value(chance)
            case 3:
                call = chance.choice(([call], [call, call], [], [1], {}, None, 5, "x", [[call]]))
        body = None
        if chance.random() < 0.1:
            body = chance.choice((_doubled, _cut, _trailing, _latin))(hostile.dumped(call))
        return Shot(call, body, shot.headers)

    def _params(self, method: Any) -> Any:
        chance = self._chance
        if chance.random() < 0.25:
            return hostile.value(chance)
        match method:
            case "initialize":
                version = chance.choice((HANDSHAKE, STATELESS, "2024-11-05", "1999-01-01", ""))
                return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}}
            case "resources/read":
                uri = chance.choice(
                    ("muninn://contract", "muninn://note/fuzz/1.md", "file:///etc/passwd", hostile.string(chance))
                )
                return {"uri": uri}
            case "notifications/cancelled":
                return {"requestId": chance.randrange(1000)}
        return {}

    # --- HTTP -------------------------------------------------------------------------------------

    def _odd_http(self) -> Shot:
        """One header, method or target that is not as it should be."""
        chance, shot = self._chance, self._call(HANDSHAKE)
        headers, odd = (
            list(shot.headers),
            hostile.string(chance)[:300].replace("\r", "").replace("\n", "").replace("\x00", ""),
        )
        replaced: dict[str, tuple[str, ...]] = {
            "host": ("evil.example", "127.0.0.1.evil.example", "127.0.0.1:99999", "", "[::1]", "a b", odd),
            "authorization": ("", "Bearer", "Bearer x", f"Basic {self._token}", f"bearer  {self._token} ", odd),
            "content-type": ("text/plain", "application/json; charset=utf-16", "", "multipart/form-data", odd),
            "accept": ("", "*/*", "text/event-stream", "application/json", "text/html;q=x", odd),
            "mcp-protocol-version": ("", "1999-01-01", STATELESS, odd),
        }
        added: tuple[tuple[str, str], ...] = (
            ("Origin", "null"), ("Origin", "http://evil.example"), ("Origin", f"http://127.0.0.1:{self._port}"),
            ("Origin", odd), ("Content-Encoding", "gzip"), ("Mcp-Session-Id", "abc"), ("Mcp-Method", "tools/list"),
            ("Mcp-Name", "=?base64?x?="), ("Mcp-Name", odd), ("Last-Event-ID", "1"), ("Expect", "100-continue"),
            ("X-Long", "x" * 9000), ("Cookie", odd), ("Connection", odd), ("Host", "127.0.0.1"),
            ("Authorization", "Bearer y"), ("Upgrade", "websocket"), ("Connection", "close"),
        )  # fmt: skip
        match chance.randrange(5):
            case 0 | 1:
                name = chance.choice(list(replaced))
                headers = [(n, chance.choice(replaced[name]) if n.lower() == name else v) for n, v in headers]
            case 2:
                headers.append(chance.choice(added))
            case 3:
                headers = [pair for pair in headers if pair[0] != chance.choice(headers)[0]]
            case _:
                method = chance.choice(("GET", "PUT", "DELETE", "OPTIONS", "PATCH", "POST"))
                target = chance.choice(
                    (
                        "/mcp/",
                        "/mcp//",
                        "/health",
                        "/.well-known/x",
                        "/register",
                        "/x%00y",
                        "/mcp?a=b",
                        "/" + "a" * 2000,
                    )
                )
                return Shot(shot.call, headers=tuple(headers), method=method, target=target)
        return Shot(shot.call, headers=tuple(headers), lawful=all(n.isprintable() for n, _ in headers))

    def _garbage(self) -> Shot:
        chance, whole = self._chance, self._call(HANDSHAKE).bytes()
        match chance.randrange(7):
            case 0:
                raw = chance.randbytes(chance.randrange(1, 300))
            case 1:
                raw = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(60)
            case 2:
                raw = whole[: chance.randrange(1, len(whole))]
            case 3:
                spot = chance.randrange(len(whole))
                raw = whole[:spot] + chance.randbytes(chance.randrange(1, 5)) + whole[spot:]
            case 4:
                length = chance.choice((b"-1", b"99999999999", b"abc", b"5, 5", b"5\r\nContent-Length: 6", b"+5", b""))
                raw = whole.replace(b"Content-Length: ", b"Content-Length: " + length + b"\r\nX-Was: ")
            case 5:
                chunks = chance.choice(
                    (b"5\r\nhello\r\n0\r\n\r\n", b"zz\r\n", b"-1\r\n\r\n", b"ffffffffffffffff\r\nx", b"0\r\n\r\n")
                )
                raw = whole.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
            case _:
                raw = chance.choice(
                    (
                        b"GET /\r\n\r\n",
                        b"GET / HTTP/9.9\r\n\r\n",
                        b"\r\n\r\n\r\n",
                        b"POST /mcp HTTP/1.1\r\n\r\n",
                        b"PRI * HTTP/2.0\r\n\r\n",
                    )
                )
        return Shot(raw=raw, lawful=False)


def _doubled(body: bytes) -> bytes:
    return body[:1] + b'"method":"ping",' + body[1:]


def _cut(body: bytes) -> bytes:
    return body[: len(body) // 2]


def _trailing(body: bytes) -> bytes:
    return body + b" \x00{}"


def _latin(body: bytes) -> bytes:
    return body.replace(b'"a', b'"\xff\xfe')
