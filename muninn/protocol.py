"""The tool table spoken as MCP, both eras on one endpoint. The only module that knows the SDK's server.

Handlers are plain functions; they run in worker threads (``lanes.py``).
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import muninn
from muninn import lanes, proof, reading, standing, tools
from muninn.answers import to_json
from muninn.clients import Client
from muninn.door import Door
from muninn.metrics import INTERNAL_ERROR, PROTOCOL_ERROR, UNKNOWN
from muninn.model.answer import ReadAnswer
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.recording import Asked, Recorder
from muninn.refusals import guarded
from muninn.tool import Call, Tool

log = logging.getLogger("muninn.calls")

INSTRUCTIONS: Final = """\
Muninn is the door to a shared vault of Markdown notes. Several agents and one person live by them: take care.

1. Search first (`search`), with plain words. The answer, or the note to extend, may be there already.
2. Read before you write (`read`). Keep the `hash`: every write must present the SHA-256 of what you read as
   `expected_hash`; `missing` creates. A cut read has no hash: go on at `next_line`.
3. Dry run (`dry_run: true`), look at the verdict, then commit. `edit` changes parts and leaves all else alone.
4. New notes meet the contract: frontmatter with title, type, status, two to five kebab-case tags, date. The whole
   contract with examples comes from the tool `contract`; answers name its version (`contract_version`).
5. On `conflict` read again and redo your change on the new text. Never write over what you have not read.
6. There is no delete: `archive` takes a note out and keeps its bytes; `history` and `restore` bring it back.
7. `pending` means that a write is kept but not finished: call `recover` with its id.
8. A fact that others will act on: `claim` it with the revision you read; `claims` tells what still holds. A note that
   sums up others: `register_summary`; `staleness` says when a source changed.
9. A hash proves that bytes are the same, not that anyone understood them; notes can be wrong about the world.
"""

CONTRACT_URI: Final = "muninn://contract"
NOTE_URI: Final = "muninn://note/"


def make_server(door: Door, recorder: Recorder) -> Server[Any]:
    """The MCP server of one door; ``recorder`` keeps how each call ended."""
    threads = lanes.Lanes()

    async def on_list_tools(ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        client = _client(ctx)
        asked = recorder.asked(_request(ctx), client.name, "tools/list")
        shown = [described(tool) for tool in tools.TOOLS if tool.lacks(client.scopes) is None]
        recorder.ended(asked, shown)
        return types.ListToolsResult(tools=shown)

    async def on_call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.BY_NAME.get(params.name)
        path = params.arguments.get("path") if params.arguments else None
        name = UNKNOWN if tool is None else tool.name
        asked = recorder.asked(_request(ctx), _client(ctx).name, name, path)
        if tool is None:
            recorder.failed(asked, PROTOCOL_ERROR)
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name[:80]}")
        call = Call(door, _rights(door, ctx))
        work = functools.partial(_call, recorder, asked, tool, call, params.arguments)
        try:
            answer: types.CallToolResult = await threads.run(call.rights.client, work, tool.lane)
        except lanes.NoTurnError:
            refusal = _no_turn()
            recorder.ended(asked, refusal)
            return _refused(refusal)
        return answer

    async def on_read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        rights = _rights(door, ctx)
        path = unquote(params.uri.removeprefix(NOTE_URI)) if params.uri.startswith(NOTE_URI) else None
        asked = recorder.asked(_request(ctx), rights.client, "resources/read", path)
        work = functools.partial(_recorded, recorder, asked, lambda: _resource(door, rights, params.uri))
        answer: types.ReadResourceResult = await threads.run(rights.client, work, "read")
        return answer

    private = CacheHint(ttl_ms=0, scope="private")
    return Server(
        "muninn",
        version=muninn.__version__,
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": private,
            "resources/list": private,
            "resources/templates/list": private,
            "resources/read": private,
        },
        get_tool_input_schema=lambda name: tools.BY_NAME[name].input_schema if name in tools.BY_NAME else None,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=on_read_resource,
    )


def _no_turn() -> Refusal:
    total, own = lanes.AT_ONCE["script"], lanes.SCRIPT_SHARE
    limit = f"the limit of {total} scripts at once, {own} of one client,"
    message = f"{limit} left this one no turn within {lanes.SCRIPT_WAIT_S:g} s; try again later"
    return Refusal(Code.SCRIPT_LIMIT, message, {"limit": "turns"})


async def _list_resources(ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    about = "The rules that every new note must meet, with examples"
    contract = types.Resource(uri=CONTRACT_URI, name="contract", description=about, mime_type="application/json")
    return types.ListResourcesResult(resources=[contract])


async def _list_templates(ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    about = "A note by its path in the vault"
    note = types.ResourceTemplate(
        uri_template=NOTE_URI + "{+path}", name="note", description=about, mime_type="text/markdown"
    )
    return types.ListResourceTemplatesResult(resource_templates=[note])


def _call(recorder: Recorder, asked: Asked, tool: Tool, call: Call, arguments: Any) -> types.CallToolResult:
    answer = _recorded(recorder, asked, lambda: guarded(lambda: _run(tool, call, arguments)))
    return _refused(answer) if isinstance(answer, Refusal) else _answered(answer)


def _run(tool: Tool, call: Call, arguments: Any) -> Any:
    return proof.warned(call.door.home, tools.run(tool, call, arguments))


def _recorded(recorder: Recorder, asked: Asked, work: Callable[[], Any]) -> Any:
    """Do one call's work and record it. The edge: no bug's text may reach a client, and none may pass unseen."""
    try:
        answer = work()
    except MCPError:
        recorder.failed(asked, PROTOCOL_ERROR)
        raise
    except Exception as error:
        log.exception("a bug in a call", extra={"request": asked.request, "tool": asked.tool, "client": asked.client})
        recorder.failed(asked, INTERNAL_ERROR)
        raise MCPError(code=types.INTERNAL_ERROR, message="internal error; it was logged") from error
    recorder.ended(asked, answer)
    return answer


def _answered(answer: Any) -> types.CallToolResult:
    shown = to_json(answer)
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=shown)


def _refused(refusal: Refusal) -> types.CallToolResult:
    error = {"code": refusal.code.value, "message": refusal.message, "changed": False} | to_json(dict(refusal.details))
    text = json.dumps({"error": error}, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


@functools.cache
def described(tool: Tool) -> types.Tool:
    """A tool as it goes over the wire."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.says,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=False,
            idempotent_hint=not tool.writes,
            open_world_hint=False,
        ),
    )


def _resource(door: Door, rights: Rights, uri: str) -> types.ReadResourceResult:
    """The contract, or a note's text. What may not be read looks as if it were not there."""
    if uri == CONTRACT_URI:
        text = json.dumps(to_json(standing.contract(door)), ensure_ascii=False)
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])
    answer = guarded(lambda: _note(door, rights, uri))
    match answer:
        case ReadAnswer(complete=False):
            message = (
                f"the note has {answer.size} bytes, more than a resource carries: use the tool read, piece by piece"
            )
            raise MCPError(code=types.INVALID_PARAMS, message=message, data={"uri": uri[:1000]})
        case ReadAnswer(encoding="utf-8"):
            return types.ReadResourceResult(
                contents=[types.TextResourceContents(uri=uri, mime_type="text/markdown", text=answer.content)]
            )
        case ReadAnswer():
            blob = types.BlobResourceContents(uri=uri, mime_type="application/octet-stream", blob=answer.content)
            return types.ReadResourceResult(contents=[blob])
        case Refusal():
            raise MCPError(code=types.INVALID_PARAMS, message=answer.message, data={"uri": uri[:1000]})
    raise AssertionError("no other answer")


def _note(door: Door, rights: Rights, uri: str) -> ReadAnswer | Refusal:
    if not uri.startswith(NOTE_URI) or "read" not in rights.scopes:
        return Refusal(Code.NOT_FOUND, f"no such resource; known are {CONTRACT_URI} and {NOTE_URI}{{path}}")
    path = reading.parse_path(unquote(uri.removeprefix(NOTE_URI)))
    return path if isinstance(path, Refusal) else reading.read(door, rights, path, reading.Range(), None)


def _client(ctx: Any) -> Client:
    client = ctx.request.state.client
    if not isinstance(client, Client):
        raise TypeError("a call came past the gate without a client")
    return client


def _request(ctx: Any) -> str:
    return str(ctx.request.state.request)


def _rights(door: Door, ctx: Any) -> Rights:
    return _client(ctx).rights(door.contract.private)
