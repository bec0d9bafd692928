"""The ledger's file: open it, keep a plan, end it, and ask what happened.

Each method is one transaction. What ``open_entry`` returns is durable. Nothing of the chain's head is
remembered between calls, so that commands may write beside a running gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import apsw

from muninn.model import seams
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, Basis, ContentHash, NotePath

from . import blobs, chain
from .file import VERSION, File, as_ledger_errors
from .records import Entry, Event, PlanState, Terms, basis_from, basis_to, body_of, read_body, terms_from

_LATELY: Final = timedelta(seconds=30)


class Ledger:
    """One ledger file. Safe to use from several threads: one writes at a time, each reads on its own connection."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet; a file that cannot be is said by the first call that needs it."""
        self._file = File(path)

    # --- its own state ----------------------------------------------------------------------------

    @property
    def vault_id(self) -> str | None:
        """The vault this ledger belongs to, None while it is new."""
        row = self._one("SELECT body FROM rows WHERE seq = 1")
        return None if row is None else str(read_body(row[0])["vault"])

    def belong_to(self, vault_id: str) -> None:
        """Bind a new ledger to its vault; nothing where it is bound already."""
        with self._file.transaction("bind the vault") as writer:
            if writer.execute("SELECT 1 FROM rows").fetchone() is None:
                _append(writer, "vault", None, {"vault": vault_id, "version": VERSION}, (), (0, 0))

    def head(self) -> tuple[int, int, str]:
        """Events so far, plans that are open, and the chain's head in hex."""
        row = self._one("SELECT events, open, chain FROM rows ORDER BY seq DESC LIMIT 1")
        return (0, 0, chain.START.hex()) if row is None else (row[0], row[1], row[2].hex())

    def close(self) -> None:
        """Close every connection."""
        self._file.close()

    # --- a plan -----------------------------------------------------------------------------------

    def open_entry(self, terms: Terms, changes: Sequence[Change], contents: Mapping[ContentHash, bytes]) -> Entry:
        """Keep a plan and all bytes it needs, durably, before the first file is touched."""
        with self._file.transaction("keep the plan") as writer:
            blobs.keep(writer, contents)
            events, opened = _head(writer)
            seq, at = _append(writer, "plan", terms.client, body_of(terms), changes, (events, opened + 1))
            writer.execute("INSERT INTO pendings VALUES (?, ?)", (terms.pending_id, seq))
            if terms.request is not None and terms.client is not None:
                writer.execute("INSERT INTO requests VALUES (?, ?, ?)", (terms.client, terms.request.id, seq))
            seams.at("ledger.commit")
        return Entry(seq, at, terms, tuple(changes), "pending", (), None, False)

    def settle(
        self,
        entry: Entry,
        state: Literal["committed", "superseded", "refused"],
        landed: Sequence[NotePath],
        *,
        at_start: bool = False,
        found: Mapping[ContentHash, bytes] | None = None,
    ) -> str | None:
        """End a plan with a row of its own. Gives the event's id, None where nothing landed.

        ``found`` are bytes that somebody else had put in the way; they are kept in the same transaction.
        """
        with self._file.transaction("end the plan") as writer:
            blobs.keep(writer, found or {})
            events, opened = _head(writer)
            is_event = bool(landed) and state != "refused"
            body: dict[str, Any] = {"plan": entry.seq, "state": state, "landed": list(landed), "at_start": at_start}
            if found:
                body["kept"] = sorted(found)
            counters = (events + is_event, opened - 1)
            seq, _ = _append(writer, "end", entry.terms.client, body, (), counters)
            writer.execute("INSERT INTO ends VALUES (?, ?, ?)", (entry.seq, seq, int(at_start)))
            seams.at("ledger.settle")
        return self._event_id(seq) if is_event else None

    def entry(self, pending_id: str) -> Entry | None:
        """The plan with this id, in its present state."""
        row = self._one("SELECT seq FROM pendings WHERE pending_id = ?", (pending_id,))
        return None if row is None else self._entry(row[0])

    def request(self, client: str, request_id: str) -> Entry | None:
        """The plan a client made under this request id; refused ones are not kept."""
        rows = self._all(
            "SELECT seq FROM requests WHERE client = ? AND request_id = ? ORDER BY seq DESC", (client, request_id)
        )
        entries = (self._entry(row[0]) for row in rows)
        return next((entry for entry in entries if entry.state != "refused"), None)

    def open_entries(self) -> list[Entry]:
        """Plans without an end, oldest first. Costs nothing where there are none."""
        count = self.head()[1]
        found: list[Entry] = []
        if count > 0:
            query = "SELECT seq FROM rows WHERE kind = 'plan' AND seq NOT IN (SELECT plan FROM ends) ORDER BY seq DESC"
            for row in self._rows(query):
                found.append(self._entry(row[0]))
                if len(found) == count:
                    break
        return found[::-1]

    def settled_at_start(self, client: str, limit: int) -> list[Entry]:
        """Plans of a client that a start has ended, newest first."""
        query = (
            "SELECT e.plan FROM ends e JOIN rows r ON r.seq = e.seq"
            " WHERE e.at_start = 1 AND r.client = ? ORDER BY e.seq DESC LIMIT ?"
        )
        return [self._entry(row[0]) for row in self._all(query, (client, limit))]

    # --- what came around the door ----------------------------------------------------------------

    def witness(self, found: Sequence[Change], contents: Mapping[ContentHash, bytes]) -> list[str]:
        """Record changes that somebody made around the door: one event each, client unknown. Gives their ids."""
        events: list[int] = []
        with self._file.transaction("record what came around the door") as writer:
            blobs.keep(writer, contents)
            for change in found:
                counted, opened = _head(writer)
                body = {"kind": Kind.EXTERNAL.value, "path": change.path}
                events.append(_append(writer, "external", None, body, [change], (counted + 1, opened))[0])
        return [self._event_id(seq) for seq in events]

    def begin_with(self, notes: Sequence[Change], contents: Mapping[ContentHash, bytes], *, complete: bool) -> None:
        """Note what the first scan found, without an event: each change says that a path holds what it held.

        ``contents`` are the bytes to be kept of it; ``complete`` says that all notes have been noted by now.
        """
        with self._file.transaction("keep the baseline") as writer:
            blobs.keep(writer, contents)
            _append(writer, "baseline", None, {"complete": complete}, notes, _head(writer))

    def has_begun(self) -> bool:
        """Whether a first scan has noted all that was there; files found later came around the door."""
        row = self._one("SELECT body FROM rows WHERE kind = 'baseline' ORDER BY seq DESC LIMIT 1")
        return row is not None and bool(read_body(row[0])["complete"])

    def last(self, path: NotePath) -> tuple[Basis, bool] | None:
        """What a path was last known to hold, and whether that came around the door; None for an unknown path."""
        query = (
            "SELECT r.kind, c.after, e.body FROM changes c JOIN rows r ON r.seq = c.seq"
            " LEFT JOIN ends x ON x.plan = c.seq LEFT JOIN rows e ON e.seq = x.seq"
            " WHERE c.path = ? ORDER BY c.seq DESC"
        )
        for kind, after, end in self._rows(query, (path,)):
            if kind == "plan":
                ended = read_body(end) if end is not None else None
                if ended is None or ended["state"] == "refused" or path not in ended["landed"]:
                    continue
            return basis_from(after), kind == "external"
        return None

    def keep_found(self, contents: Mapping[ContentHash, bytes]) -> None:
        """Keep bytes that a crash left in a temp file and that nobody knows, in a row of their own."""
        if contents:
            with self._file.transaction("keep what a crash left") as writer:
                blobs.keep(writer, contents)
                _append(writer, "found", None, {"kept": sorted(contents)}, (), _head(writer))
                seams.at("ledger.commit")

    def lately_touched(self) -> list[NotePath]:
        """Paths of plans that are open, or that ended in the last moments before the newest row: where a crash may
        have left a temp file."""
        paths = [change.path for entry in self.open_entries() for change in entry.changes]
        newest: datetime | None = None
        for seq, at in self._rows("SELECT seq, at FROM rows WHERE kind = 'plan' ORDER BY seq DESC"):
            made = datetime.fromisoformat(at)
            newest = newest or made
            if newest - made > _LATELY:
                break
            paths += [change.path for change in self._changes(seq)]
        return paths

    def known_paths(self) -> list[NotePath]:
        """Every path that any row names."""
        return [NotePath(row[0]) for row in self._rows("SELECT DISTINCT path FROM changes")]

    def between(self, client: str | None, since: str, until: str) -> list[NotePath]:
        """Paths of events by this client (None: around the door) between two times (RFC 3339, UTC), newest first."""
        kind = "external" if client is None else "end"
        query = "SELECT seq, at, kind, client, body FROM rows ORDER BY seq DESC"
        paths: dict[NotePath, None] = {}
        for seq, at, found, by, body in self._rows(query):
            if at < since:
                break
            if at > until or found != kind or by != client:
                continue
            touched = [change.path for change in self._changes(seq)] if client is None else read_body(body)["landed"]
            paths.update((NotePath(path), None) for path in touched)
        return list(paths)

    # --- history ----------------------------------------------------------------------------------

    def history(self, path: NotePath, below: int | None, limit: int) -> list[Event]:
        """Events of a path, newest first; ``below`` is the ``seq`` of the last one seen."""
        query = (
            "SELECT r.seq, r.kind, r.at, r.client, r.body, c.n, c.before, c.after, c.mode, e.seq, e.at, e.body"
            " FROM changes c JOIN rows r ON r.seq = c.seq LEFT JOIN ends x ON x.plan = c.seq"
            " LEFT JOIN rows e ON e.seq = x.seq WHERE c.path = ? AND c.seq < ? ORDER BY c.seq DESC"
        )
        events: list[Event] = []
        for row in self._rows(query, (path, below if below is not None else 1 << 62)):
            event = self._event(path, row)
            if event is not None:
                events.append(event)
                if len(events) == limit:
                    break
        return events

    def rows(self, since: int, limit: int) -> list[dict[str, Any]]:
        """Rows after ``since``, oldest first, each with its changes, as JSON values: what an export is made of."""
        query = "SELECT seq, kind, at, client, events, open, body, chain FROM rows WHERE seq > ? ORDER BY seq LIMIT ?"
        return [self._exported(row) for row in self._all(query, (since, limit))]

    def keeps(self, digest: ContentHash) -> bool:
        """Whether the bytes with this hash are kept."""
        with as_ledger_errors("be read"):
            return blobs.holds(self._file.reader(), digest)

    def content(self, digest: ContentHash) -> bytes | None:
        """Kept bytes by their hash, None where they are not kept. Raises LedgerUnavailableError if they are damaged."""
        with as_ledger_errors("be read"):
            return blobs.content(self._file.reader(), digest)

    def revision(self, path: NotePath, text: str) -> tuple[ContentHash, int | None] | None:
        """A revision of this path as clients name it: a kept hash, or the id of an event (the bytes it ended)."""
        digest = ContentHash.parse(text)
        if digest is None:
            return self._ended_by(path, text)
        raw = bytes.fromhex(digest)
        query = "SELECT mode FROM changes WHERE path = ? AND (before = ? OR after = ?) ORDER BY seq DESC LIMIT 1"
        row = self._one(query, (path, raw, raw))
        return (digest, row[0]) if row is not None and self.keeps(digest) else None

    # --- inside -----------------------------------------------------------------------------------

    def _rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        with as_ledger_errors("be read"):
            yield from self._file.reader().execute(query, values)

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self._rows(query, values))

    def _one(self, query: str, values: Sequence[Any] = ()) -> Any:
        return next(iter(self._rows(query, values)), None)

    def _changes(self, seq: int) -> tuple[Change, ...]:
        rows = self._all("SELECT path, before, after, mode FROM changes WHERE seq = ? ORDER BY n", (seq,))
        return tuple(Change(NotePath(row[0]), basis_from(row[1]), basis_from(row[2]), row[3]) for row in rows)

    def _entry(self, seq: int) -> Entry:
        at, client, body = self._one("SELECT at, client, body FROM rows WHERE seq = ?", (seq,))
        terms, changes = terms_from(read_body(body), client), self._changes(seq)
        end = self._one("SELECT r.seq, r.body FROM ends e JOIN rows r ON r.seq = e.seq WHERE e.plan = ?", (seq,))
        if end is None:
            return Entry(seq, at, terms, changes, "pending", (), None, False)
        ended = read_body(end[1])
        state: PlanState = ended["state"]
        landed = tuple(NotePath(path) for path in ended["landed"])
        event = self._event_id(end[0]) if landed and state != "refused" else None
        return Entry(seq, at, terms, changes, state, landed, event, bool(ended["at_start"]))

    def _event(self, path: NotePath, row: Any) -> Event | None:
        seq, kind, at, client, body, n, before, after, mode, end_seq, end_at, end_body = row
        if kind == "baseline":
            return None
        found = read_body(body)
        if kind == "plan":
            if end_seq is None:
                return None
            ended = read_body(end_body)
            if ended["state"] == "refused" or path not in ended["landed"]:
                return None
        shown = Kind(found["kind"]) if n == 0 or kind == "external" else Kind.INDEX
        return Event(
            self._event_id(end_seq or seq),
            end_at or at,
            client,
            shown,
            path,
            basis_from(before),
            basis_from(after),
            mode,
            found.get("reason") if n == 0 else None,
            found.get("note") if n == 0 else None,
            seq,
        )

    def _event_id(self, seq: int) -> str:
        (digest,) = self._one("SELECT chain FROM rows WHERE seq = ?", (seq,))
        return f"ev-{seq}-{digest.hex()[:12]}"

    def _ended_by(self, path: NotePath, event: str) -> tuple[ContentHash, int | None] | None:
        parts = event.split("-")
        if (
            len(parts) != 3
            or parts[0] != "ev"
            or not parts[1].isascii()
            or not parts[1].isdigit()
            or len(parts[1]) > 18
        ):
            return None
        seq = int(parts[1])
        row = self._one("SELECT kind, body FROM rows WHERE seq = ?", (seq,))
        if row is None or row[0] not in ("end", "external") or self._event_id(seq) != event:
            return None
        body = read_body(row[1])
        if row[0] == "end" and (body["state"] == "refused" or path not in body["landed"]):
            return None
        changes = self._changes(body["plan"] if row[0] == "end" else seq)
        change = next((change for change in changes if change.path == path), None)
        if change is None or change.before is MISSING or not self.keeps(change.before):
            return None
        return change.before, change.mode

    def _exported(self, row: Any) -> dict[str, Any]:
        seq, kind, at, client, events, opened, body, digest = row
        changes = [
            {"path": c.path, "before": str(c.before), "after": str(c.after), "mode": c.mode} for c in self._changes(seq)
        ]
        shown = {"seq": seq, "kind": kind, "at": at, "client": client, "events": events, "open": opened}
        return shown | {"body": read_body(body), "changes": changes, "chain": digest.hex()}


def _head(writer: apsw.Connection) -> tuple[int, int]:
    """Events and open plans so far, read inside the transaction."""
    row = writer.execute("SELECT events, open FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _append(
    writer: apsw.Connection,
    kind: str,
    client: str | None,
    body: Mapping[str, Any],
    changes: Sequence[Change],
    counters: tuple[int, int],
) -> tuple[int, str]:
    """Add one row to the chain, with its changes. Gives its number and its time."""
    last = writer.execute("SELECT seq, chain FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    seq, previous = (1, chain.START) if last is None else (last[0] + 1, last[1])
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    row = (seq, kind, at, client, *counters, chain.canonical(body))
    stored = [(n, c.path, basis_to(c.before), basis_to(c.after), c.mode) for n, c in enumerate(changes)]
    writer.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, chain.link(previous, row, stored)))
    for change in stored:
        writer.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)", (seq, *change))
    return seq, at
