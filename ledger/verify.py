"""Replay the whole chain and hash every kept byte again: what was changed, removed, inserted or swapped is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import zstandard

from muninn.model.content import ContentHash

from . import chain
from .records import read_body


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the replay found. ``faults`` name the row or the kept bytes each; none means that all of it holds."""

    rows: int
    events: int
    contents: int
    head: str
    faults: tuple[str, ...]


def verify(file: Path, progress: Callable[[int, int | None], None] | None = None) -> Verdict:
    """Check a ledger file without changing it. ``progress`` is told (done, all) rows and contents.

    A file that SQLite cannot read at all gives a verdict with that fault, not an exception.
    """
    if not file.exists():
        return Verdict(0, 0, 0, chain.START.hex(), ("there is no ledger file",))
    try:
        connection = apsw.Connection(f"file:{file}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(5000)
        return _verdict(connection, progress or (lambda done, total: None))
    except apsw.Error as error:
        fault = f"SQLite cannot read the ledger: {type(error).__name__.removesuffix('Error')}"
        return Verdict(0, 0, 0, chain.START.hex(), (fault,))


def _verdict(connection: apsw.Connection, progress: Callable[[int, int | None], None]) -> Verdict:
    faults = [f"file: {row[0]}" for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    total = _count(connection, "rows") + _count(connection, "blobs")
    walk = _Walk()
    for done, row in enumerate(_rows(connection)):
        walk.take(connection, row)
        if done % 500 == 0:
            progress(done, total)
    contents = 0
    for contents, fault in enumerate(_damaged_contents(connection), 1):
        if fault is not None:
            faults.append(fault)
        if contents % 500 == 0:
            progress(walk.seq + contents, total)
    progress(total, total)
    faults += walk.faults + walk.lookups(connection) + _missing_contents(connection, walk.kept)
    return Verdict(walk.seq, walk.events, contents, walk.previous.hex(), tuple(faults))


class _Walk:
    """The state of the replay: where it is, and what the look-ups should hold by what the rows say."""

    def __init__(self) -> None:
        self.seq = 0
        self.events = 0
        self.open = 0
        self.previous = chain.START
        self.faults: list[str] = []
        self.ends: set[tuple[int, int, int]] = set()
        self.requests: set[tuple[str, str, int]] = set()
        self.pendings: set[tuple[str, int]] = set()
        self.kept: set[str] = set()

    def take(self, connection: apsw.Connection, row: Any) -> None:
        seq, kind, at, client, events, opened, body, stored = row
        if seq != self.seq + 1:
            self.faults.append(f"row {self.seq + 1}: missing before row {seq}")
        changes = list(
            connection.execute("SELECT n, path, before, after, mode FROM changes WHERE seq = ? ORDER BY n", (seq,))
        )
        if chain.link(self.previous, (seq, kind, at, client, events, opened, body), changes) != stored:
            self.faults.append(f"row {seq}: its content or its place does not fit the chain")
        self.seq, self.previous = seq, stored
        try:
            self._count(seq, kind, client, read_body(body))
        except (ValueError, KeyError, TypeError):
            self.faults.append(f"row {seq}: its body cannot be read")
        if (events, opened) != (self.events, self.open):
            self.faults.append(f"row {seq}: its counters do not fit the rows before it")
            self.events, self.open = events, opened

    def _count(self, seq: int, kind: str, client: str | None, body: dict[str, Any]) -> None:
        if kind == "plan":
            self.open += 1
            self.pendings.add((body["pending_id"], seq))
            if body["request"] and client is not None:
                self.requests.add((client, body["request"]["id"], seq))
        elif kind == "end":
            self.open -= 1
            self.ends.add((body["plan"], int(body["at_start"]), seq))
            self.events += 1 if body["landed"] and body["state"] != "refused" else 0
            self.kept |= set(body.get("kept", ()))
        elif kind == "external":
            self.events += 1
        elif kind == "found":
            self.kept |= set(body["kept"])

    def lookups(self, connection: apsw.Connection) -> list[str]:
        """Faults of the look-up tables: rows that the chain does not know, and the other way round."""
        faults = []
        for table, columns, expected in (
            ("ends", "plan, at_start, seq", self.ends),
            ("requests", "client, request_id, seq", self.requests),
            ("pendings", "pending_id, seq", self.pendings),
        ):
            found = set(connection.execute(f"SELECT {columns} FROM {table}"))
            faults += [f"table {table}: row {row[-1]} is not in the chain" for row in found - expected]
            faults += [f"table {table}: row {row[-1]} is gone" for row in expected - found]
        stray = connection.execute("SELECT DISTINCT seq FROM changes WHERE seq NOT IN (SELECT seq FROM rows)")
        return faults + [f"table changes: row {row[0]} is not in the chain" for row in stray]


def _rows(connection: apsw.Connection) -> Iterator[Any]:
    yield from connection.execute("SELECT seq, kind, at, client, events, open, body, chain FROM rows ORDER BY seq")


def _damaged_contents(connection: apsw.Connection) -> Iterator[str | None]:
    unpacker = zstandard.ZstdDecompressor()
    for digest, size, packed in connection.execute("SELECT hash, size, packed FROM blobs ORDER BY id"):
        try:
            content = unpacker.decompress(packed, max_output_size=max(size, 1))
        except zstandard.ZstdError:
            yield f"kept bytes {digest.hex()}: they cannot be unpacked"
            continue
        whole = len(content) == size and ContentHash.of(content) == digest.hex()
        yield None if whole else f"kept bytes {digest.hex()}: they do not have this hash"


def _missing_contents(connection: apsw.Connection, kept: set[str]) -> list[str]:
    """Bytes that a plan or its end says were kept, and that are not there."""
    query = (
        "SELECT DISTINCT h FROM (SELECT c.before AS h FROM changes c JOIN rows r ON r.seq = c.seq AND r.kind = 'plan'"
        " UNION SELECT c.after FROM changes c JOIN rows r ON r.seq = c.seq AND r.kind = 'plan')"
        " WHERE h IS NOT NULL AND h NOT IN (SELECT hash FROM blobs)"
    )
    gone = {row[0].hex() for row in connection.execute(query)}
    there = {row[0].hex() for row in connection.execute("SELECT hash FROM blobs")} if kept else set()
    return [f"kept bytes {digest}: they are gone" for digest in sorted(gone | (kept - there))]


def _count(connection: apsw.Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(row[0]) if row else 0
