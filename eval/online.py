"""Ask a running door: MCP over HTTP with a client's token, so with that client's rights."""

from __future__ import annotations

import http.client
import json
from typing import Any, Final
from urllib.parse import urlsplit

from muninn.model.errors import MuninnError

from .engines import Answer, Engine
from .score import DEPTH

_REVISION: Final = "2026-07-28"
_PREFIX: Final = "io.modelcontextprotocol/"
_TIMEOUT_S: Final = 60.0


class DoorError(MuninnError):
    """The door cannot be reached, or does not answer as a door does."""


class Door:
    """One client at one address. The token is sent in the header and shown nowhere."""

    def __init__(self, url: str, token: str) -> None:
        place = urlsplit(url if "//" in url else f"http://{url}")
        if place.scheme not in ("http", "https") or not place.hostname:
            raise DoorError(f"--url: expected http://HOST:PORT, found {url[:80]!r}")
        self._place = place
        self._token = token

    def client(self) -> str:
        """The name the token belongs to."""
        return str(self.call("status", {})["client"]["name"])

    def engine(self) -> Engine:
        """The door's search as an engine."""

        def ask(text: str) -> Answer:
            found = self.call("search", {"query": text, "limit": DEPTH})
            return Answer(tuple(hit["path"] for hit in found["hits"]), found["confidence"] in ("low", "none"))

        return ask

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """One call of a tool. Raises DoorError with the door's own words where it refuses."""
        try:
            status, body = self._post(tool, arguments)
        except (OSError, http.client.HTTPException) as error:
            place = f"{self._place.hostname}:{self._place.port or ''}"
            raise DoorError(f"nothing answers at {place} ({type(error).__name__}); is the gateway running?") from error
        if status != http.HTTPStatus.OK:
            hint = "; is the token right?" if status == http.HTTPStatus.UNAUTHORIZED else ""
            raise DoorError(f"the door answered HTTP {status} to {tool}{hint}")
        try:
            answer = json.loads(body)
            result = answer["result"]
            if result.get("isError"):
                raise DoorError(f"the door refused {tool}: {result['content'][0]['text'][:300]}")
            found: dict[str, Any] = result["structuredContent"]
        except (ValueError, KeyError, TypeError) as error:
            raise DoorError(f"expected the answer of a door to {tool}, found {body[:200]!r}") from error
        return found

    def _post(self, tool: str, arguments: dict[str, Any]) -> tuple[int, bytes]:
        secure = self._place.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(str(self._place.hostname), self._place.port, timeout=_TIMEOUT_S)
        meta = {
            f"{_PREFIX}protocolVersion": _REVISION,
            f"{_PREFIX}clientInfo": {"name": "muninn-eval", "version": "1"},
            f"{_PREFIX}clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _REVISION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        path = self._place.path.rstrip("/")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        try:
            connection.request("POST", path if path.endswith("/mcp") else path + "/mcp", body.encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()
