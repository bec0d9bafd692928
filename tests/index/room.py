"""A small vault on disk with an index beside it, and plain hands to walk and look with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from index import Index, IndexSettings, Sweep
from index.fields import Digest, digest
from muninn.linking import LinksPage, links
from muninn.model.content import BadPath, ContentHash, NotePath
from muninn.model.errors import VaultUnavailableError
from muninn.model.hits import Found
from muninn.model.listing import Entry, Fault, Known, Stamp
from muninn.model.refusal import Refusal
from muninn.model.rights import Globs, Rights
from muninn.model.sight import Absent, Blocked, Elsewhere, File, Sight
from muninn.searching import Asked, search

PRIVATE = Globs(("private/",))
CLIENT = Rights("client-a", frozenset({"read"}), private_paths=PRIVATE)
KEEPER = Rights("client-p", frozenset({"read", "private"}), private_paths=PRIVATE)


def note_path(text: str) -> NotePath:
    path = NotePath.parse(text)
    assert not isinstance(path, BadPath), path
    return path


class Room:
    """A vault under ``root``, filled with other notes so that no word is in all of them."""

    def __init__(self, folder: Path, settings: IndexSettings | None = None, fillers: int = 12) -> None:
        self.root = folder / "vault"
        self.cache = folder / "cache"
        self.root.mkdir()
        self.settings = settings or IndexSettings()
        self.index = Index(self.cache, PRIVATE.cover, self.settings)
        self.unreadable: set[str] = set()
        self.elsewhere: set[str] = set()
        self.stamps: dict[str, Stamp] = {}
        self.gone = False
        self.read: list[str] = []
        for number in range(fillers):
            self.put(f"filler/f{number}.md", f"# Filler {number}\n\nplain padding sentence number {number}\n")

    def put(self, path: str, text: str | bytes) -> NotePath:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return note_path(path)

    def remove(self, path: str) -> NotePath:
        (self.root / path).unlink()
        return note_path(path)

    def walk(self, *, known: Known | None = None) -> Iterator[Entry | Fault]:
        if self.gone or not self.root.is_dir():
            raise VaultUnavailableError("the vault is not there")
        for folder, folders, names in os.walk(self.root):
            folders.sort()
            inside = Path(folder).relative_to(self.root).as_posix()
            for name in sorted(names):
                shown = name if inside == "." else f"{inside}/{name}"
                path = NotePath.parse(shown)
                if isinstance(path, BadPath):
                    yield Fault(shown, path.why)
                elif shown in self.elsewhere:
                    yield Entry(path, "elsewhere", None, shown)
                else:
                    seen = os.stat(self.root / shown)
                    real = Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
                    stamp = self.stamps.get(shown, real)
                    yield Entry(path, "note" if path.is_note else "attachment", stamp, shown)

    def look(self, path: NotePath) -> Sight:
        if self.gone or not self.root.is_dir():
            raise VaultUnavailableError("the vault is not there")
        if path in self.unreadable:
            raise PermissionError(13, "Permission denied")
        if path in self.elsewhere:
            return Elsewhere(path)
        file = self.root / path
        if file.is_symlink() or file.is_dir():
            return Blocked(path, "folder")
        if not file.is_file():
            return Absent(path)
        self.read.append(path)
        content = file.read_bytes()
        seen = file.stat()
        return File(path, path, content, ContentHash.of(content), seen.st_mode, seen.st_mtime_ns)

    def digest(self, path: NotePath) -> Digest:
        """What the index would store of a note."""
        sight = self.look(path)
        assert isinstance(sight, File)
        return digest(path, sight.content, sight.hash, sight.mtime_ns, self.settings, self.index.lexicon)

    def sweep(self) -> Sweep:
        return self.index.sweep(self.walk, self.look)

    def ask(self, asked: Asked | str, rights: Rights = CLIENT) -> Found:
        found = self.refuse(asked, rights)
        assert isinstance(found, Found), found
        return found

    def refuse(self, asked: Asked | str, rights: Rights = CLIENT) -> Found | Refusal:
        asked = Asked(asked) if isinstance(asked, str) else asked
        return search(self.index, self.look, self.walk, rights, asked)

    def hits(self, asked: Asked | str, rights: Rights = CLIENT) -> list[str]:
        return [hit.path for hit in self.ask(asked, rights).hits]

    def links(self, path: str, rights: Rights = CLIENT, offset: int = 0, page: int = 100) -> LinksPage:
        found = links(self.index, self.look, self.walk, rights, note_path(path), offset, page)
        assert found is not None
        return found
