"""The bridge driven by the SDK's own stdio client, as a product that embeds it would: search, read, edit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.conftest import note_text
from tests.door.gateway import HANDSHAKE, STATELESS, places, served, until_ready


async def _work(server: StdioServerParameters, mode: Any) -> tuple[str, dict[str, Any]]:
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        assert {"search", "read", "edit"} <= {tool.name for tool in tools.tools}

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer.content
            assert answer.structured_content is not None
            return dict(answer.structured_content)

        found = await call("search", query="where does the heron stand")
        path = found["hits"][0]["path"]
        read = await call("read", path=path)
        change = [{"replace": "the old pier", "with": "the new pier"}]
        edited = await call("edit", path=path, edits=change, expected_hash=read["hash"])
        assert (await call("read", path=path))["hash"] == edited["hash"]
        return client.protocol_version, edited


@pytest.mark.parametrize(("mode", "version"), [("legacy", HANDSHAKE), ("2026-07-28", STATELESS), ("auto", STATELESS)])
def test_an_agent_searches_reads_and_edits_through_the_bridge(
    tmp_path: Path, mode: Literal["legacy", "auto"], version: str
) -> None:
    made = places(tmp_path)
    (made.vault / "heron.md").write_bytes(note_text("The heron stands on the old pier.\n", title="Heron"))
    with served(made):
        until_ready(made)
        arguments = ["-P", "-m", "muninn", "bridge", "--url", f"http://127.0.0.1:{made.port}/mcp"]
        environment = {"MUNINN_TOKEN": made.tokens["a"]}
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        spoken, edited = anyio.run(_work, server, mode)
    assert spoken == version
    assert edited["state"] == "committed"
    assert (made.vault / "heron.md").read_bytes().endswith(b"The heron stands on the new pier.\n")
