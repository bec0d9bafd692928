"""A passing look at a ledger, for whoever must not wait and must not change it: what landed lately, what is pending.

Opened for reading alone: a file of an older schema is not migrated, and one that is not there is not made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import apsw

from muninn.model.change import Change
from muninn.model.content import MISSING, NotePath

from .file import as_ledger_errors
from .plans import changes_at, opened
from .records import Entry, read_body
from .verify import opened as opened_for_reading

_ROWS: Final = 400
"""Newest rows that are looked at, whatever they are."""

LATELY: Final = (
    "SELECT kind, at, client, body, seq FROM rows WHERE seq > ? AND kind IN ('end', 'external') ORDER BY seq DESC"
)


@dataclass(frozen=True, slots=True)
class Touched:
    """A path that something landed on: when (RFC 3339, UTC), and what.

    ``client`` is None for what came ``around`` the door, and for what the owner did at the machine.
    """

    path: NotePath
    at: str
    client: str | None
    what: Literal["new", "changed", "gone"]
    around: bool


@dataclass(frozen=True, slots=True)
class Peek:
    """What landed in the newest rows, newest first, a path once; and all plans without an end, oldest first."""

    lately: tuple[Touched, ...]
    pending: tuple[Entry, ...]


def peek(file: Path) -> Peek:
    """Look at the newest rows of a ledger. Raises LedgerUnavailableError where it cannot be read."""
    with as_ledger_errors("be looked at"), closing(opened_for_reading(file)) as reader:
        seen: dict[NotePath, Touched] = {}
        for one in _landed(reader):
            seen.setdefault(one.path, one)
        return Peek(tuple(seen.values()), tuple(opened(reader)))


def _landed(reader: apsw.Connection) -> Iterator[Touched]:
    row: Any = reader.execute("SELECT max(seq) FROM rows").fetchone()
    rows: Any = reader.execute(LATELY, ((row[0] or 0) - _ROWS,)).fetchall()
    for kind, at, client, body, seq in rows:
        changes = changes_at(reader, seq) if kind == "external" else _of_end(reader, read_body(body))
        for change in changes:
            what = _what(change.before is MISSING, change.after is MISSING)
            yield Touched(change.path, at, client, what, kind == "external")


def _of_end(reader: apsw.Connection, ended: Mapping[str, Any]) -> tuple[Change, ...]:
    """What the end of a plan says to have landed of its note; what follows in a plan is the line in a folder's page."""
    if ended["state"] == "refused":
        return ()
    return tuple(change for change in changes_at(reader, ended["plan"])[:1] if change.path in ended["landed"])


def _what(was_missing: bool, is_missing: bool) -> Literal["new", "changed", "gone"]:
    if is_missing:
        return "gone"
    return "new" if was_missing else "changed"
