"""The skill names nothing that does not exist, and has the form of Agent Skills.

The form: https://agentskills.io/specification (name of at most 64 characters, equal to the folder; description of at
most 1024).
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import yaml

from muninn.connect import NAME
from muninn.model.refusal import Code
from muninn.tools import TOOLS
from tests import render_docs

TEXT = resources.files("muninn.connect").joinpath("skill", "SKILL.md").read_text(encoding="utf-8")
_SPAN = re.compile(r"`([^`\n]+)`")


def _names(schema: Any) -> set[str]:
    """Every property that a schema knows of, at any depth."""
    if isinstance(schema, list):
        return {name for one in schema for name in _names(one)}
    if not isinstance(schema, dict):
        return set()
    inner = {name for value in schema.values() for name in _names(value)}
    return inner | set(schema.get("properties", {})) | set(schema.get("enum", ()))


def test_the_form() -> None:
    _, head, body = TEXT.split("---\n", 2)
    found = yaml.safe_load(head)
    assert set(found) == {"name", "description"}
    assert found["name"] == NAME
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found["name"])
    assert 0 < len(found["description"]) <= 1024
    assert body.strip()
    assert len(TEXT.splitlines()) < 120


def test_all_it_names_exists() -> None:
    known = {tool.name for tool in TOOLS} | {code.value for code in Code} | set(render_docs.WARNINGS)
    for tool in TOOLS:
        known |= _names(tool.input_schema) | _names(tool.output_schema)
    more = {"true", "false", "low", "none", "missing", "title", "type", "status", "date", "tags"}
    more |= {"current_hash", "already_in_place", "diff", "findings"}  # fields of refusals
    assert set(_SPAN.findall(TEXT)) - known - more == set()


def test_every_tool_and_warning_that_an_agent_meets_is_in_it() -> None:
    named = set(_SPAN.findall(TEXT))
    assert {tool.name for tool in TOOLS} - named == set()
    assert set(render_docs.WARNINGS) - named == set()
