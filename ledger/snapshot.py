"""A consistent copy of a ledger for the backup, the rows that came since the last one, and a ledger made of rows again.

Rows go out as lines of JSON, a list each: the name of the table, then its columns in order; bytes are ``{"hex": …}``.
Kept bytes go by their hash, unpacked, so that notes and ledger share them in a backup. What is made again has the
schema text that was sent along, so that a set of today opens under any later schema.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
import zstandard

from muninn.model.content import ContentHash
from muninn.model.errors import LedgerUnavailableError

from . import blobs, chain, checkpoint
from .file import as_ledger_errors
from .migrations import version_of
from .records import Tip, read_body
from .store import Ledger
from .verify import first_fault, opened

__all__ = ["Copy", "Rebuilding", "Tip", "first_fault", "pinned", "signed", "unlike"]

TABLES: Final = ("rows", "changes", "ends", "requests", "pendings")
"""Tables whose rows carry the number (``seq``) of the row of the chain they belong to."""


@contextlib.contextmanager
def pinned(file: Path) -> Iterator[apsw.Connection]:
    """A connection that sees the ledger as it is now, whatever is written beside it, until the block ends."""
    with as_ledger_errors("be copied"), closing(opened(file)) as source:
        source.execute("BEGIN")
        source.execute("SELECT max(seq) FROM rows").fetchall()
        yield source


class Copy:
    """A copy that nobody writes to."""

    def __init__(self, source: apsw.Connection, file: Path) -> None:
        """Copy what a pinned connection sees into a new file, by SQLite's backup interface."""
        self.file: Final = file
        with as_ledger_errors("be copied"):
            self._copy = apsw.Connection(str(file))
            with self._copy.backup("main", source, "main") as backup:
                backup.step()
            self._copy.execute("PRAGMA journal_mode = DELETE")
        strange = set(self._names()) - {*TABLES, "blobs"}
        if strange:
            raise LedgerUnavailableError(f"the ledger has tables that a backup does not know: {sorted(strange)}")

    def close(self) -> None:
        """Let go of the file."""
        self._copy.close()

    @property
    def vault(self) -> str | None:
        """The id of the vault it belongs to."""
        row = self._copy.execute("SELECT body FROM rows WHERE seq = 1").fetchone()
        return None if row is None else str(read_body(row[0])["vault"])

    def tip(self) -> Tip:
        """Its newest row."""
        return _tip(self._copy)

    def chain_at(self, row: int) -> str | None:
        """The chain (hex) of a row, None where there is no such row."""
        found = self._copy.execute("SELECT chain FROM rows WHERE seq = ?", (row,)).fetchone()
        return None if found is None else bytes(found[0]).hex()

    def schema(self) -> tuple[int, str]:
        """The number of its schema, and the statements that make its tables."""
        rows: Any = self._copy.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        return version_of(self._copy), "".join(f"{row[0]};\n" for row in rows)

    def lines(self, since: int) -> Iterator[str]:
        """All that belongs to the rows after ``since``, as lines without their ends."""
        for table in TABLES:
            query = f"SELECT * FROM {table} WHERE seq > ? ORDER BY seq"
            for row in self._copy.execute(query, (since,)):
                yield chain.canonical([table, *map(_shown, row)])

    def kept(self) -> Iterator[tuple[ContentHash, int]]:
        """The hash and size of all kept bytes, in the order of the hashes."""
        return _kept(self._copy)

    def content(self, digest: ContentHash) -> bytes | None:
        """Kept bytes by their hash."""
        with as_ledger_errors("be copied"):
            return blobs.content(self._copy, digest)

    def _names(self) -> Iterator[str]:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        return (str(row[0]) for row in self._copy.execute(query).fetchall())


class Rebuilding:
    """A ledger file that is made from what ``Copy`` gave."""

    def __init__(self, file: Path, version: int, schema: str) -> None:
        """``file`` must not be there yet."""
        self._file = file
        self._made = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        file.chmod(0o600)
        # Nobody has it yet: what a crash leaves is thrown away.
        self._made.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        self._made.execute("BEGIN")
        self._made.execute(schema)
        self._made.execute(f"PRAGMA user_version = {int(version)}")
        self._packer = zstandard.ZstdCompressor(level=1)

    def take(self, line: str) -> None:
        """Add the row of a line. Raises ValueError for a line of no known table."""
        table, *values = json.loads(line)
        if table not in TABLES:
            raise ValueError(f"a row of a table {table!r}")
        self._made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", [*map(_stored, values)])

    def keep(self, digest: ContentHash, content: bytes) -> None:
        """Keep bytes under their hash, which the caller has checked; each once."""
        values = (bytes.fromhex(digest), len(content), self._packer.compress(content))
        self._made.execute("INSERT INTO blobs (hash, size, packed) VALUES (?, ?, ?)", values)

    def close(self) -> None:
        """Make the file whole: it has a write-ahead log, as every ledger."""
        self._made.execute("COMMIT")
        self._made.execute("PRAGMA journal_mode = WAL")
        self._made.close()

    def drop(self) -> None:
        """Let go of a file that nobody wants."""
        self._made.close()


def unlike(copy: Copy, file: Path) -> str | None:
    """What tells a ledger file apart from a copy: a fault inside, the chain, the kept bytes; None where nothing does.

    The whole of ``file`` is replayed and hashed: equal heads of a chain that holds are equal rows.
    """
    fault = first_fault(file)
    if fault is not None:
        return fault
    with as_ledger_errors("be compared"), closing(opened(file)) as reader:
        if _tip(reader) != copy.tip():
            return "its chain does not end as the one that was copied"
        if any(one != other for one, other in _side_by_side(copy.kept(), _kept(reader))):
            return "it does not keep the bytes that were copied"
    return None


def signed(copy: Path, key_file: Path) -> str | None:
    """A checkpoint of a copy, signed with the ledger's key; None for a ledger that names no key, or another one."""
    if not key_file.exists():
        return None
    seed = checkpoint.read_key(key_file)
    ledger = Ledger(copy)
    try:
        return checkpoint.sign(ledger, seed).text() if ledger.key == checkpoint.public_of(seed) else None
    finally:
        ledger.close()


def _side_by_side(one: Iterator[Any], other: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    while True:
        pair = (next(one, None), next(other, None))
        yield pair
        if None in pair:
            return


def _tip(reader: apsw.Connection) -> Tip:
    row = reader.execute("SELECT seq, events, open, chain FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    return Tip(0, 0, 0, chain.START.hex()) if row is None else Tip(row[0], row[1], row[2], row[3].hex())


def _kept(reader: apsw.Connection) -> Iterator[tuple[ContentHash, int]]:
    for digest, size in reader.execute("SELECT hash, size FROM blobs ORDER BY hash"):
        yield ContentHash(digest.hex()), size


def _shown(value: Any) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _stored(value: Any) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
