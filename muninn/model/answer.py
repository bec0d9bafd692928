"""The answers of the tools, field by field. Output schemas are made from these classes.

The answer of ``search`` stands in ``hits.py``: the command line asks it on every prompt and needs none of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .refusal import Warn


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    path: str
    hash: str | None
    content: str
    encoding: Literal["utf-8", "base64"]
    size: int
    lines: int
    title: str
    frontmatter: dict[str, Any] | None
    complete: bool
    current: bool
    private: bool
    source_hash: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_line: int | None = None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of ``list``."""

    path: str
    kind: Literal["note", "attachment", "folder"]
    title: str | None
    size: int | None
    source_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    entries: tuple[Row, ...]
    next_cursor: str | None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A link as written. ``path`` is None where it leads nowhere."""

    target: str
    path: str | None
    line: int
    kind: Literal["wikilink", "embed", "markdown"]


@dataclass(frozen=True, slots=True)
class Backlink:
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Broken:
    target: str
    line: int


@dataclass(frozen=True, slots=True)
class Totals:
    outgoing: int
    backlinks: int
    broken: int


@dataclass(frozen=True, slots=True)
class Links:
    """The answer of ``links``."""

    outgoing: tuple[Outgoing, ...]
    backlinks: tuple[Backlink, ...]
    broken: tuple[Broken, ...]
    totals: Totals
    next_cursor: str | None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeRow:
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Written:
    """The answer of ``write``, ``edit``, ``archive`` and ``restore``."""

    state: Literal["committed", "dry_run", "pending", "replayed"]
    path: str
    hash: str | None
    previous_hash: str | None
    changes: tuple[ChangeRow, ...]
    event: str | None
    pending_id: str | None
    contract_version: str
    diff: str | None = None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class EventRow:
    event: str
    at: str
    client: str | None
    kind: str
    before: str
    after: str
    before_kept: bool
    after_kept: bool
    reason: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    events: tuple[EventRow, ...]
    next_cursor: str | None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRow:
    pending_id: str
    path: str
    state: Literal["committed", "superseded", "pending"]
    landed: tuple[str, ...]
    at: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """The answer of ``recover``: one plan with an id, the client's list without."""

    pending_id: str | None
    state: Literal["committed", "superseded", "pending"] | None
    landed: tuple[str, ...] = ()
    plans: tuple[PlanRow, ...] | None = None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class ContractAnswer:
    version: str
    digest: str
    rules: tuple[dict[str, Any], ...]
    limits: dict[str, Any]
    folder_index: str | None
    private: tuple[str, ...]
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Cited:
    """Lines of one revision that a script was shown; a file without lines has none."""

    path: str
    hash: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a script did not see: the call, the path where it had one, and why."""

    call: str
    path: str | None
    why: str


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer of ``run_code``. All but ``value`` and ``logs`` is the gateway's own record."""

    value: Any
    logs: tuple[str, ...]
    citations: tuple[Cited, ...]
    complete: bool
    truncation: tuple[LeftOut, ...]
    usage: dict[str, int]
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    vault: dict[str, Any]
    index: dict[str, Any]
    ledger: dict[str, Any]
    backup: dict[str, Any]
    pending: tuple[PlanRow, ...]
    exchange: bool
    undoable: float
    versions: dict[str, Any]
    client: dict[str, Any]
    warnings: tuple[Warn, ...] = field(default=())
