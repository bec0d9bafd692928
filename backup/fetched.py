"""What a commit holds, opened: the head, whether everything that it names is there and nothing else, the sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from . import head as heads
from . import manifest
from .body import Reader
from .errors import DamagedError, KeyFaultError
from .git import Git, Item, Shelf
from .head import Head, Object
from .packs import Piece, pieces
from .restoring import Restoring
from .scratch import Scratch, checked

Progress = Callable[[int, int | None], None]
_REGULAR: Final = ("100644", "blob")
_FOLDER_PREFIX: Final = heads.FOLDER.encode() + b"/"


class Holdings:
    """The objects of one commit."""

    def __init__(self, git: Git, commit: str, key: bytes) -> None:
        """Opens the head. Raises DamagedError or KeyFaultError."""
        self.git, self.commit, self._key = git, commit, key
        self.foreign: list[Item] = []
        self.items: dict[str, Item] = {}
        for item in git.items(commit, deep=True):
            if item.name.startswith(_FOLDER_PREFIX):
                self.items[item.name[len(_FOLDER_PREFIX) :].decode("utf-8", "replace")] = item
            else:
                self.foreign.append(item)
        self.head: Head = self._head()

    def _head(self) -> Head:
        if heads.NAME not in self.items:
            raise DamagedError(f"{heads.NAME}: it is missing")
        with self.git.shelf() as shelf:
            source = shelf.open(self.items[heads.NAME])
            return heads.read(source, self._key)

    def out_of_place(self, base: list[Item]) -> list[str]:
        """What is missing and what is too much, by the head; ``base`` are the files that were there before us."""
        named = {one.name for one in self.head.objects} | {heads.NAME}
        faults = [f"{name}: it is missing" for name in sorted(named - self.items.keys())]
        faults += [f"{name}: it does not belong to the backup" for name in sorted(self.items.keys() - named)]
        faults += [
            f"{name}: it is no regular file" for name, item in self.items.items() if (item.mode, item.kind) != _REGULAR
        ]
        strange = {(i.name, i.mode, i.id) for i in self.foreign} ^ {(i.name, i.mode, i.id) for i in base}
        names = sorted({manifest.shown(name) for name, _, _ in strange})
        return faults + [f"{name}: somebody else added, changed or removed it" for name in names]

    @contextmanager
    def opened(self, shelf: Shelf, one: Object) -> Iterator[Reader]:
        """Open an object; what was not read is opened at the end, and the whole compared with the head."""
        item = self.items.get(one.name)
        if item is None:
            raise DamagedError(f"{one.name}: it is missing")
        with Reader(shelf.open(item), self._key, one.name) as reader:
            yield reader
            if reader.ended() != one.sha256:
                raise DamagedError(
                    f"{one.name}: it opens, but is not the one that the head names: an older or newer one"
                )

    def resolve(self, identity: str, scratch: Scratch, table: str) -> manifest.Header:
        """Bring a table to what a set holds: the sets that it builds on, one after the other. Gives its header."""
        scratch.table(table)
        found: manifest.Header | None = None
        with self.git.shelf() as shelf:
            for row in self.head.chain(identity):
                with self.opened(shelf, row.object) as reader:
                    found, rows = manifest.read(reader)
                    if (found.id, found.base) != (row.id, row.base):
                        raise DamagedError(f"{reader.name}: it is not the set that the head names")
                    if row.base is None:
                        scratch.put(table, checked(rows, reader.name))
                    else:
                        scratch.change(table, rows)
        assert found is not None
        return found

    def damaged(self, progress: Progress, to: Restoring | None) -> list[str]:
        """Open every object to its last byte, and name those that do not open. Pieces go to ``to``."""
        faults: list[str] = []
        objects = self.head.objects
        shelf = self.git.shelf()
        try:
            for done, one in enumerate(objects):
                progress(done, len(objects))
                try:
                    with self.opened(shelf, one) as reader:
                        for piece in self._pieces(one, reader):
                            if to is not None:
                                to.take(piece)
                except (DamagedError, KeyFaultError) as error:
                    faults.append(str(error))
                    if to is not None:
                        to.break_off()
                    # The stream stands somewhere inside of the object: begin a new one.
                    shelf.__exit__(None, None, None)
                    shelf = self.git.shelf()
        finally:
            shelf.__exit__(None, None, None)
        progress(len(objects), len(objects))
        return faults

    def is_complete(self, scratch: Scratch) -> bool:
        """Whether every object opens, and the packs hold all that the newest set needs."""
        if self.damaged(lambda done, total: None, None):
            return False
        self.resolve(self.head.newest.id, scratch, "newest")
        scratch.hashes("held")
        with self.git.shelf() as shelf:
            for one in self.head.packs:
                for piece in self.pack(shelf, one):
                    scratch.note_content("held", piece.hash, piece.total)
        scratch.contents("newest", "needs")
        return not scratch.sql.execute("SELECT count(*) FROM needs WHERE hash NOT IN (SELECT hash FROM held)").get

    def _pieces(self, one: Object, reader: Reader) -> Iterator[Piece]:
        if one.name.startswith("packs/"):
            yield from pieces(reader)
        else:
            for _ in manifest.read(reader)[1]:
                pass

    def pack(self, shelf: Shelf, one: Object) -> Iterator[Piece]:
        """The pieces of one pack."""
        with self.opened(shelf, one) as reader:
            yield from pieces(reader)
