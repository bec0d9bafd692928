"""The anchors over HTTP in a process of their own: an SDK server with a tool that does nothing, and a hello.

``python -P -m tests.bench.noop PORT FILE``; FILE holds the structured answer that the tool gives, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send


def build(answer: dict[str, Any]) -> Starlette:
    """The app; set up as the gateway sets up the SDK, with nothing before or behind it."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}

    async def on_call_tool(_: Any, __: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)

    server: Server[Any] = Server("noop", get_tool_input_schema=lambda _: schema, on_call_tool=on_call_tool)
    sessions = StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    class Endpoint:
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await sessions.handle_request(scope, receive, send)

    async def hello(_: Request) -> JSONResponse:
        return JSONResponse({"hello": "world"})

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    routes = [Route("/mcp", Endpoint(), methods=["POST"]), Route("/health", hello), Route("/hello", hello)]
    return Starlette(routes=routes, lifespan=lifespan)


def main(port: int, file: Path) -> None:
    """Serve until told to stop."""
    app = build(json.loads(file.read_text(encoding="utf-8")))
    uvicorn.run(app, port=port, access_log=False, log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
