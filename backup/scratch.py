"""Tables of one run, in a file that is thrown away: whatever the vault's size, memory holds a row of it at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw

from . import manifest
from .errors import DamagedError
from .manifest import Row


class Scratch:
    """Named tables of keys and values, sorted by key."""

    def __init__(self, file: Path) -> None:
        self.sql: Final[Any] = apsw.Connection(str(file))
        self.sql.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8000")
        self.sql.execute("PRAGMA temp_store = FILE")
        self.sql.execute("BEGIN")

    def close(self) -> None:
        """Let go of the file."""
        self.sql.close()

    def table(self, name: str) -> None:
        """An empty table of this name; what it held is gone."""
        self.sql.execute(f"DROP TABLE IF EXISTS {name}")
        self.sql.execute(f"CREATE TABLE {name} (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")

    def put(self, table: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Put rows into a table; a key that is there gets the new value."""
        self.sql.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)

    def change(self, table: str, rows: Iterable[Row]) -> None:
        """Bring a table to what rows of a set say; those without a value take theirs out."""
        for key, value in rows:
            if value is None:
                self.sql.execute(f"DELETE FROM {table} WHERE key = ?", (key,))
            else:
                self.sql.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (key, value))

    def rows(self, table: str, letter: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """The rows of a table in order, those of one letter where it is given. The table may not change meanwhile."""
        query = f"SELECT key, value FROM {table} WHERE key >= ? AND key < ? ORDER BY key"
        for key, value in self.sql.execute(query, (letter, _after(letter))):
            yield bytes(key), bytes(value)

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value of a key."""
        row = self.sql.execute(f"SELECT value FROM {table} WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def count(self, table: str, letter: bytes) -> int:
        """How many rows of a letter there are."""
        query = f"SELECT count(*) FROM {table} WHERE key >= ? AND key < ?"
        return int(self.sql.execute(query, (letter, _after(letter))).get)

    def difference(self, old: str, new: str, letters: bytes = b"") -> Iterator[Row]:
        """What brings table ``old`` to table ``new``, in order; of these letters alone, where any are given."""
        query = (
            f"SELECT n.key, n.value FROM {new} n LEFT JOIN {old} o ON o.key = n.key WHERE o.value IS NOT n.value "
            f"UNION ALL SELECT o.key, NULL FROM {old} o LEFT JOIN {new} n ON n.key = o.key WHERE n.key IS NULL "
            "ORDER BY 1"
        )
        for key, value in self.sql.execute(query):
            if not letters or key[0] in letters:
                yield bytes(key), None if value is None else bytes(value)

    def hashes(self, name: str) -> None:
        """A table of contents: hash and size; nothing where it is there already."""
        self.sql.execute(
            f"CREATE TABLE IF NOT EXISTS {name} (hash BLOB PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID"
        )

    def contents(self, table: str, into: str) -> None:
        """Collect the hashes of all contents that the rows of a table need, with their sizes, in table ``into``."""
        self.hashes(into)
        for key, value in self.rows(table):
            found = manifest.content_of(key, value)
            if found is not None:
                self.sql.execute(f"INSERT OR IGNORE INTO {into} VALUES (?, ?)", found)

    def has_content(self, table: str, digest: bytes) -> bool:
        """Whether a hash stands in a table of contents."""
        return self.sql.execute(f"SELECT 1 FROM {table} WHERE hash = ?", (digest,)).fetchone() is not None

    def note_content(self, table: str, digest: bytes, size: int) -> None:
        """Put a hash into a table of contents."""
        self.sql.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", (digest, size))


def checked(rows: Iterable[Row], name: str) -> Iterator[tuple[bytes, bytes]]:
    """Rows of a set that builds on nothing: each must have a value. Raises DamagedError."""
    for key, value in rows:
        if value is None:
            raise DamagedError(f"{name}: it builds on nothing, and takes {manifest.shown(key)} away")
        yield key, value


def _after(letter: bytes) -> bytes:
    """What comes after all keys of a letter; after all keys, where none is given."""
    return bytes([letter[0] + 1]) if letter else b"\xff"
