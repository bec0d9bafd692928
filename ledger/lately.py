"""What happened lately, whoever did it and wherever: the newest rows, as deeds. Looks at a bounded number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import apsw

from muninn.model.change import Change, Kind
from muninn.model.content import NotePath

from .plans import changes_at
from .records import read_body, row_id

Bound = Literal["claim", "retract", "summary"]
"""What is no change of a file: a claim, its end, the registration of a summary."""

_ROWS: Final = (
    "SELECT r.seq, r.kind, r.at, r.client, r.chain, r.body, p.seq, p.body FROM rows r LEFT JOIN rows p"
    " ON p.seq = CASE WHEN r.kind = 'end' THEN json_extract(r.body, '$.plan') END"
    " WHERE r.seq < ? AND r.seq >= ? AND r.kind IN ('end', 'external', 'claim', 'retract', 'summary')"
    " ORDER BY r.seq DESC"
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
    found = [_deed(reader, row) for row in reader.execute(_ROWS, (top, floor)).fetchall()]
    return [deed for deed in found if deed is not None], floor if floor > 1 else 0


def _newest(reader: apsw.Connection) -> int:
    return int(reader.execute("SELECT coalesce(max(seq), 0) FROM rows").get)


def _deed(reader: apsw.Connection, row: Any) -> Deed | None:
    seq, kind, at, client, chained, body, plan_seq, plan_body = row
    own = read_body(body)
    match kind:
        case "end":
            if own["state"] == "refused" or not own["landed"]:
                return None
            plan, landed = read_body(plan_body), frozenset(own["landed"])
            changes = tuple(change for change in changes_at(reader, plan_seq) if change.path in landed)
            made, path = Kind(plan["kind"]), NotePath(plan["path"])
            return Deed(seq, row_id("ev", seq, chained), at, client, made, path, changes, plan["reason"], plan["note"])
        case "external":
            changes, path = changes_at(reader, seq), NotePath(own["path"])
            return Deed(seq, row_id("ev", seq, chained), at, client, Kind.EXTERNAL, path, changes, None, None)
        case _:
            sources = tuple(NotePath(source) for source, _ in own.get("sources", ()))
            reason = own.get("reason")
            return Deed(
                seq, row_id("ev", seq, chained), at, client, kind, NotePath(own["path"]), (), reason, None, sources
            )
