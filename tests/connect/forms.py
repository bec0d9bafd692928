"""The form of each client's file, as JSON Schemas, and what each client makes of it.

Compared in November 2026, as far as said here, and with no client itself. From the maker's own text:

- VS Code: the source of its page mcp-configuration, in microsoft/vscode-docs, approved in May 2026 (``servers`` with
  ``type``, ``inputs``, ``${input:ID}`` in headers)
- Claude Desktop: docs/develop/connect-local-servers in modelcontextprotocol/modelcontextprotocol (``command`` and
  ``args``; the places on macOS and Windows. Linux is not in it: that place is the one that its unofficial builds use)
- Codex: codex-rs/config/src/mcp_types.rs in openai/codex (``url`` with ``bearer_token_env_var``, or ``command`` with
  ``args``; a mixture of both is an error there; read but for its last tenth)

From what others report of the maker's page, which could not be read itself beyond its beginning:

- Claude Code: https://code.claude.com/docs/en/mcp (``.mcp.json``; ``${VAR}`` in url and headers)
- Cursor: https://cursor.com/docs/mcp (``url`` and ``headers``, ``${env:NAME}``; stdio with ``command``, ``args``)
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_TEXTS = {"type": "array", "items": {"type": "string"}}
_HEADERS = {"type": "object", "additionalProperties": {"type": "string"}, "required": ["Authorization"]}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _file(servers: str, *forms: dict[str, Any], **more: Any) -> dict[str, Any]:
    entries = {"type": "object", "additionalProperties": {"oneOf": list(forms)}}
    return _object([servers], **{servers: entries}, **more)


_TYPED_STDIO = _object(["type", "command"], type={"const": "stdio"}, command={"type": "string"}, args=_TEXTS)
_STDIO = _object(["command"], command={"type": "string"}, args=_TEXTS)
_TYPED_HTTP = _object(["type", "url"], type={"const": "http"}, url={"type": "string"}, headers=_HEADERS)
_QUESTION = _object(
    ["type", "id", "description"],
    type={"const": "promptString"},
    id={"type": "string"},
    description={"type": "string"},
    password={"const": True},
)

SCHEMAS: dict[str, dict[str, Any]] = {
    "claude-code": _file("mcpServers", _TYPED_HTTP, _TYPED_STDIO),
    "claude-desktop": _file("mcpServers", _STDIO),
    "cursor": _file("mcpServers", _object(["url"], url={"type": "string"}, headers=_HEADERS), _TYPED_STDIO),
    "vscode": _file("servers", _TYPED_HTTP, _TYPED_STDIO, inputs={"type": "array", "items": _QUESTION}),
    "codex": _file(
        "mcp_servers",
        _object(["url"], url={"type": "string"}, bearer_token_env_var={"type": "string", "pattern": r"^[A-Z_]+$"}),
        _STDIO,
    ),
}


@dataclass(frozen=True, slots=True)
class Dialled:
    """What a client would do: speak HTTP with these headers, or start this command."""

    url: str | None
    headers: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


def parsed(product: str, text: str) -> Any:
    """A client's file as a value."""
    return tomllib.loads(text) if product == "codex" else json.loads(text)


def dial(product: str, text: str, environment: Mapping[str, str], typed: str) -> Dialled:
    """Do as the client does with its file. ``typed`` is what the person answers to a question."""
    found = parsed(product, text)
    (servers,) = (found[key] for key in found if key != "inputs")
    entry = servers["muninn"]
    if "command" in entry:
        return Dialled(None, command=(entry["command"], *entry["args"]))
    if product == "codex":
        return Dialled(entry["url"], {"Authorization": f"Bearer {environment[entry['bearer_token_env_var']]}"})
    asked = {question["id"]: typed for question in found.get("inputs", [])}
    form, known = {
        "claude-code": (r"\$\{(\w+)\}", environment),
        "cursor": (r"\$\{env:(\w+)\}", environment),
        "vscode": (r"\$\{input:([\w-]+)\}", asked),
    }[product]
    headers = {key: re.sub(form, lambda hit: known[hit[1]], value) for key, value in entry["headers"].items()}
    return Dialled(entry["url"], headers)
