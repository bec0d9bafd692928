"""What clients rely on by name does not change by accident."""

import pytest

from muninn.protocol import INSTRUCTIONS
from muninn.tool import Tool
from muninn.tools import TOOLS
from tests import manifest


def test_the_manifest_is_the_one_that_was_pinned() -> None:
    assert manifest.text() == manifest.PIN.read_text(encoding="utf-8"), "python -m tests.manifest, if on purpose"


def test_instructions_are_not_cut_by_clients() -> None:
    assert len(INSTRUCTIONS) < 2048


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_description_is_not_cut_by_clients(tool: Tool) -> None:
    assert 0 < len(tool.says) < 2048


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_argument_is_checked_strictly(tool: Tool) -> None:
    assert tool.input_schema["additionalProperties"] is False
    assert tool.output_schema["type"] == "object"


def test_no_tool_deletes() -> None:
    assert not [tool.name for tool in TOOLS if any(word in tool.name for word in ("delete", "remove", "purge"))]
