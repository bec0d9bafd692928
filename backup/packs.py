"""Packs: many contents, one after the other, in one sealed object. Only ever added to by further packs.

A content stands in pieces of at most 1 MiB, in order, each with the content's hash and size and its own place in it.
One that does not fit goes on at the beginning of the next pack.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .body import Reader, Sealed, Writer, new_id
from .errors import DamagedError
from .scratch import Scratch

PIECE: Final = 1 << 20
MOST: Final = 16 << 20
"""A pack ends after the piece that brings it to this size: hosts refuse files of 100 MB."""
_HEAD: Final = struct.Struct(">32sQQI")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a content: its place in it, and the bytes."""

    hash: bytes
    total: int
    offset: int
    data: bytes


class Packer:
    """Puts contents into new packs in a folder."""

    def __init__(self, folder: Path, key: bytes, most: int = MOST) -> None:
        self._folder, self._key, self._most = folder, key, most
        self._open: Writer | None = None
        self.made: list[Sealed] = []
        self.contents = 0

    def add(self, digest: bytes, total: int, blocks: Iterable[bytes]) -> None:
        """Add a content by its hash; ``blocks`` are its bytes, none longer than 1 MiB."""
        offset = 0
        for block in blocks:
            self._put(_HEAD.pack(digest, total, offset, len(block)), block)
            offset += len(block)
        if not total:
            self._put(_HEAD.pack(digest, 0, 0, 0), b"")
        if offset != total:
            raise DamagedError(f"content {digest.hex()}: {offset} bytes came, {total} were announced")
        self.contents += 1

    def close(self) -> list[Sealed]:
        """End the last pack. Gives all that were made, in order."""
        if self._open is not None:
            writer, self._open = self._open, None
            writer.close()
            self.made.append(Sealed(writer.name, writer.file, writer.digest, writer.size))
        return self.made

    def drop(self) -> None:
        """Let go of what is half made."""
        if self._open is not None:
            self._open.drop()

    def _put(self, head: bytes, data: bytes) -> None:
        if self._open is None:
            name = f"packs/{new_id()}"
            self._open = Writer(self._folder / name.replace("/", "-"), self._key, name)
        self._open.write(head + data)
        if self._open.size >= self._most:
            self.close()


class Contents:
    """The new contents of a run: each is put into the packs once, and only where no set holds it already."""

    def __init__(self, packer: Packer, scratch: Scratch, known: str) -> None:
        """``known`` is a scratch table of the hashes that are sealed; what is added comes into it."""
        self.packer = packer
        self._scratch, self._known = scratch, known

    def take(self, digest: bytes, size: int, blocks: Callable[[], Iterable[bytes]]) -> None:
        """Seal a content unless it is sealed; ``blocks`` is asked for its bytes only then."""
        if not self._scratch.has_content(self._known, digest):
            self.packer.add(digest, size, blocks())
            self._scratch.note_content(self._known, digest, size)

    def unknown(self, contents: Iterable[tuple[str, int]]) -> Iterator[tuple[bytes, int]]:
        """Of many contents, by hash (hex) and size, those that are not sealed yet."""
        self._scratch.sql.execute("CREATE TABLE asked (hash BLOB PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID")
        rows = ((bytes.fromhex(digest), size) for digest, size in contents)
        self._scratch.sql.executemany("INSERT INTO asked VALUES (?, ?)", rows)
        self._scratch.sql.execute(f"DELETE FROM asked WHERE hash IN (SELECT hash FROM {self._known})")
        last = b""
        query = "SELECT hash, size FROM asked WHERE hash > ? ORDER BY hash LIMIT 500"
        while batch := self._scratch.sql.execute(query, (last,)).fetchall():
            yield from batch
            last = batch[-1][0]
        self._scratch.sql.execute("DROP TABLE asked")


def pieces(pack: Reader) -> Iterator[Piece]:
    """The pieces of a pack, in order. Raises DamagedError where it is none."""
    while head := pack.read(_HEAD.size):
        if len(head) != _HEAD.size:
            raise DamagedError(f"{pack.name}: it opens, but ends inside of a piece")
        digest, total, offset, length = _HEAD.unpack(head)
        if length > PIECE or offset + length > total:
            raise DamagedError(f"{pack.name}: it opens, but holds a piece that cannot be")
        yield Piece(digest, total, offset, pack.exactly(length))
