"""The vectors of public notes, kept in a file of their own in the cache: disposable, and never a private note's.

A vector is kept under the SHA-256 of its passage, so a note that is edited costs only the passages that changed, and
two notes that share one share its vector. Numbers are float16, at length one. The file belongs to one model: another
model's key, a damaged file or another layout, and it is made anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import apsw

from .store import one

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

FILE: Final = "vectors.db"
MOST_IN_ALL: Final = 250_000
"""Passages that are kept: 192 MB in memory at 384 numbers each."""
_VERSION: Final = "1"
_ROWS_AT_ONCE: Final = 8_192
_WIDE_ROWS: Final = 32_768
"""Up to that many are held as float32, 50 MB: widening them took a third of a question's time (measured)."""
_TABLES: Final = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE notes(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, hash BLOB NOT NULL) STRICT;
CREATE TABLE held(note INTEGER NOT NULL, place INTEGER NOT NULL, passage BLOB NOT NULL, PRIMARY KEY(note, place))
    STRICT, WITHOUT ROWID;
CREATE INDEX held_passage ON held(passage);
CREATE TABLE vectors(passage BLOB PRIMARY KEY, vector BLOB NOT NULL) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Matrix:
    """All vectors at one moment. Passages of a note lie side by side; ``starts`` is where each note's begin."""

    paths: tuple[str, ...]
    hashes: tuple[str, ...]
    numbers: dict[str, int] = field(repr=False)
    starts: NDArray[numpy.intp] = field(repr=False)
    rows: NDArray[Any] = field(repr=False)

    def cosines(self, question: Iterable[float]) -> NDArray[numpy.float32]:
        """How near each note's best passage is to a question."""
        import numpy

        asked = numpy.asarray(list(question), dtype=numpy.float32)
        parts = [
            self.rows[begin : begin + _ROWS_AT_ONCE].astype(numpy.float32, copy=False) @ asked
            for begin in range(0, len(self.rows), _ROWS_AT_ONCE)
        ]
        best: NDArray[numpy.float32] = numpy.maximum.reduceat(numpy.concatenate(parts), self.starts)
        return best

    def place(self, path: str, question: Iterable[float]) -> int:
        """Which of a note's passages is the nearest to a question, from 0."""
        import numpy

        number = self.numbers[path]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.rows)
        own = self.rows[self.starts[number] : end].astype(numpy.float32, copy=False)
        return int(numpy.argmax(own @ numpy.asarray(list(question), dtype=numpy.float32)))


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file of vectors holds."""

    notes: int
    passages: int
    bytes: int


class Vectors:
    """The file. Used by one thread at a time; ``matrix`` is what others read."""

    def __init__(self, cache: Path, key: str, size: int) -> None:
        """Open the file in the cache, or make it. Raises apsw.Error or OSError where that cannot be."""
        self._file = cache / FILE
        self._size = size
        self._connection = _open(self._file, f"{_VERSION}-{key}-{size}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def known(self) -> dict[str, str]:
        """The hash that each note had when its vectors were made, by path."""
        found = self._connection.execute("SELECT path, lower(hex(hash)) FROM notes")
        return {str(path): str(digest) for path, digest in found}

    def count(self) -> int:
        """How many passages there are, those of two notes counted twice."""
        return int(one(self._connection, "SELECT count(*) FROM held")[0])

    def put(
        self,
        path: str,
        digest: str,
        passages: Sequence[str],
        encode: Callable[[list[int]], Sequence[Iterable[float]]],
    ) -> int:
        """Keep a note's vectors in place of those it had. ``encode`` makes those that are not known yet, by their
        numbers among the passages; gives how many that were."""
        keys = [hashlib.sha256(passage.encode()).digest() for passage in passages]
        missing = [
            number
            for number, key in enumerate(keys)
            if one(self._connection, "SELECT 1 FROM vectors WHERE passage=?", (key,)) is None
        ]
        made = [_packed(vector, self._size) for vector in encode(missing)] if missing else []
        with self._connection:
            self._forget(path)
            self._connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES(?, ?)",
                [(keys[number], vector) for number, vector in zip(missing, made, strict=True)],
            )
            self._connection.execute("INSERT INTO notes(path, hash) VALUES(?, ?)", (path, bytes.fromhex(digest)))
            note = self._connection.last_insert_rowid()
            self._connection.executemany(
                "INSERT INTO held VALUES(?, ?, ?)", [(note, place, key) for place, key in enumerate(keys)]
            )
            self._sweep()
        return len(missing)

    def drop(self, paths: Iterable[str]) -> None:
        """Take out notes, and the vectors that no other note shares."""
        with self._connection:
            for path in paths:
                self._forget(path)
            self._sweep()
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget(self, path: str) -> None:
        row = one(self._connection, "SELECT id FROM notes WHERE path=?", (path,))
        if row is not None:
            self._connection.execute("INSERT OR IGNORE INTO left_over SELECT passage FROM held WHERE note=?", (row[0],))
            self._connection.execute("DELETE FROM held WHERE note=?", (row[0],))
            self._connection.execute("DELETE FROM notes WHERE id=?", (row[0],))

    def _sweep(self) -> None:
        self._connection.execute(
            "DELETE FROM vectors WHERE passage IN"
            " (SELECT passage FROM left_over WHERE passage NOT IN (SELECT passage FROM held))"
        )
        self._connection.execute("DELETE FROM left_over")

    def matrix(self) -> Matrix | None:
        """All vectors, for questions; None where there are none."""
        import numpy

        paths: list[str] = []
        hashes: list[str] = []
        starts: list[int] = []
        raw = bytearray()
        stride = 2 * self._size
        sql = (
            "SELECT path, lower(hex(hash)), place, vector FROM notes JOIN held ON held.note = notes.id"
            " JOIN vectors ON vectors.passage = held.passage ORDER BY notes.id, place"
        )
        for path, digest, place, vector in self._connection.execute(sql):
            if place == 0:
                paths.append(path)
                hashes.append(digest)
                starts.append(len(raw) // stride)
            raw += vector
        if not paths:
            return None
        rows: NDArray[Any] = numpy.frombuffer(bytes(raw), dtype=numpy.float16).reshape(-1, self._size)
        if len(rows) <= _WIDE_ROWS:
            rows = rows.astype(numpy.float32)
        numbers = {path: number for number, path in enumerate(paths)}
        return Matrix(tuple(paths), tuple(hashes), numbers, numpy.array(starts, dtype=numpy.intp), rows)


def look_into(cache: Path) -> Kept | None:
    """What the file holds, for a report; None where there is none or it cannot be read. Makes nothing."""
    file = cache / FILE
    try:
        connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return None
    try:
        notes = one(connection, "SELECT count(*) FROM notes")[0]
        passages = one(connection, "SELECT count(*) FROM held")[0]
        return Kept(int(notes), int(passages), file.stat().st_size)
    except (apsw.Error, OSError):
        return None
    finally:
        connection.close()


def _packed(vector: Iterable[float], size: int) -> bytes:
    """A vector as it is kept. Raises ValueError where it is not one of this size at about length one."""
    import numpy

    row = numpy.asarray(list(vector), dtype=numpy.float32)
    length = float(numpy.linalg.norm(row))
    if row.shape != (size,) or not 0.0 < length < float("inf"):
        raise ValueError(f"expected {size} finite numbers, not all zero, found {row.shape[0]}")
    return (row / length).astype(numpy.float16).tobytes()


def _open(file: Path, mark: str) -> apsw.Connection:
    try:
        connection = _connected(file)
        try:
            if _mark_of(connection) == mark:
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
    except (apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
        pass
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = _connected(file)
    with connection:
        connection.execute(_TABLES)
        connection.execute("INSERT INTO meta VALUES('mark', ?)", (mark,))
    return connection


def _connected(file: Path) -> apsw.Connection:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(1_500)
    # What is dropped is overwritten: a note that became private leaves nothing behind.
    connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON")
    connection.execute("CREATE TEMP TABLE left_over(passage BLOB PRIMARY KEY)")
    return connection


def _mark_of(connection: apsw.Connection) -> Any:
    row = one(connection, "SELECT value FROM meta WHERE key='mark'")
    return None if row is None else row[0]
