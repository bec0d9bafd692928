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
from muninn.vault.whole import everything, open_file

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
        scratch.sql.execute(
            "CREATE TABLE seen (path BLOB PRIMARY KEY, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER, "
            "mtime INTEGER, ctime INTEGER, inode INTEGER, why TEXT, turn INTEGER NOT NULL, hash BLOB) WITHOUT ROWID"
        )
        scratch.sql.execute("CREATE INDEX unread ON seen (path) WHERE hash IS NULL AND kind = 'file'")

    def sweep(self) -> int:
        """Look at every name. Gives how many files there are. Raises VaultUnavailableError."""
        with self._opened() as root:
            self._look(root, turn=1)
        return int(self._scratch.sql.execute("SELECT count(*) FROM seen WHERE kind = 'file'").get)

    def read(self, new: Contents, progress: Progress) -> None:
        """Read every file that was seen, and seal the contents that are new."""
        with self._opened() as root:
            self._read(root, new, progress)

    def freeze(self, new: Contents, ledger: Path, copy: Path) -> snapshot.Copy:
        """Look again under the write lock, read what changed, and copy the ledger as it was at that moment."""
        with ExitStack() as open_until_copied:
            with self._opened() as root, write_lock(self._home):
                self._look(root, turn=2)
                self._scratch.sql.execute("DELETE FROM seen WHERE turn = 1")
                self._read(root, new, lambda done, total: None)
                source = open_until_copied.enter_context(snapshot.pinned(ledger))
            return snapshot.Copy(source, copy)

    def found(self) -> Found:
        """Put what was seen into the table of the cut."""
        self._scratch.table(NOW)
        left: list[tuple[str, str]] = []
        files = folders = size = 0
        query = "SELECT path, kind, mode, size, mtime, ctime, inode, why, hash FROM seen ORDER BY path"
        for path, kind, mode, length, mtime, ctime, inode, why, digest in self._scratch.sql.execute(query):
            if kind == "file":
                files, size = files + 1, size + length
                row = manifest.file_row(path, mode, Stamp(length, mtime, ctime, inode), digest)
            elif kind == "folder":
                folders += 1
                row = manifest.folder_row(path, mode)
            else:
                left.append((manifest.shown(path), why))
                row = (manifest.LEFT + path, why.encode())
            self._scratch.put(NOW, [row])
        return Found(files, folders, size, tuple(left))

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

    def _look(self, root: int, turn: int) -> None:
        same = (
            "SELECT hash FROM seen WHERE path = ? AND kind = ? AND size = ? AND mtime = ? AND ctime = ? AND inode = ?"
        )
        put = "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        since = self._began_ns - _MARGIN_NS
        for seen in everything(root):
            stamp = seen.stamp
            told = (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode)
            digest = None
            if turn > 1 and seen.kind == "file" and max(stamp.mtime_ns, stamp.ctime_ns) < since:
                digest = self._scratch.sql.execute(same, (seen.path, seen.kind, *told)).get
            self._scratch.sql.execute(put, (seen.path, seen.kind, seen.mode, *told, seen.why, turn, digest))

    def _read(self, root: int, new: Contents, progress: Progress) -> None:
        total, done = int(self._scratch.sql.execute("SELECT count(*) FROM seen WHERE kind = 'file'").get), 0
        unread = "SELECT path FROM seen WHERE hash IS NULL AND kind = 'file' AND path > ? ORDER BY path LIMIT ?"
        last = b""
        while batch := self._scratch.sql.execute(unread, (last, _BATCH)).fetchall():
            for (path,) in batch:
                self._take(root, bytes(path), new)
            last, done = bytes(batch[-1][0]), done + len(batch)
            progress(done, total)

    def _take(self, root: int, path: bytes, new: Contents) -> None:
        """Read one file, note what it holds, and seal that where it is new. A file that went away is taken out."""
        try:
            taken = self._stable(root, path)
        except (FileNotFoundError, NotADirectoryError):
            taken = None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "I/O error"
            raise BackupError(
                f"a file of the vault cannot be read ({reason}): {manifest.shown(path)}. A backup without it would not "
                "be whole; put it right, or move it out of the vault"
            ) from error
        if taken is None:
            self._scratch.sql.execute("DELETE FROM seen WHERE path = ?", (path,))
            return
        put = "UPDATE seen SET mode = ?, size = ?, mtime = ?, ctime = ?, inode = ?, hash = ? WHERE path = ?"
        stamp = taken.stamp
        told = (taken.mode, stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode, taken.hash, path)
        self._scratch.sql.execute(put, told)
        new.take(taken.hash, stamp.size, taken.blocks)

    def _stable(self, root: int, path: bytes) -> _Taken | None:
        """The bytes of a file that nobody wrote into meanwhile. After some tries they are taken as they were read."""
        tries = 0
        while True:
            tries += 1
            descriptor = open_file(root, path)
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

    def blocks(self) -> Iterator[bytes]:
        """The bytes again, in pieces."""
        if self.spool is None:
            if self.data:
                yield self.data
            return
        with self.spool.open("rb") as copy:
            while block := copy.read(PIECE):
                yield block


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
    for kept, size in copy.kept():
        scratch.put(NOW, [manifest.kept_row(kept, size)])
        new.take(bytes.fromhex(kept), size, partial(_kept, copy, kept))


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
