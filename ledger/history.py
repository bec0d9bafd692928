"""What happened to a path: its events, what it last held, which of its revisions can be had, and who did what when."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, Final

import apsw

from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, Basis, ContentHash, NotePath

from . import blobs
from .plans import changes_at, opened
from .records import Event, basis_from, event_id, read_body

_LATELY: Final = timedelta(seconds=30)
_EVENT: Final = re.compile(r"ev-([0-9]{1,18})-[0-9a-f]{12}\Z")

TOGETHER: Final = 16
"""An end stands this far from its plan at most where all went well: so many plans are kept together, and then ended."""

_KIND, _AFTER, _END, _END_BODY, _OPEN = 1, 7, 9, 11, 12
_COLUMNS: Final = "r.seq, r.kind, r.at, r.client, r.body, c.n, c.before, c.after, c.mode, e.seq, e.at, e.body, r.open"
OF_PATH: Final = (
    f"SELECT {_COLUMNS} FROM changes c JOIN rows r ON r.seq = c.seq LEFT JOIN ends x ON x.plan = c.seq"
    " LEFT JOIN rows e ON e.seq = x.seq WHERE c.path = ? AND c.seq < ? ORDER BY c.seq DESC"
)
LATE: Final = (
    f"SELECT {_COLUMNS} FROM ends x CROSS JOIN changes c ON c.seq = x.plan CROSS JOIN rows r ON r.seq = c.seq"
    f" CROSS JOIN rows e ON e.seq = x.seq WHERE x.seq > x.plan + {TOGETHER} AND c.path = ? AND x.seq > ? AND x.seq < ?"
    " ORDER BY x.seq DESC"
)
"""Plans that were pending for a while, by their ends: the few whose place in the order is not that of their plan."""
BETWEEN: Final = (
    "SELECT seq, kind, body FROM rows WHERE kind IN ('end', 'external') AND kind = ? AND client IS ?"
    " AND at >= ? AND at <= ? ORDER BY at DESC, seq DESC"
)
REVISION: Final = "SELECT mode FROM changes WHERE path = ? AND (before = ? OR after = ?) ORDER BY seq DESC LIMIT 1"


def of_path(reader: apsw.Connection, path: NotePath, below: int | None, limit: int) -> list[Event]:
    """Events of a path, newest first; ``below`` is the ``seq`` of the last one seen."""
    return [_event(reader, path, row) for row in _landed_rows(reader, path, below, limit, baseline=False)]


def last(reader: apsw.Connection, path: NotePath) -> tuple[Basis, bool] | None:
    """What a path was last known to hold, and whether that came around the door; None for an unknown path."""
    for row in _landed_rows(reader, path, None, 1, baseline=True):
        return basis_from(row[_AFTER]), row[_KIND] == "external"
    return None


def _landed_rows(
    reader: apsw.Connection, path: NotePath, below: int | None, limit: int, *, baseline: bool
) -> list[tuple[Any, ...]]:
    """What landed on a path, newest first, in the order of the rows that say so: a plan's end, or the row itself.

    Plans are read in their own order, and their ends stand in that order as well, but for plans that were pending: up
    to ``TOGETHER`` rows later that is made good here, and what ended later still is looked for apart.
    """
    top, floor, late = below if below is not None else 1 << 62, 0, False
    found: list[tuple[Any, ...]] = []
    for row in reader.execute(OF_PATH, (path, top)):
        seq, event = row[0], _event_seq(row)
        if seq + TOGETHER < floor:
            late = True
            break
        late = late or event > seq + TOGETHER
        if floor < event < min(top, seq + TOGETHER + 1) and _has_landed(row, path, baseline):
            found.append(row)
            if floor == 0 and len(found) == limit:
                floor = min(map(_event_seq, found))
        # Where no other plan was open, all that is older had ended before.
        if floor and row[_OPEN] == (row[_KIND] == "plan"):
            break
    if late:
        found += [row for row in reader.execute(LATE, (path, floor, top)) if _has_landed(row, path, baseline)]
    return sorted(found, key=_event_seq, reverse=True)[:limit]


def _event_seq(row: tuple[Any, ...]) -> int:
    """The row that says that a change landed: the plan's end, or what came around the door."""
    return int(row[_END] or row[0])


def _has_landed(row: tuple[Any, ...], path: NotePath, baseline: bool) -> bool:
    kind = row[_KIND]
    return _landed(row[_END_BODY], path) if kind == "plan" else kind != "baseline" or baseline


def has_begun(reader: apsw.Connection) -> bool:
    """Whether a first scan has noted all that was there."""
    query = "SELECT body FROM rows WHERE kind = 'baseline' ORDER BY seq DESC LIMIT 1"
    row = reader.execute(query).fetchone()
    return row is not None and bool(read_body(row[0])["complete"])


def lately_touched(reader: apsw.Connection) -> list[NotePath]:
    """Paths of plans that are open, or that were made in the last moments before the newest one."""
    paths = [change.path for entry in opened(reader) for change in entry.changes]
    newest: datetime | None = None
    for seq, at in reader.execute("SELECT seq, at FROM rows WHERE kind = 'plan' ORDER BY seq DESC"):
        made = datetime.fromisoformat(at)
        newest = newest or made
        if newest - made > _LATELY:
            break
        paths += [change.path for change in changes_at(reader, seq)]
    return paths


def known_paths(reader: apsw.Connection) -> list[NotePath]:
    """Every path that any row names."""
    return [NotePath(row[0]) for row in reader.execute("SELECT DISTINCT path FROM changes")]


def between(reader: apsw.Connection, client: str | None, since: str, until: str) -> list[NotePath]:
    """Paths of events by this client (None: around the door) between two times (RFC 3339, UTC), newest first."""
    kind = "external" if client is None else "end"
    paths: dict[NotePath, None] = {}
    for seq, found, body in reader.execute(BETWEEN, (kind, client, since, until)):
        outside = found == "external"
        touched = [change.path for change in changes_at(reader, seq)] if outside else read_body(body)["landed"]
        paths.update((NotePath(path), None) for path in touched)
    return list(paths)


def revision(reader: apsw.Connection, path: NotePath, text: str) -> tuple[ContentHash, int | None] | None:
    """A revision of this path as clients name it: a kept hash, or the id of an event (the bytes it ended)."""
    digest = ContentHash.parse(text)
    if digest is None:
        change = next((change for change in changes_of(reader, text) or () if change.path == path), None)
        if change is None or change.before is MISSING or not blobs.holds(reader, change.before):
            return None
        return change.before, change.mode
    if not blobs.holds(reader, digest):
        return None
    raw = bytes.fromhex(digest)
    row = reader.execute(REVISION, (path, raw, raw)).fetchone()
    return None if row is None else (digest, row[0])


def changes_of(reader: apsw.Connection, event: str) -> tuple[Change, ...] | None:
    """What an event changed, as far as it landed; None where the text is the id of no event."""
    named = _EVENT.match(event)
    if named is None:
        return None
    seq = int(named[1])
    row = reader.execute("SELECT kind, body FROM rows WHERE seq = ?", (seq,)).fetchone()
    if row is None or row[0] not in ("end", "external") or event_id(reader, seq) != event:
        return None
    if row[0] == "external":
        return changes_at(reader, seq)
    plan = read_body(row[1])["plan"]
    return tuple(change for change in changes_at(reader, plan) if _landed(row[1], change.path)) or None


def _landed(end: str | None, path: NotePath) -> bool:
    """Whether the end of a plan says that the change of this path was carried out."""
    if end is None:
        return False
    ended = read_body(end)
    return ended["state"] != "refused" and path in ended["landed"]


def _event(reader: apsw.Connection, path: NotePath, row: tuple[Any, ...]) -> Event:
    seq, kind, at, client, body, n, before, after, mode, end_seq, end_at, *_ = row
    found = read_body(body)
    shown = Kind(found["kind"]) if n == 0 or kind == "external" else Kind.INDEX
    return Event(
        event_id(reader, end_seq or seq),
        end_at or at,
        client,
        shown,
        path,
        basis_from(before),
        basis_from(after),
        mode,
        found.get("reason") if n == 0 else None,
        found.get("note") if n == 0 else None,
        end_seq or seq,
    )


def rows(reader: apsw.Connection, since: int, limit: int) -> list[dict[str, Any]]:
    """Rows after ``since``, oldest first, each with its changes, as JSON values."""
    query = "SELECT seq, kind, at, client, events, open, body, chain FROM rows WHERE seq > ? ORDER BY seq LIMIT ?"
    return [_row(reader, row) for row in reader.execute(query, (since, limit)).fetchall()]


def _row(reader: apsw.Connection, row: Any) -> dict[str, Any]:
    seq, kind, at, client, events, opened, body, digest = row
    changes = [
        {"path": c.path, "before": str(c.before), "after": str(c.after), "mode": c.mode}
        for c in changes_at(reader, seq)
    ]
    shown = {"seq": seq, "kind": kind, "at": at, "client": client, "events": events, "open": opened}
    return shown | {"body": read_body(body), "changes": changes, "chain": digest.hex()}
