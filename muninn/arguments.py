"""The arguments of the tools. Schemas are made from these classes and calls are checked against them, strictly.

Unknown, missing and mistyped arguments are refused by name; nothing is coerced.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from muninn.model.refusal import Code, Refusal

STRICT: Final = ConfigDict(strict=True, extra="forbid")

Path = Annotated[str, Field(description="path inside the vault, as projects/plan.md")]
Expected = Annotated[
    str,
    Field(description="SHA-256 of the bytes you read (the `hash` of a read), or `missing` to create"),
]
DryRun = Annotated[bool, Field(description="judge only; nothing is changed")]
RequestId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=128,
        pattern=r"^\P{C}+$",
        description="your own name for this call; a repeat gives the stored answer",
    ),
]
Line = Annotated[int | None, Field(ge=1, description="line number, from 1")]
Cursor = Annotated[str | None, Field(max_length=4096, description="`next_cursor` of the answer before")]


@dataclass(frozen=True, slots=True)
class SearchArguments:
    __pydantic_config__ = STRICT
    query: Annotated[str, Field(description="plain words; no syntax")]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    folder: Annotated[str | None, Field(description="only below this folder")] = None
    type: str | None = None
    status: Annotated[str | None, Field(description="retired notes are left out unless named here")] = None
    tags: Annotated[list[str] | None, Field(description="notes that have all of these")] = None
    since: Annotated[str | None, Field(description="date YYYY-MM-DD, inclusive")] = None
    until: Annotated[str | None, Field(description="date YYYY-MM-DD, inclusive")] = None
    explain: Annotated[
        bool,
        Field(description="show the signals behind each hit; with [[name]] in the query, also where that note stands"),
    ] = False


@dataclass(frozen=True, slots=True)
class ReadArguments:
    __pydantic_config__ = STRICT
    path: Path
    start_line: Line = None
    end_line: Line = None
    revision: Annotated[str | None, Field(description="a kept hash or an event id of this path")] = None


@dataclass(frozen=True, slots=True)
class ListArguments:
    __pydantic_config__ = STRICT
    folder: Annotated[str, Field(description="a folder; empty for the root")] = ""
    depth: Annotated[int, Field(ge=1, le=64)] = 1
    hashes: bool = False
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class LinksArguments:
    __pydantic_config__ = STRICT
    path: Path
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class HistoryArguments:
    __pydantic_config__ = STRICT
    path: Path
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class WriteArguments:
    __pydantic_config__ = STRICT
    path: Path
    content: Annotated[str, Field(description="the whole note; it lands byte for byte")]
    expected_hash: Expected
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class ReplaceEdit:
    """Replace a text that stands exactly once."""

    __pydantic_config__ = STRICT
    replace: str
    with_: Annotated[str, Field(alias="with")]


@dataclass(frozen=True, slots=True)
class AppendEdit:
    """Add text at the end, on a new line."""

    __pydantic_config__ = STRICT
    append: str


@dataclass(frozen=True, slots=True)
class SectionEdit:
    """Change what stands under one heading."""

    __pydantic_config__ = STRICT
    section: Annotated[str, Field(description="the heading's text")]
    text: str
    mode: Literal["replace", "append", "prepend"]


@dataclass(frozen=True, slots=True)
class FrontmatterEdit:
    """Set top-level keys; null takes one out."""

    __pydantic_config__ = STRICT
    frontmatter: Annotated[dict[str, Any], Field(min_length=1, max_length=100)]


def _kind_of_edit(edit: Any) -> str | None:
    """Which edit an object is, by the key that only this kind has."""
    if isinstance(edit, dict):
        return next((key for key in ("replace", "append", "section", "frontmatter") if key in edit), None)
    return {ReplaceEdit: "replace", AppendEdit: "append", SectionEdit: "section"}.get(type(edit), "frontmatter")


AnyEdit = Annotated[
    Annotated[ReplaceEdit, Tag("replace")]
    | Annotated[AppendEdit, Tag("append")]
    | Annotated[SectionEdit, Tag("section")]
    | Annotated[FrontmatterEdit, Tag("frontmatter")],
    Discriminator(
        _kind_of_edit,
        custom_error_type="edit",
        custom_error_message="must be {replace, with}, {append}, {section, text, mode} or {frontmatter}",
    ),
]


@dataclass(frozen=True, slots=True)
class EditArguments:
    __pydantic_config__ = STRICT
    path: Path
    edits: Annotated[
        list[AnyEdit],
        Field(min_length=1, max_length=100, description="applied in this order, all or none"),
    ]
    expected_hash: Expected
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class ArchiveArguments:
    __pydantic_config__ = STRICT
    path: Path
    expected_hash: Expected
    reason: Literal["superseded", "retracted", "obsolete", "duplicate", "moved"]
    note: Annotated[str | None, Field(max_length=2000, description="a word on why, kept in the history")] = None
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class RestoreArguments:
    __pydantic_config__ = STRICT
    path: Path
    revision: Annotated[str, Field(description="a kept hash or an event id of this path, from history")]
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class RecoverArguments:
    __pydantic_config__ = STRICT
    pending_id: Annotated[str | None, Field(max_length=200, description="without it, your plans are listed")] = None


@dataclass(frozen=True, slots=True)
class ClaimArguments:
    __pydantic_config__ = STRICT
    statement: Annotated[str, Field(description="one sentence that the source bears out, up to 2,000 characters")]
    path: Annotated[str, Field(description="the source, as projects/plan.md")]
    revision: Annotated[str, Field(description="the `hash` of your read: what is there now")]
    start_line: Annotated[int | None, Field(ge=1, description="first line of the source that says so")] = None
    end_line: Annotated[int | None, Field(ge=1, description="last one; `start_line` where left out")] = None
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class ClaimsArguments:
    __pydantic_config__ = STRICT
    path: Annotated[str | None, Field(description="claims on this source, also after it was archived")] = None
    query: Annotated[str | None, Field(description="plain words; matches held statements only")] = None
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class RetractArguments:
    __pydantic_config__ = STRICT
    claim_id: Annotated[str, Field(max_length=200)]
    reason: Annotated[str, Field(description="why it is not to be used any more; kept in the ledger")]
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class SourceArgument:
    """A source at the revision that was read."""

    __pydantic_config__ = STRICT
    path: str
    hash: Annotated[str, Field(description="SHA-256 of the bytes you read")]


@dataclass(frozen=True, slots=True)
class RegisterSummaryArguments:
    __pydantic_config__ = STRICT
    path: Annotated[str, Field(description="the summary, a note that is there")]
    hash: Annotated[str, Field(description="SHA-256 of the summary's bytes")]
    sources: Annotated[list[SourceArgument], Field(description="every note it was made from, 1 to 128")]
    dry_run: DryRun = False
    request_id: RequestId = None


@dataclass(frozen=True, slots=True)
class StalenessArguments:
    __pydantic_config__ = STRICT
    path: Annotated[str | None, Field(description="one summary; without it all of them, by path")] = None
    detail: Annotated[bool, Field(description="changed lines, and the sentences to look at again")] = False
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class RunCodeArguments:
    __pydantic_config__ = STRICT
    script: Annotated[
        str, Field(max_length=100_000, description="the body of an async JavaScript function; `return` gives the value")
    ]
    timeout_s: Annotated[float, Field(ge=1, le=60, description="seconds it may take, waiting included")] = 10


@dataclass(frozen=True, slots=True)
class NoArguments:
    __pydantic_config__ = STRICT


_SHOWN: Final = 10
_LONGEST: Final = 4000


def checked(tool: str, adapter: TypeAdapter[Any], arguments: Any) -> Any:
    """The arguments as a value of the tool's class, or the Refusal that names every one that does not fit."""
    try:
        # As JSON, because strict checking of Python values would ask for our own classes instead of objects.
        return adapter.validate_json(json.dumps(arguments if arguments is not None else {}))
    except ValidationError as error:
        known = ", ".join(adapter.json_schema()["properties"]) or "none"
        rows = error.errors(include_url=False, include_context=False)
        faults = "; ".join(dict.fromkeys(_fault(row, known) for row in rows[:_SHOWN]))
        more = f"; and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        return Refusal(Code.INVALID_ARGUMENTS, f"arguments of {tool}: {faults}{more}"[:_LONGEST])


def _fault(row: Any, known: str) -> str:
    place = ".".join(str(part)[:80] for part in row["loc"]) or "arguments"
    match row["type"]:
        case "missing" | "missing_argument":
            return f"`{place}` is missing"
        case "unexpected_keyword_argument" | "extra_forbidden":
            return f"`{place}` is unknown" + (f" (known are: {known})" if len(row["loc"]) == 1 else "")
        case _:
            found = repr(row["input"])
            shown = found if len(found) <= 60 else found[:57] + "…"
            return f"`{place}`: {row['msg'][0].lower()}{row['msg'][1:]}, found {shown}"
