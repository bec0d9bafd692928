"""One moment of vault and ledger: what a set is made of.

The files are read while everybody goes on writing. Then, under the write lock, only what changed meanwhile is read
again, and the ledger is pinned: no cooperating writer is half-way through anything at that moment.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ledger import snapshot
from muninn.model.content import ContentHash
from muninn.model.errors import VaultUnavailableError
from muninn.model.listing import Stamp
from muninn.vault import Vault, write_lock
from muninn.vault.whole import Files, everything

from . import manifest
from .errors import BackupError
from .packs import PIECE, Contents
from .scratch import Scratch

Progress = Callable[[int, int | None], None]

NOW: Final = "now"
"""The table that the cut fills."""
_TRIES: Final = 4
_MARGIN_NS: Final = 2_000_000_000
"""Files changed this short before a look are read again: their stamp may not tell."""
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Found:
    """What the cut came to."""

    files: int
    folders: int
    bytes: int
    left: tuple[tuple[str, str], ...]
    """Paths that are left out, each with the reason."""


class Cut:
    """Takes a cut into a scratch table; bytes that are not sealed yet go into the packs."""

    def __init__(self, vault: Vault, home: Path, scratch: Scratch, work: Path) -> None:
        self._vault, self._home, self._scratch, self._work = vault, home, scratch, work
        self._began_ns = time.time_ns()
        _make(scratch, "seen")

    def sweep(self) -> int:
        """Look at every name. Gives how many files there are. Raises VaultUnavailableError."""
        with self._opened() as root:
            self._look(root, "seen")
        return int(self._scratch.sql.execute("SELECT count(*) FROM seen WHERE kind = 'file'").get)

    def read(self, new: Contents, progress: Progress) -> None:
        """Read every file that was seen, and seal the contents that are new."""
        with self._opened() as root:
            self._read(root, new, progress)

    def freeze(self, new: Contents, ledger: Path, copy: Path) -> snapshot.Copy:
        """Look again under the write lock, read what changed, and copy the ledger as it was at that moment."""
        with ExitStack() as open_until_copied:
            with self._opened() as root, write_lock(self._home):
                self._look_again(root)
                self._read(root, new, lambda done, total: None)
                source = open_until_copied.enter_context(snapshot.pinned(ledger))
            return snapshot.Copy(source, copy)

    def found(self) -> Found:
        """Put what was seen into the table of the cut."""
        self._scratch.table(NOW)
        self._scratch.put(NOW, self._rows())
        sql = self._scratch.sql
        files, size = sql.execute("SELECT count(*), total(size) FROM seen WHERE kind = 'file'").fetchone()
        folders = sql.execute("SELECT count(*) FROM seen WHERE kind = 'folder'").get
        left = sql.execute("SELECT path, why FROM seen WHERE kind = 'left' ORDER BY path").fetchall()
        return Found(files, folders, int(size), tuple((manifest.shown(path), why) for path, why in left))

    def _rows(self) -> Iterator[tuple[bytes, bytes]]:
        query = "SELECT path, kind, mode, size, mtime, ctime, inode, why, hash FROM seen ORDER BY path"
        for path, kind, mode, length, mtime, ctime, inode, why, digest in self._scratch.sql.execute(query):
            if kind == "file":
                yield manifest.file_row(path, mode, Stamp(length, mtime, ctime, inode), digest)
            elif kind == "folder":
                yield manifest.folder_row(path, mode)
            else:
                yield manifest.LEFT + path, why.encode()

    # --- inside -----------------------------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            with self._vault.opened() as root:
                yield root
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "I/O error"
            name = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
            raise VaultUnavailableError(f"the vault cannot be read whole ({reason}){name}") from error

    def _look(self, root: int, table: str) -> None:
        rows = (
            (s.path, s.kind, s.mode, s.stamp.size, s.stamp.mtime_ns, s.stamp.ctime_ns, s.stamp.inode, s.why)
            for s in everything(root)
        )
        self._scratch.sql.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", rows)

    def _look_again(self, root: int) -> None:
        """Look anew; what looks as it did before keeps the hash that was read."""
        _make(self._scratch, "again")
        self._look(root, "again")
        self._scratch.sql.execute(
            "UPDATE again SET hash = (SELECT o.hash FROM seen o WHERE o.path = again.path AND o.size = again.size AND "
            "o.mtime = again.mtime AND o.ctime = again.ctime AND o.inode = again.inode) "
            "WHERE kind = 'file' AND max(mtime, ctime) < ?",
            (self._began_ns - _MARGIN_NS,),
        )
        self._scratch.sql.execute("DROP TABLE seen; ALTER TABLE again RENAME TO seen")

    def _read(self, root: int, new: Contents, progress: Progress) -> None:
        total = int(self._scratch.sql.execute("SELECT count(*) FROM seen WHERE kind = 'file' AND hash IS NULL").get)
        unread = "SELECT path FROM seen WHERE hash IS NULL AND kind = 'file' AND path > ? ORDER BY path LIMIT ?"
        put = "UPDATE seen SET mode = ?, size = ?, mtime = ?, ctime = ?, inode = ?, hash = ? WHERE path = ?"
        last, done = b"", 0
        with Files(root) as files:
            while batch := self._scratch.sql.execute(unread, (last, _BATCH)).fetchall():
                taken = [(bytes(path), self._take(files, bytes(path), new)) for (path,) in batch]
                self._scratch.sql.executemany(put, [(*t.told, path) for path, t in taken if t is not None])
                gone = [(path,) for path, t in taken if t is None]
                self._scratch.sql.executemany("DELETE FROM seen WHERE path = ?", gone)
                last, done = bytes(batch[-1][0]), done + len(batch)
                progress(done, total)

    def _take(self, files: Files, path: bytes, new: Contents) -> _Taken | None:
        """Read one file, and seal what it holds where that is new. None for one that went away."""
        try:
            taken = self._stable(files, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "I/O error"
            raise BackupError(
                f"a file of the vault cannot be read ({reason}): {manifest.shown(path)}. A backup without it would not "
                "be whole; put it right, or move it out of the vault"
            ) from error
        if taken is not None:
            new.take(taken.hash, taken.stamp.size, taken.blocks)
        return taken

    def _stable(self, files: Files, path: bytes) -> _Taken | None:
        """The bytes of a file that nobody wrote into meanwhile. After some tries they are taken as they were read."""
        tries = 0
        while True:
            tries += 1
            descriptor = files.open(path)
            try:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    return None
                taken = self._copied(descriptor, before)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if (_same(before, after) and taken.stamp.size == after.st_size) or tries == _TRIES:
                return taken
            time.sleep(0.05)

    def _copied(self, descriptor: int, seen: os.stat_result) -> _Taken:
        """What a file holds: in memory where it is small, in a file of ours where it is not."""
        data = os.read(descriptor, PIECE)
        rest = os.read(descriptor, PIECE) if len(data) == PIECE or len(data) < seen.st_size else b""
        if not rest:
            return _Taken(_mode(seen), _sized(seen, len(data)), hashlib.sha256(data).digest(), data, None)
        digest, size, spool = hashlib.sha256(), 0, self._work / "spool"
        with spool.open("wb") as copy:
            for block in _then(data, rest, descriptor):
                digest.update(block)
                size += len(block)
                copy.write(block)
        return _Taken(_mode(seen), _sized(seen, size), digest.digest(), None, spool)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What was read of a file: its bytes, or the file that holds them."""

    mode: int
    stamp: Stamp
    hash: bytes
    data: bytes | None
    spool: Path | None

    @property
    def told(self) -> tuple[int, int, int, int, int, bytes]:
        """Mode, size, times, inode and hash, as the table of what was seen holds them."""
        stamp = self.stamp
        return self.mode, stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode, self.hash

    def blocks(self) -> Iterator[bytes]:
        """The bytes again, in pieces."""
        if self.spool is None:
            if self.data:
                yield self.data
            return
        with self.spool.open("rb") as copy:
            while block := copy.read(PIECE):
                yield block


def _make(scratch: Scratch, table: str) -> None:
    scratch.sql.execute(
        f"CREATE TABLE {table} (path BLOB PRIMARY KEY, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER, "
        "mtime INTEGER, ctime INTEGER, inode INTEGER, why TEXT, hash BLOB) WITHOUT ROWID"
    )


def _then(first: bytes, second: bytes, descriptor: int) -> Iterator[bytes]:
    yield first
    yield second
    while block := os.read(descriptor, PIECE):
        yield block


def _mode(seen: os.stat_result) -> int:
    return stat.S_IMODE(seen.st_mode)


def _sized(seen: os.stat_result, size: int) -> Stamp:
    return Stamp(size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns, one.st_ctime_ns) == (other.st_size, other.st_mtime_ns, other.st_ctime_ns)


# --- the ledger's part ------------------------------------------------------------------------------


def take_ledger(copy: snapshot.Copy, scratch: Scratch, last: str, since: int, new: Contents, work: Path) -> None:
    """Add the ledger's schema, rows and kept bytes to the cut; rows up to ``since`` stand in table ``last``."""
    if since:
        scratch.put(NOW, scratch.rows(last, manifest.LINES))
    scratch.put(NOW, [manifest.schema_row(*copy.schema())])
    _take_lines(copy, scratch, since, new, work)
    scratch.put(NOW, (manifest.kept_row(kept, size) for kept, size in copy.kept()))
    for raw, size in new.unknown(copy.kept()):
        new.take(raw, size, partial(_kept, copy, ContentHash(raw.hex())))


def _kept(copy: snapshot.Copy, digest: ContentHash) -> Iterator[bytes]:
    content = copy.content(digest)
    if content is None:
        raise BackupError(f"the ledger is damaged: kept bytes {digest} are gone; see `muninn ledger verify`")
    for at in range(0, len(content), PIECE):
        yield content[at : at + PIECE]


def _take_lines(copy: snapshot.Copy, scratch: Scratch, since: int, new: Contents, work: Path) -> None:
    """The rows after ``since`` as one content."""
    last = copy.tip().rows
    if last == since:
        return
    digest, size, file = hashlib.sha256(), 0, work / "lines"
    with file.open("wb") as lines:
        for line in copy.lines(since):
            data = line.encode() + b"\n"
            digest.update(data)
            size += len(data)
            lines.write(data)
    scratch.put(NOW, [manifest.lines_row(since + 1, last, digest.digest(), size)])
    with file.open("rb") as lines:
        new.take(digest.digest(), size, lambda: iter(lambda: lines.read(PIECE), b""))
    file.unlink()


def schema_is_same(copy: snapshot.Copy, scratch: Scratch, last: str) -> bool:
    """Whether the ledger's tables are made as those that the last set holds; rows of others are sealed anew."""
    return scratch.get(last, manifest.SCHEMA) == manifest.schema_row(*copy.schema())[1]
