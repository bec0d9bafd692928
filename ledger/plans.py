"""The life of a plan: kept before the first file is touched, ended once, and found again by its ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import apsw

from muninn.model.change import Change
from muninn.model.content import ContentHash, NotePath

from . import blobs
from .append import append, counters, remember_request
from .file import LedgerDamagedError
from .records import Entry, PlanState, Terms, basis_from, body_of, event_id, read_body, terms_from

Ended = Literal["committed", "superseded", "refused"]


@dataclass(frozen=True, slots=True)
class Opening:
    """A plan that is to be kept: its terms, its changes in their order, and the bytes it needs by their hash."""

    terms: Terms
    changes: Sequence[Change]
    contents: Mapping[ContentHash, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a plan ends. ``found`` are bytes that somebody else had put in the way; they are kept with the end."""

    entry: Entry
    state: Ended
    landed: Sequence[NotePath]
    at_start: bool = False
    found: Mapping[ContentHash, bytes] = field(default_factory=dict, repr=False)


def keep(writer: apsw.Connection, opening: Opening) -> Entry:
    """Keep a plan and all bytes it needs, in the transaction that is open."""
    terms, changes = opening.terms, opening.changes
    sides = [(change.before, change.after) for change in changes]
    earlier = {after: was for was, after in sides if isinstance(was, ContentHash) and isinstance(after, ContentHash)}
    blobs.keep(writer, opening.contents, earlier)
    events, opened = counters(writer)
    seq, at = append(writer, "plan", terms.client, body_of(terms), changes, (events, opened + 1))
    writer.execute("INSERT INTO pendings VALUES (?, ?)", (terms.pending_id, seq))
    remember_request(writer, terms.client, terms.request, seq)
    return Entry(seq, at, terms, tuple(changes), "pending", (), None, False)


def end(writer: apsw.Connection, ending: Ending) -> str | None:
    """End a plan with a row of its own, in the transaction that is open. Gives the event's id, where it is one."""
    entry, landed = ending.entry, ending.landed
    blobs.keep(writer, ending.found)
    events, opened = counters(writer)
    is_event = bool(landed) and ending.state != "refused"
    body: dict[str, Any] = {
        "plan": entry.seq,
        "state": ending.state,
        "landed": list(landed),
        "at_start": ending.at_start,
    }
    if ending.found:
        body["kept"] = sorted(ending.found)
    seq, _ = append(writer, "end", entry.terms.client, body, (), (events + is_event, opened - 1))
    writer.execute("INSERT INTO ends VALUES (?, ?, ?)", (entry.seq, seq, int(ending.at_start)))
    return event_id(writer, seq) if is_event else None


def by_pending_id(reader: apsw.Connection, pending_id: str) -> Entry | None:
    """The plan with this id, in its present state."""
    row = reader.execute("SELECT seq FROM pendings WHERE pending_id = ?", (pending_id,)).fetchone()
    return None if row is None else entry_at(reader, row[0])


def by_request(reader: apsw.Connection, client: str, request_id: str) -> Entry | None:
    """The plan a client made under this request id; refused ones are not kept."""
    query = (
        "SELECT q.seq FROM requests q JOIN rows r ON r.seq = q.seq"
        " WHERE q.client = ? AND q.request_id = ? AND r.kind = 'plan' ORDER BY q.seq DESC"
    )
    entries = (entry_at(reader, row[0]) for row in reader.execute(query, (client, request_id)).fetchall())
    return next((entry for entry in entries if entry.state != "refused"), None)


def opened(reader: apsw.Connection) -> list[Entry]:
    """Plans without an end, oldest first. Costs nothing where there are none."""
    row = reader.execute("SELECT open FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    count = 0 if row is None else row[0]
    if count <= 0:
        return []
    query = "SELECT seq FROM rows WHERE kind = 'plan' AND seq NOT IN (SELECT plan FROM ends) ORDER BY seq DESC LIMIT ?"
    return [entry_at(reader, row[0]) for row in reader.execute(query, (count,)).fetchall()][::-1]


def settled_at_start(reader: apsw.Connection, client: str, limit: int) -> list[Entry]:
    """Plans of a client that a start has ended, newest first."""
    query = (
        "SELECT e.plan FROM ends e JOIN rows r ON r.seq = e.seq"
        " WHERE e.at_start = 1 AND r.client = ? ORDER BY e.seq DESC LIMIT ?"
    )
    return [entry_at(reader, row[0]) for row in reader.execute(query, (client, limit)).fetchall()]


def entry_at(reader: apsw.Connection, seq: Any) -> Entry:
    """The plan in this row."""
    row = reader.execute("SELECT at, client, body FROM rows WHERE seq = ?", (seq,)).fetchone()
    if row is None:
        raise LedgerDamagedError(f"the ledger is damaged: row {seq} is gone")
    at, client, body = row
    terms, changes = terms_from(read_body(body), client), changes_at(reader, seq)
    query = "SELECT r.seq, r.body FROM ends e JOIN rows r ON r.seq = e.seq WHERE e.plan = ?"
    ending = reader.execute(query, (seq,)).fetchone()
    if ending is None:
        return Entry(seq, at, terms, changes, "pending", (), None, False)
    ended = read_body(ending[1])
    state: PlanState = ended["state"]
    landed = tuple(NotePath(path) for path in ended["landed"])
    event = event_id(reader, ending[0]) if landed and state != "refused" else None
    return Entry(seq, at, terms, changes, state, landed, event, bool(ended["at_start"]))


def changes_at(reader: apsw.Connection, seq: int) -> tuple[Change, ...]:
    """The changes of a row, in their order."""
    rows = reader.execute("SELECT path, before, after, mode FROM changes WHERE seq = ? ORDER BY n", (seq,))
    return tuple(Change(NotePath(row[0]), basis_from(row[1]), basis_from(row[2]), row[3]) for row in rows)
