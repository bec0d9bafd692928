"""`python -m tests.render_docs [--check]`: write ``docs/reference`` from the code, or say which pages are stale.

Nothing on these pages is typed a second time but the meanings of codes, which stand here; ``tests/test_docs.py``
fails where one is missing. Exit status with ``--check``: 0 where every page is fresh, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from muninn import contract, logs, metrics, tools
from muninn.answers import OMIT
from muninn.cli import command
from muninn.contract import Rule
from muninn.doctor.check import Check
from muninn.doctor.checks import CHECKS
from muninn.model.refusal import Code
from muninn.model.rights import DEFAULT_SCOPES, SCOPES
from muninn.settings import SETTINGS, Setting
from muninn.tool import Tool

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference"
_MADE: Final = "<!-- Made from the code by `make docs`. Do not edit by hand. -->\n"
_WIDTH: Final = 88

MEANINGS: Final[Mapping[Code, str]] = {
    Code.INVALID_ARGUMENTS: "An argument is missing, unknown, of the wrong type or out of range. The message names it.",
    Code.INVALID_PATH: "The path can be no path of a vault, cannot name a new note, or leads to something that is no "
    "regular file.",
    Code.NOT_FOUND: "Nothing is there that this client may see. The answer is the same whether the file exists or not.",
    Code.FORBIDDEN: "The client lacks the scope of the tool, or may not write this path.",
    Code.EXISTS: "The call expected nothing at the path, but something is there: a file, a folder, a link, or a name "
    "that differs only in case or Unicode form.",
    Code.CONFLICT: "The path does not hold the bytes the call was made for. Read it again and redo the change.",
    Code.INVALID_NOTE: "The text does not meet the contract. `findings` lists every fault with its rule and line.",
    Code.TOO_LARGE: "The note, the line or the file is over its limit. The message gives both sizes.",
    Code.NOT_TEXT: "The bytes are not UTF-8, and this call works on text only.",
    Code.UNKNOWN_ID: "No kept revision, event, plan or standing claim that this client may know of has that id.",
    Code.VAULT_UNAVAILABLE: "The vault, or this file of it, cannot be reached or written now.",
    Code.LEDGER_UNAVAILABLE: "The ledger cannot be read or cannot commit. Nothing was changed; reads go on.",
    Code.INDEX_BLOCK: "The write would change the managed lines of a folder's page. Write around them.",
    Code.SCRIPT_ERROR: "The script failed: an error that nobody caught, or a value that is no JSON. `line` says where.",
    Code.SCRIPT_LIMIT: "A limit ended the script. `limit` says which: time, memory, stack, calls, bytes, value, "
    "output, engine, or turns where too many scripts waited.",
    Code.BUDGET_EXCEEDED: "More sources, or more bytes, than one registration may have. Nothing was registered. "
    "In a script: its calls, bytes or citations are used up.",
}

WARNINGS: Final[Mapping[str, str]] = {
    "abstaining_claims": "The note changed since something was claimed of it. `claims` lists what abstains.",
    "ambiguous_links": "Links of this note fit several files by name. The message says which were taken.",
    "backup_overdue": "A backup was set up, and for over 36 hours none was proven. Tell the owner.",
    "broken_links": "Links of the text that was written lead to nothing this client can see.",
    "conflict_copy": "A sync tool made this note because two machines wrote at once. Its original may differ.",
    "degraded": "The index could not answer, so the files themselves were searched.",
    "external_change": "The newest change of this note came around the door.",
    "ledger_unavailable": "The ledger is down: writes stop, reads go on.",
    "no_index_block": "The folder's page has not exactly one pair of markers and was left alone.",
    "possible_duplicate": "Another note says nearly the same as the one that was created, or carries nearly the "
    "sentence of a claim that was retracted or abstains from now on.",
    "search_first": "A note was created by a client that has not searched in the last 30 minutes.",
    "stale_summary": "Sources of this summary changed since it was registered. `staleness` says which.",
    "unparsed_frontmatter": "The note was given as it stands, but its frontmatter could not be understood.",
}

SCOPE_MEANINGS: Final[Mapping[str, str]] = {
    "read": "search, read, list, follow links, see history, claims and whether summaries are current",
    "write": "write, edit, recover, claim, retract, register summaries",
    "archive": "archive and restore",
    "code": "scripts over the vault; needs `read`",
    "private": "see and change paths under the owner's private globs, with the other scopes held",
    "metrics": "`/metrics`: counts and states of the gateway, see [metrics](metrics.md)",
}


# --- what the pages say beside what the code says ---------------------------------------------------

_TOOLS: Final = """\
# Tools

Arguments are checked strictly: unknown, missing and mistyped ones are refused by name. A question mark
after a type means that the argument may be left out. An answer may carry `warnings`. A refusal is a tool
error with one of the [codes](refusals.md).

"""

_CONTRACT: Final = """\
# The contract

Every note that is written through the door must meet these rules. Notes that were there before stay
readable, searchable and archivable. Private notes, and notes the owner exempts, need only be UTF-8 text
within the size limit. An owner's own rules change this object: ask the tool `contract` for the one in force.

"""

_SETTINGS: Final = """\
# Settings

`muninn.toml` lies in the home. It is read when a command starts; a running gateway keeps what it read until
it is started again. An unknown key, or a value of the wrong kind, ends the command with a message that names
it. A key with a dot stands in a table: `contract.types` is `types` below `[contract]`.

"""

_PLACES: Final = """
## Places and environment

A flag goes before the environment, the environment before `muninn.toml`, that before the default.

| variable | flag | what |
| --- | --- | --- |
| `MUNINN_VAULT` | `--vault` | the vault's folder; there is no default |
| `MUNINN_HOME` | `--home` | ledger, clients and settings; default: the platform's data folder |
| `MUNINN_CACHE` | `--cache` | the index; default: a folder for each vault in the platform's cache folder |
| `MUNINN_LOG_LEVEL` | | `debug`, `info`, `warning` or `error`; default `info` |

Home and cache may not lie inside the vault, nor the vault inside one of them.
"""

_METRICS: Final = """\
# Metrics

`GET /metrics` on the gateway's own address, in Prometheus' text format, for a client with the scope `metrics`
and its bearer token; others get 403. [How to watch it](../how-to/watch-it-with-prometheus.md);
[what the numbers tell of private notes](../explain/what-metrics-tell.md).

## Counted since the gateway was started

"""

_LOOKED: Final = """
## Looked up at each scrape

A number that is not known now, or not for this client, is left out.

"""

_LOGS: Final = """\
# Logs

One JSON object a line on stderr, from `MUNINN_LOG_LEVEL` on (`debug`, `info`, `warning` or `error`; default
`info`). Each call is one line at `info`, each request that the gate turns away another.

No line holds a token, the text of a note, an argument's value, or the message of a bug, which may quote
one. What is not ASCII is escaped, so that nothing sent by a client begins a line or steers a terminal. An
unknown tool is `unknown`. Lines of other packages (uvicorn, the MCP SDK) come in the same form, without the
values that they put into their messages.

## Every line

"""

_PATH_HASH: Final = """
## The hash of a path

`path` is the beginning of HMAC-SHA-256 over the path in NFC, under the key in `log.key` in the home, which is
made at the first start. A plain hash would hide nothing: who reads the log could hash every likely path and
compare. As the key stays, a note has the same hash after a restart, and only somebody who can read the home can
say which note it is:

```sh
python3 -c 'import hmac, sys, unicodedata as u; print(hmac.digest(bytes.fromhex(open(sys.argv[1]).read()),
  u.normalize("NFC", sys.argv[2]).encode(), "sha256")[:8].hex())' ~/.local/share/muninn/log.key team/plan.md
```

Remove `log.key` to begin with other hashes at the next start.
"""

_COMMANDS: Final = """\
# Commands

What `--help` says, for every command. `--json` prints one object.
"""

_REFUSALS: Final = """\
# Refusals, warnings and scopes

A refusal is a tool error (`isError`) whose text is JSON:
`{"error": {"code", "message", "changed": false, …}}`. The message says what was expected, what was found and
the next step. An unknown tool is the protocol's own error, `Unknown tool: NAME`.

## Refusals

"""

_DOCTOR: Final = """\
# What the doctor looks at

`muninn doctor` makes these checks in this order, and changes nothing of the installation: no byte, mode, time or
name in vault, home and cache. Each is `ok`, `fault` or `skipped` with the reason; what was skipped has not passed. A
fault says what was found and the next step; exit status 1 where there is one. `--json` gives
`{"checks": [{"name", "state", "says", "paths", "reasons", "details"}], "ok", "fault", "skipped"}`: `paths` where some
are concerned, `reasons` by path where each has its own, `details` where there is more to say that is no path.

"""

_DETAILS: Final = """
`exists` and `conflict` carry `current_hash` where there is a file, and `already_in_place: true` where it
holds the bytes the call wanted. `conflict` also carries `expected_hash`; `changed_by` and `changed_at` if
the ledger knows who made the present bytes; and `diff`, from the expected bytes to the present ones, if the
ledger keeps the expected ones.

## Warnings

A warning rides in an answer as `{code, message, paths}` and never blocks.

"""


# --- the pages -------------------------------------------------------------------------------------


def tools_page() -> str:
    """Every tool with its scope, arguments and answer."""
    rows = [(f"[{_code(tool.name)}](#{tool.name})", _scope(tool), tool.title) for tool in tools.TOOLS]
    listed = _table(("tool", "scope", "what it does"), rows)
    return _MADE + _TOOLS + listed + "\n" + "\n".join(map(_tool, tools.TOOLS))


def contract_page() -> str:
    """The built-in contract: rules, limits, version and digest."""
    built = contract.build()
    limits = built.publish()["limits"].items()
    facts = [
        ("version", _code(built.version)),
        ("digest", _code(built.digest)),
        ("folder page", _code(str(built.folder_page))),
        ("private", ", ".join(map(_code, built.private.patterns))),
    ]
    facts_table = _table(("what", "built in"), facts)
    numbers = _table(("limit", "value"), [(_code(key), f"{n:,}") for key, n in limits if isinstance(n, int)])
    rules = "\n".join(map(_rule, built.rules))
    return f"{_MADE}{_CONTRACT}{facts_table}\n## Limits\n\n{numbers}\n## Rules\n\n{rules}"


def settings_page() -> str:
    """Every key of ``muninn.toml``, and what the environment sets."""
    rows = [(_code(row.key), _default(row), row.expects, row.says) for row in SETTINGS]
    return _MADE + _SETTINGS + _table(("key", "default", "expects", "what it does"), rows) + _PLACES


def commands_page() -> str:
    """The help of every command."""
    return _MADE + _COMMANDS + "".join(_help(names, found) for names, found in commands())


def metrics_page() -> str:
    """Every name on the page for Prometheus."""
    counted = _series(metrics.COUNTED)
    edges = ", ".join(f"{edge:g}" for edge in metrics.BUCKETS)
    buckets = f"\nThe histogram's upper edges in seconds: {edges}.\n"
    looked = _series([*(row.series for row in metrics.LOOKED), metrics.STARTED, metrics.BUILD])
    return _MADE + _METRICS + counted + buckets + _LOOKED + looked


def _series(found: Sequence[metrics.Series]) -> str:
    rows = [(_code(row.name), row.kind, ", ".join(map(_code, row.labels)) or "–", row.says) for row in found]
    return _table(("name", "kind", "labels", "what it tells"), rows)


def logs_page() -> str:
    """Every field of a line of the log."""
    tables = [
        _table(("field", "what"), [(_code(name), says) for name, says in fields.items()])
        for fields in (logs.FIELDS, logs.CALL_FIELDS, logs.MORE_FIELDS)
    ]
    every, call, more = tables
    calls = f"\n## A call\n\nIts `message` is `call`.\n\n{call}"
    others = f"\n## Some other lines\n\n{more}"
    return _MADE + _LOGS + every + calls + others + _PATH_HASH


def refusals_page() -> str:
    """Codes of refusals, codes of warnings, scopes."""
    codes = _table(("code", "meaning"), [(_code(code.value), MEANINGS[code]) for code in Code])
    warnings = _table(("code", "meaning"), [(_code(code), says) for code, says in WARNINGS.items()])
    rows = [(_code(scope), "yes" if scope in DEFAULT_SCOPES else "no", SCOPE_MEANINGS[scope]) for scope in SCOPES]
    scopes = _table(("scope", "by default", "opens"), rows)
    end = "\nAny client may call `contract` and `status`.\n"
    return f"{_MADE}{_REFUSALS}{codes}{_DETAILS}{warnings}\n## Scopes\n\n{scopes}{end}"


def doctor_page() -> str:
    """Every check of ``muninn doctor``."""
    return _MADE + _DOCTOR + "\n".join(map(_check, CHECKS))


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "tools.md": tools_page,
    "contract.md": contract_page,
    "settings.md": settings_page,
    "commands.md": commands_page,
    "refusals.md": refusals_page,
    "metrics.md": metrics_page,
    "logs.md": logs_page,
    "doctor.md": doctor_page,
}


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its names from ``muninn`` on, groups before what is in them."""
    yield from _below(("muninn",), command)


def stale(folder: Path = FOLDER) -> list[str]:
    """Names of the pages that are missing or differ from what the code says."""
    return [name for name, page in PAGES.items() if _text_of(folder / name) != page()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(prog="python -m tests.render_docs", description="Write docs/reference anew.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page is stale")
    asked = parser.parse_args(arguments)
    changed = stale()
    if asked.check:
        for name in changed:
            sys.stderr.write(f"docs/reference/{name} is stale; run: make docs\n")
        return 1 if changed else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in changed:
        (FOLDER / name).write_text(PAGES[name](), encoding="utf-8")
    print(f"{len(changed)} of {len(PAGES)} pages written")
    return 0


# --- pieces ----------------------------------------------------------------------------------------


def _tool(tool: Tool) -> str:
    taken = tool.input_schema
    needed = set(taken.get("required", ()))
    rows = [_argument(name, part, taken, name in needed) for name, part in taken.get("properties", {}).items()]
    arguments = _table(("argument", "type", "default", "what"), rows) if rows else "No arguments.\n"
    return (
        f"## {tool.name}\n\n{tool.title}. Scope: {_scope(tool)}. "
        f"{'May change notes.' if tool.writes else 'Changes nothing.'}\n\n{tool.says}\n\n"
        f"{arguments}{_shapes(taken)}\nAnswer:\n\n{_answer(tool.output_schema)}"
    )


def _scope(tool: Tool) -> str:
    return "any client" if tool.scope is None else _code(tool.scope)


def _argument(name: str, part: dict[str, Any], whole: dict[str, Any], needed: bool) -> tuple[str, ...]:
    default = "needed" if needed else ("–" if part.get("default") is None else _code(json.dumps(part["default"])))
    says = "; ".join(filter(None, (part.get("description", ""), _bounds(part))))
    shown = _type(part, whole).removesuffix(" or null")
    return _code(name), shown + ("" if needed else "?"), default, says


def _shapes(schema: dict[str, Any]) -> str:
    """The objects that an argument may be a list of, one line each."""
    lines = [
        f"- `{{{', '.join(shape.get('properties', {}))}}}`: {shape.get('description', '').rstrip('.')}\n"
        for shape in schema.get("$defs", {}).values()
    ]
    return "\nIts objects:\n\n" + "".join(sorted(lines)) if lines else ""


def _answer(schema: dict[str, Any]) -> str:
    rows = []
    for name, part in schema.get("properties", {}).items():
        absent = "; left out where there is none" if name in OMIT else ""
        rows.append((_code(name), _type(part, schema) + absent))
    return _table(("field", "type"), rows)


def _bounds(part: dict[str, Any]) -> str:
    """The limits that a schema puts on a value, in words."""
    found = {**part, **_first(part)}
    words = []
    if "minimum" in found and "maximum" in found:
        words.append(f"{found['minimum']} to {found['maximum']}")
    elif "minimum" in found:
        words.append(f"at least {found['minimum']}")
    for key, unit in (("maxLength", "characters"), ("maxItems", "entries")):
        if key in found:
            words.append(f"at most {found[key]} {unit}")
    return ", ".join(words)


def _first(part: dict[str, Any]) -> dict[str, Any]:
    """The one shape of a value that may also be null."""
    shapes = [shape for shape in part.get("anyOf", ()) if shape.get("type") != "null"]
    return shapes[0] if len(shapes) == 1 else {}


def _type(part: dict[str, Any], whole: dict[str, Any]) -> str:
    """A JSON schema as a short text."""
    if "$ref" in part:
        named = whole["$defs"][part["$ref"].rpartition("/")[2]]
        return "{" + ", ".join(_code(name) for name in named.get("properties", {})) + "}"
    if "anyOf" in part:
        return " or ".join(_type(shape, whole) for shape in part["anyOf"])
    if "oneOf" in part:
        return "object"
    if "enum" in part:
        return " ".join(_code(str(value)) for value in part["enum"])
    if part.get("type") == "array":
        return f"list of {_type(part.get('items', {}), whole)}"
    return str(part.get("type", "any"))


def _rule(rule: Rule) -> str:
    blocks = "" if rule.blocks else " It only advises."
    examples = f"Accepted:\n\n{_fenced(rule.good)}\nRejected:\n\n{_fenced(rule.bad)}"
    return f"### {rule.id}\n\n{rule.says}{blocks}\n\n{examples}"


def _check(check: Check) -> str:
    return f"## {check.name}\n\n{check.says}\n\nA fault of it: {check.mend}\n"


def _fenced(text: str) -> str:
    shown = text if len(text) <= 1000 else text[:1000] + "…\n"
    return f"```markdown\n{shown}```\n"


def _default(row: Setting) -> str:
    return "–" if row.default is None else _code(json.dumps(row.default, ensure_ascii=False))


def _below(names: tuple[str, ...], found: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield names, found
    if isinstance(found, click.Group):
        context = click.Context(found, info_name=names[-1])
        for name in found.list_commands(context):
            inner = found.get_command(context, name)
            if inner is not None:
                yield from _below((*names, name), inner)


def _help(names: tuple[str, ...], found: click.Command) -> str:
    context = click.Context(found, info_name=" ".join(names), terminal_width=_WIDTH, max_content_width=_WIDTH)
    context.help_option_names = ["-h", "--help"]
    title = " ".join(names)
    return f"\n## {title}\n\n```text\n{found.get_help(context)}\n```\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`"


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
