"""The clients that Muninn can be connected to: where each keeps its servers, and in what form.

The formats follow the makers' documents, named in ``source``; how far each could be read is said in
``tests/connect/forms.py``. The token itself stands in none of them: each
client is pointed at a variable of its environment, at a question it asks, or at a file that only the bridge reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NAME: Final = "muninn"
VARIABLE: Final = "MUNINN_TOKEN"
_INPUT: Final = "muninn-token"
_TOKEN_HEADERS: Final = ("headers", "http_headers", "env_http_headers")
_OF_HTTP: Final = frozenset({"url", "bearer_token_env_var", "headersHelper", "oauth", "auth", *_TOKEN_HEADERS})
_OF_STDIO: Final = frozenset({"command", "args", "env", "cwd", "envFile", "env_vars"})


@dataclass(frozen=True, slots=True)
class Way:
    """How a client gets to the gateway: over HTTP at ``url``, or by starting ``command``, a bridge."""

    url: str
    command: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """What a place depends on: the person's folder, the system (``sys.platform``), the environment."""

    home: Path
    system: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Product:
    """A client. ``over_http`` gives its entry for an address; None where it can only start programs."""

    name: str
    title: str
    source: str
    form: str
    servers: str
    place: Callable[[Around], Path] | None
    in_project: str | None
    over_http: Callable[[str], dict[str, Any]] | None
    says_stdio: bool
    by_command: str | None = None
    after: str = ""
    inputs: tuple[dict[str, Any], ...] = ()

    def entry(self, way: Way) -> dict[str, Any]:
        """What stands under the server's name."""
        if way.command is None:
            assert self.over_http is not None, "checked by whoever made the way"
            return self.over_http(way.url)
        kind = {"type": "stdio"} if self.says_stdio else {}
        return kind | {"command": way.command[0], "args": list(way.command[1:])}

    def questions(self, way: Way) -> tuple[dict[str, Any], ...]:
        """The questions that the client asks for what the entry refers to."""
        return self.inputs if way.command is None else ()

    def file(self, around: Around, project: Path | None) -> Path:
        """The file that the servers stand in: of a project, or of the person."""
        if self.place is None or (project is not None and self.in_project is not None):
            assert self.in_project is not None, "a product has one place or the other"
            return (project or Path()) / self.in_project
        return self.place(around)


def merged(there: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """An entry that is there, with what the connection needs changed and every other key of the person's kept."""
    kept = dict(there) if isinstance(there, dict) else {}
    other = _OF_HTTP if "command" in wanted else _OF_STDIO
    kept = {key: value for key, value in kept.items() if key not in other and (key != "type" or key in wanted)}
    for key in _TOKEN_HEADERS:
        if isinstance(kept.get(key), dict):
            # Two Authorization headers are none: the gateway turns a doubled one away.
            others = {name: value for name, value in kept[key].items() if name.lower() != "authorization"}
            kept[key] = others | wanted.get(key, {})
            if not kept[key]:
                del kept[key]
    return kept | {key: value for key, value in wanted.items() if key not in _TOKEN_HEADERS or key not in kept}


def kept_keys(there: Any, entry: dict[str, Any]) -> tuple[str, ...]:
    """The keys of a merged entry that were there before and decide what is started or sent: a project's others can
    write them, too."""
    kept = merged(there, entry)
    return tuple(key for key in kept if key not in entry and key in (_OF_HTTP | _OF_STDIO))


def _desktop(around: Around) -> Path:
    if around.system == "darwin":
        return around.home / "Library/Application Support/Claude/claude_desktop_config.json"
    settings = around.environment.get("XDG_CONFIG_HOME") or str(around.home / ".config")
    return Path(settings) / "Claude/claude_desktop_config.json"


def _codex(around: Around) -> Path:
    return Path(around.environment.get("CODEX_HOME") or around.home / ".codex") / "config.toml"


CLAUDE_CODE: Final = Product(
    "claude-code",
    "Claude Code",
    "https://code.claude.com/docs/en/mcp",
    "json",
    "mcpServers",
    None,
    ".mcp.json",
    lambda url: {"type": "http", "url": url, "headers": {"Authorization": f"Bearer ${{{VARIABLE}}}"}},
    True,
    f'claude mcp add --transport http {NAME} {{url}} --header "Authorization: Bearer ${VARIABLE}"',
    "start Claude Code in this folder and approve the server; /mcp lists it",
)
CLAUDE_DESKTOP: Final = Product(
    "claude-desktop",
    "Claude Desktop",
    "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    "json",
    "mcpServers",
    _desktop,
    None,
    None,
    False,
    None,
    "quit Claude Desktop fully and start it again",
)
CURSOR: Final = Product(
    "cursor",
    "Cursor",
    "https://cursor.com/docs/mcp",
    "json",
    "mcpServers",
    lambda around: around.home / ".cursor/mcp.json",
    ".cursor/mcp.json",
    lambda url: {"url": url, "headers": {"Authorization": f"Bearer ${{env:{VARIABLE}}}"}},
    True,
    None,
    "start Cursor again; its settings show the server and its tools",
)
VSCODE: Final = Product(
    "vscode",
    "VS Code",
    "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
    "json",
    "servers",
    None,
    ".vscode/mcp.json",
    lambda url: {"type": "http", "url": url, "headers": {"Authorization": f"Bearer ${{input:{_INPUT}}}"}},
    True,
    None,
    "run MCP: List Servers in VS Code and start the server",
    (
        {
            "type": "promptString",
            "id": _INPUT,
            "description": "Token of the Muninn client for VS Code",
            "password": True,
        },
    ),
)
CODEX: Final = Product(
    "codex",
    "Codex",
    "https://developers.openai.com/codex/mcp",
    "toml",
    "mcp_servers",
    _codex,
    None,
    lambda url: {"url": url, "bearer_token_env_var": VARIABLE},
    False,
    f"codex mcp add {NAME} --url {{url}} --bearer-token-env-var {VARIABLE}",
    "start Codex again; /mcp lists the server",
)
PRODUCTS: Final = (CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, VSCODE, CODEX)


def around(environment: Mapping[str, str]) -> Around:
    """Where this process runs."""
    return Around(Path.home(), sys.platform, environment)
