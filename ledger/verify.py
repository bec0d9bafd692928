"""Replay the whole chain and hash every kept byte again: what was changed, removed, inserted or swapped is found.

All of it is read in one transaction, so that a ledger that is being written to gives no false alarm.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from muninn.model.content import ContentHash

from . import chain, shape
from .blobs import base_of, unpacked
from .file import LedgerDamagedError, as_ledger_errors
from .records import read_body

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the replay found. ``faults`` name the row or the kept bytes each; none means that all of it holds."""

    rows: int
    events: int
    contents: int
    head: str
    faults: tuple[str, ...]


def verify(file: Path, progress: Progress | None = None) -> Verdict:
    """Check a ledger file without changing it. ``progress`` is told (done, all) rows and contents.

    A file that SQLite cannot read at all gives a verdict with that fault, not an exception.
    """
    walk = _Walk()
    return _verdict(walk, _faults(file, walk, progress or _silent))


def verify_through(connection: apsw.Connection, file: Path, progress: Progress | None = None) -> Verdict:
    """The same through a connection that is open already; it must not be in a transaction."""
    walk = _Walk()
    return _verdict(walk, _all_of(connection, file, walk, progress or _silent))


def _verdict(walk: _Walk, faults: Iterator[str]) -> Verdict:
    found = []
    try:
        for fault in faults:
            found.append(fault)
    except apsw.Error as error:
        found.append(f"SQLite cannot read the ledger: {type(error).__name__.removesuffix('Error')}")
    except (UnicodeDecodeError, OSError) as error:
        found.append(f"the ledger cannot be read: {type(error).__name__.removesuffix('Error')}")
    return Verdict(walk.seq, walk.events, walk.contents, walk.previous.hex(), tuple(found))


def first_fault(file: Path, progress: Progress | None = None) -> str | None:
    """The first fault that ``verify`` would find, as soon as it is met; None where all of it holds.

    Raises LedgerDamagedError for a file that is no whole SQLite file, LedgerUnavailableError where it cannot be read.
    """
    with as_ledger_errors("be verified"), closing(_faults(file, _Walk(), progress or _silent)) as found:
        return next(found, None)


def _silent(done: int, total: int | None) -> None:
    """Where nobody asked how far it is."""


def _faults(file: Path, walk: _Walk, progress: Progress) -> Generator[str, None, None]:
    if not file.exists():
        yield "there is no ledger file"
        return
    with closing(opened(file)) as connection:
        yield from _all_of(connection, file, walk, progress)


def _all_of(connection: apsw.Connection, file: Path, walk: _Walk, progress: Progress) -> Iterator[str]:
    connection.execute("BEGIN")
    yield from shape.faults(connection, file)
    yield from _replay(connection, walk, progress)


def opened(file: Path) -> apsw.Connection:
    """A connection that cannot change the file."""
    connection = apsw.Connection(
        f"{file.absolute().as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    connection.set_busy_timeout(5000)
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _replay(connection: apsw.Connection, walk: _Walk, progress: Progress) -> Iterator[str]:
    """Walk over rows and kept bytes, and give what is found."""
    rows, total = _count(connection, "rows"), _count(connection, "rows") + _count(connection, "blobs")
    changes = _Changes(connection)
    query = "SELECT seq, kind, at, client, events, open, body, chain FROM rows ORDER BY seq"
    for done, row in enumerate(connection.execute(query)):
        yield from walk.take(row, changes.of(row[0]))
        if done % 500 == 0:
            progress(done, total)
    kept: set[bytes] = set()
    for done, (digest, fault) in enumerate(_contents(connection), 1):
        kept.add(digest)
        if fault is not None:
            yield fault
        if done % 500 == 0:
            progress(rows + done, total)
    progress(total, total)
    walk.contents = len(kept)
    yield from walk.lookups(connection)
    yield from walk.missing(kept)


class _Changes:
    """The changes of all rows, read along with them in one pass."""

    def __init__(self, connection: apsw.Connection) -> None:
        rows = connection.execute("SELECT seq, n, path, before, after, mode FROM changes ORDER BY seq, n")
        self._groups = itertools.groupby(rows, key=lambda row: row[0])
        self._next: tuple[Any, list[Any]] | None = self._read()

    def of(self, seq: int) -> list[Any]:
        """The changes of a row; rows are asked for in their order."""
        while self._next is not None and self._next[0] < seq:
            self._next = self._read()
        if self._next is None or self._next[0] != seq:
            return []
        found, self._next = self._next[1], self._read()
        return found

    def _read(self) -> tuple[Any, list[Any]] | None:
        group = next(self._groups, None)
        return None if group is None else (group[0], [row[1:] for row in group[1]])


class _Walk:
    """The state of the replay: where it is, and what the look-ups should hold by what the rows say."""

    def __init__(self) -> None:
        self.seq = 0
        self.events = 0
        self.open = 0
        self.previous = chain.START
        self.contents = 0
        self.ends: set[tuple[int, int, int]] = set()
        self.requests: set[tuple[str, str, int]] = set()
        self.pendings: set[tuple[str, int]] = set()
        self.needed: dict[bytes, int] = {}
        """The last row that says that bytes were kept."""
        self.purged: dict[bytes, int] = {}

    def take(self, row: Any, changes: list[Any]) -> Iterator[str]:
        """The next row, with its changes. Gives what does not fit."""
        seq, kind, at, client, events, opened, body, stored = row
        if seq != self.seq + 1:
            yield f"row {self.seq + 1}: missing before row {seq}"
        if chain.link(self.previous, (seq, kind, at, client, events, opened, body), changes) != stored:
            yield f"row {seq}: its content or its place does not fit the chain"
        self.seq, self.previous = seq, stored if isinstance(stored, bytes) else chain.START
        try:
            self._count(seq, kind, client, read_body(body), changes)
        except (LedgerDamagedError, ValueError, KeyError, TypeError):
            yield f"row {seq}: its body cannot be read"
        if (events, opened) != (self.events, self.open):
            yield f"row {seq}: its counters do not fit the rows before it"
            self.events, self.open = events, opened

    def _count(self, seq: int, kind: str, client: str | None, body: dict[str, Any], changes: list[Any]) -> None:
        named = [bytes.fromhex(digest) for digest in body.get("kept", ())]
        if kind == "plan":
            self.open += 1
            self.pendings.add((body["pending_id"], seq))
            if body["request"] and client is not None:
                self.requests.add((client, body["request"]["id"], seq))
            named += [side for change in changes for side in change[2:4] if isinstance(side, bytes)]
        elif kind == "end":
            self.open -= 1
            self.ends.add((body["plan"], int(body["at_start"]), seq))
            self.events += 1 if body["landed"] and body["state"] != "refused" else 0
        elif kind == "external":
            self.events += 1
        elif kind in ("claim", "retract", "summary"):
            if body["request"] and client is not None:
                self.requests.add((client, body["request"]["id"], seq))
        elif kind == "purge":
            self.purged.update((bytes.fromhex(digest), seq) for digest in body["hashes"])
        self.needed.update((digest, seq) for digest in named)

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

    def missing(self, kept: set[bytes]) -> list[str]:
        """Bytes that a row says were kept and that are not there, and purged ones that are there nevertheless."""
        gone = sorted(
            digest for digest, seq in self.needed.items() if digest not in kept and self.purged.get(digest, 0) < seq
        )
        there = sorted(
            digest for digest, seq in self.purged.items() if digest in kept and self.needed.get(digest, 0) < seq
        )
        return [f"kept bytes {digest.hex()}: they are gone" for digest in gone] + [
            f"kept bytes {digest.hex()}: they were purged, and are there" for digest in there
        ]


def _contents(connection: apsw.Connection) -> Iterator[tuple[bytes, str | None]]:
    """The hash of all kept bytes, each with what is wrong with them."""
    for digest, size, packed in connection.execute("SELECT hash, size, packed FROM blobs ORDER BY id"):
        if not isinstance(digest, bytes):
            yield b"", "kept bytes: their hash is none"
            continue
        content = unpacked(size, packed, base_of(connection, packed))
        if content is None:
            yield digest, f"kept bytes {digest.hex()}: they cannot be unpacked"
        else:
            whole = ContentHash.of(content) == digest.hex()
            yield digest, None if whole else f"kept bytes {digest.hex()}: they do not have this hash"


def _count(connection: apsw.Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(row[0]) if row else 0
