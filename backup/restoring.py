"""Write a set out: every file with its bytes, mode and time, and the ledger made of its rows again.

Names are judged before anything is written, all of them; every content is hashed before it gets a name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw

from ledger.snapshot import Rebuilding
from muninn.model import seams
from muninn.model.content import ContentHash
from muninn.vault.whole import Files, everything

from . import manifest
from .errors import BackupError, DamagedError
from .packs import PIECE, Piece
from .scratch import Scratch

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
BACK: Final = "back"
"""The table that ``look`` fills."""


@dataclass(slots=True)
class _Coming:
    """A content that comes in several pieces."""

    hash: bytes
    total: int
    done: int
    file: Path
    sha256: Any


class Restoring:
    """Writes the set that a scratch table says, from the pieces of its packs in their order."""

    def __init__(self, scratch: Scratch, table: str, vault: Path, ledger: Path, work: Path) -> None:
        """Judges all names and makes the folders. ``vault`` must be empty; ``work`` is for what waits.

        Raises DamagedError for a set with a name that leaves the folder: nothing is written then.
        """
        self._scratch, self._table, self._root, self._work = scratch, table, os.fsencode(vault), work
        _judge_names(scratch, table)
        self._coming: _Coming | None = None
        self._make_places()
        self._make_folders()
        schema = scratch.get(table, manifest.SCHEMA)
        if schema is None:
            raise DamagedError("the set holds no ledger")
        self._ledger = Rebuilding(ledger, *manifest.read_schema(schema))

    def drop(self) -> None:
        """Let go of what is half done."""
        self._ledger.drop()

    def break_off(self) -> None:
        """The pack did not open to its end: a content that was coming will not."""
        self._coming = None

    def take(self, piece: Piece) -> None:
        """The next piece. Pieces of contents that the set does not need are passed over."""
        if self._coming is not None and (piece.hash, piece.offset) != (self._coming.hash, self._coming.done):
            raise DamagedError(f"content {self._coming.hash.hex()}: it breaks off")
        if self._coming is None and len(piece.data) == piece.total:
            if places := self._places(piece.hash):
                _check(piece.hash, hashlib.sha256(piece.data).digest())
                self._complete(piece.hash, piece.total, places, piece.data, None)
        elif self._coming is not None or self._places(piece.hash):
            self._collect(piece)

    def finish(self) -> None:
        """Put the ledger's rows in, see that nothing is missing, and give the folders their modes."""
        missing = self._scratch.sql.execute("SELECT key FROM place ORDER BY key LIMIT 1").fetchone()
        if missing is not None or self._coming is not None:
            self._ledger.drop()
            what = (
                "the ledger" if missing is None or missing[0][:1] != manifest.FILE else manifest.shown(missing[0][1:])
            )
            raise DamagedError(f"{what}: what it holds is in no pack")
        try:
            for _, value in self._scratch.rows(self._table, manifest.LINES):
                with self._waiting(manifest.read_lines(value)[1]).open(encoding="utf-8", newline="\n") as lines:
                    for line in lines:
                        self._ledger.take(line)
        except (ValueError, apsw.Error) as error:
            self._ledger.drop()
            raise DamagedError(f"the set's ledger cannot be made again ({type(error).__name__})") from error
        self._ledger.close()
        for key, value in reversed([*self._scratch.rows(self._table, manifest.FOLDER)]):
            os.chmod(self._at(key), manifest.read_folder(value))

    # --- inside -----------------------------------------------------------------------------------

    def _make_places(self) -> None:
        """Where each content goes: the rows that need it, by its hash. They leave as they are filled."""
        sql = self._scratch.sql
        sql.execute("DROP TABLE IF EXISTS place")
        sql.execute("CREATE TABLE place (hash BLOB, key BLOB, value BLOB, PRIMARY KEY (hash, key)) WITHOUT ROWID")
        rows = self._scratch.rows(self._table)
        needing = ((manifest.content_of(key, value), key, value) for key, value in rows)
        sql.executemany("INSERT INTO place VALUES (?, ?, ?)", ((c[0], k, v) for c, k, v in needing if c is not None))

    def _places(self, digest: bytes) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = self._scratch.sql.execute(
            "SELECT key, value FROM place WHERE hash = ?", (digest,)
        ).fetchall()
        return found

    def _make_folders(self) -> None:
        for key, _ in self._scratch.rows(self._table, manifest.FOLDER):
            if key != manifest.FOLDER:
                os.mkdir(self._at(key), 0o700)

    def _at(self, key: bytes) -> bytes:
        return os.path.join(self._root, key[1:])

    def _waiting(self, digest: bytes) -> Path:
        return self._work / f"content-{digest.hex()}"

    def _collect(self, piece: Piece) -> None:
        if self._coming is None:
            if piece.offset:
                raise DamagedError(f"content {piece.hash.hex()}: its beginning is missing")
            file = self._work / "coming"
            file.write_bytes(b"")
            self._coming = _Coming(piece.hash, piece.total, 0, file, hashlib.sha256())
        coming = self._coming
        with coming.file.open("ab") as spool:
            spool.write(piece.data)
        coming.sha256.update(piece.data)
        coming.done += len(piece.data)
        if coming.done == coming.total:
            self._coming = None
            _check(coming.hash, coming.sha256.digest())
            self._complete(coming.hash, coming.total, self._places(coming.hash), None, coming.file)

    def _complete(
        self, digest: bytes, size: int, places: list[tuple[bytes, bytes]], data: bytes | None, spool: Path | None
    ) -> None:
        """Bring a content to where it belongs; it has its hash."""
        for key, value in places:
            needed = manifest.content_of(key, value)
            if needed is None or needed[1] != size:
                raise DamagedError(f"{manifest.shown(key[1:])}: what it holds has another size, {size} bytes")
            match key[:1]:
                case b"f":
                    self._write(manifest.read_file(key, value), data, spool)
                case b"k":
                    whole = spool.read_bytes() if spool is not None else data or b""
                    self._ledger.keep(ContentHash(digest.hex()), whole)
                case _ if spool is None:
                    self._waiting(digest).write_bytes(data or b"")
                case _:
                    shutil.copyfile(spool, self._waiting(digest))
        self._scratch.sql.execute("DELETE FROM place WHERE hash = ?", (digest,))

    def _write(self, row: manifest.FileRow, data: bytes | None, spool: Path | None) -> None:
        descriptor = os.open(self._at(manifest.FILE + row.path), _NEW, 0o600)
        try:
            if spool is None:
                _write_all(descriptor, data or b"")
            else:
                with spool.open("rb") as source:
                    while block := source.read(PIECE):
                        _write_all(descriptor, block)
            os.fchmod(descriptor, row.mode)
            os.utime(descriptor, ns=(row.mtime_ns, row.mtime_ns))
        finally:
            os.close(descriptor)


def look(scratch: Scratch, folder: Path) -> None:
    """Read what stands in a folder, every file of it, into the table ``BACK``, as a cut would note it."""
    scratch.table(BACK)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        scratch.put(BACK, _rows(root))
    finally:
        os.close(root)


def _rows(root: int) -> Iterator[tuple[bytes, bytes]]:
    with Files(root) as files:
        for seen in everything(root):
            if seen.kind == "folder":
                yield manifest.folder_row(seen.path, seen.mode)
            elif seen.kind == "file":
                yield manifest.file_row(seen.path, seen.mode, seen.stamp, _hash(files.open(seen.path)))
            else:
                yield manifest.LEFT + seen.path, seen.why.encode()


def _hash(descriptor: int) -> bytes:
    digest = hashlib.sha256()
    try:
        while block := os.read(descriptor, PIECE):
            digest.update(block)
    finally:
        os.close(descriptor)
    return digest.digest()


def different(scratch: Scratch, expected: str) -> list[str]:
    """The paths in which what was looked at differs from a table, each with why."""
    letters = manifest.FILE + manifest.FOLDER
    found = []
    for key, value in scratch.difference(BACK, expected, letters):
        path, there = manifest.shown(key[1:]) or "the root", scratch.get(BACK, key)
        why = "is not there" if there is None else "should not be there" if value is None else "is not the same"
        found.append(f"{path} {why}")
    return found


def _judge_names(scratch: Scratch, table: str) -> None:
    """Raises DamagedError where any name leaves the folder, or lies in what is no folder of the set."""
    put_in_place = seams.at("backup.open")
    if put_in_place is not None:
        _judge_list(scratch, table, [str(name) for name in put_in_place])  # type: ignore[attr-defined]
    for letter in (manifest.FOLDER, manifest.FILE):
        for key, _ in scratch.rows(table, letter):
            path = key[1:]
            why = manifest.unsafe(path) if path or letter == manifest.FILE else None
            above = manifest.FOLDER + path.rpartition(b"/")[0]
            if why is None and path and scratch.get(table, above) is None:
                why = "it lies in no folder of the set"
            if why is not None:
                raise DamagedError(f"the set holds the name {manifest.shown(path)!r}, and {why}: it is refused whole")


def _judge_list(scratch: Scratch, table: str, names: list[str]) -> None:
    """The same for a list that a test puts in place of the set's: a link, or a name of nothing sealed, is refused."""
    for name in names:
        path = os.fsencode(name)
        why = "it is a link" if " -> " in name else manifest.unsafe(path)
        if why is None and scratch.get(table, manifest.FILE + path) is None:
            why = "nothing was sealed under it"
        if why is not None:
            raise DamagedError(f"the set holds the name {name!r}, and {why}: it is refused whole")


def refuse_place(target: Path, *, apart_from: list[Path]) -> None:
    """Refuse to restore into anything but an empty or new folder outside of the places. Raises BackupError."""
    resolved = target.resolve()
    for place in apart_from:
        other = place.resolve()
        if resolved == other or resolved.is_relative_to(other) or other.is_relative_to(resolved):
            raise BackupError(f"{target} lies in {place}, or that in it: restore into an empty folder of its own")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BackupError(f"{target} is no folder: restore into an empty or new one")
    if target.is_dir() and any(target.iterdir()):
        raise BackupError(f"{target} is not empty: restore into an empty or new folder")


def _check(digest: bytes, found: bytes) -> None:
    if found != digest:
        raise DamagedError(f"content {digest.hex()}: it does not have this hash")


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
