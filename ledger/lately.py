"""What happened lately, whoever did it and wherever: the newest rows, as deeds. Looks at a bounded number of rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Final, Literal

import apsw

from muninn.model.change import Change, Kind
from muninn.model.content import NotePath

from .records import basis_from, read_body, row_id

Bound = Literal["claim", "retract", "summary"]
"""What is no change of a file: a claim, its end, the registration of a summary."""

_ROWS: Final = (
    "SELECT r.seq, r.kind, r.at, r.client, r.chain, r.body, p.body, c.path, c.before, c.after, c.mode FROM rows r"
    " LEFT JOIN rows p ON p.seq = CASE WHEN r.kind = 'end' THEN json_extract(r.body, '$.plan') END"
    " LEFT JOIN changes c ON c.seq = coalesce(p.seq, r.seq)"
    " WHERE r.seq < ? AND r.seq >= ? AND r.kind IN ('end', 'external', 'claim', 'retract', 'summary')"
    " ORDER BY r.seq DESC, c.n"
)


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that was done. ``client`` None: around the door, or by the owner's own command.

    ``path`` is what it was done to, ``changes`` what landed (none for what is only bound to a path), ``sources`` the
    sources of a summary that was registered.
    """

    seq: int
    id: str
    at: str
    client: str | None
    kind: Kind | Bound
    path: NotePath
    changes: tuple[Change, ...]
    reason: str | None
    note: str | None
    sources: tuple[NotePath, ...] = ()


def deeds(reader: apsw.Connection, below: int | None, rows: int) -> tuple[list[Deed], int]:
    """Deeds among the ``rows`` rows before ``below`` (None: the newest), newest first, and where to go on; 0: nowhere.

    Plans that were refused, or of which nothing landed, are none.
    """
    top = below if below is not None else _newest(reader) + 1
    floor = max(1, top - rows)
    together = itertools.groupby(reader.execute(_ROWS, (top, floor)), key=lambda row: row[0])
    found = [_deed(list(group)) for _, group in together]
    return [deed for deed in found if deed is not None], floor if floor > 1 else 0


def _newest(reader: apsw.Connection) -> int:
    return int(reader.execute("SELECT coalesce(max(seq), 0) FROM rows").get)


def _deed(rows: list[Any]) -> Deed | None:
    """One deed from its row, which comes once for each of its changes."""
    seq, kind, at, client, chained, body, plan_body, *_ = rows[0]
    own, name = read_body(body), row_id("ev", seq, chained)
    match kind:
        case "end":
            if own["state"] == "refused" or not own["landed"]:
                return None
            plan = read_body(plan_body)
            changes = tuple(change for change in map(_change, rows) if change.path in own["landed"])
            made, path = Kind(plan["kind"]), NotePath(plan["path"])
            return Deed(seq, name, at, client, made, path, changes, plan["reason"], plan["note"])
        case "external":
            changes = tuple(map(_change, rows))
            return Deed(seq, name, at, client, Kind.EXTERNAL, NotePath(own["path"]), changes, None, None)
        case _:
            sources = tuple(NotePath(source) for source, _ in own.get("sources", ()))
            return Deed(seq, name, at, client, kind, NotePath(own["path"]), (), own.get("reason"), None, sources)


def _change(row: Any) -> Change:
    path, before, after, mode = row[7:]
    return Change(NotePath(path), basis_from(before), basis_from(after), mode)
