"""What each file of a shelf looked like when it was read last: by folder, then by name.

A walk compares a whole folder at once, so that an unchanged one costs a stat and a look-up a file and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from muninn.model.listing import ATTACHMENT

NO_STAMP: Final = 0
"""Stands for a note that was read without a look at its file's stamp: the next scan reads it again."""
UNREAD: Final = -4
"""Stands for a note that could not be read, of which only the name is known: every scan tries it again."""
_NO_NOTES: Final = (ATTACHMENT, UNREAD)


class Stamps:
    """The stamps' numbers of a shelf's files. Changed under the shelf's lock; read without, so never cut a dict's
    reading in two."""

    def __init__(self) -> None:
        self.folders: dict[str, dict[str, int]] = {}
        self.notes = 0
        """How many of the files are searched notes."""

    def get(self, path: str) -> int | None:
        """The number under a path, None where it is not known."""
        folder, _, name = path.rpartition("/")
        names = self.folders.get(folder)
        return None if names is None else names.get(name)

    def put(self, path: str, number: int) -> None:
        """Keep a number under a path."""
        folder, _, name = path.rpartition("/")
        names = self.folders.setdefault(folder, {})
        before = names.get(name, ATTACHMENT)
        self.notes += (number not in _NO_NOTES) - (before not in _NO_NOTES)
        names[name] = number

    def drop(self, path: str) -> None:
        """Forget a path."""
        folder, _, name = path.rpartition("/")
        names = self.folders.get(folder)
        if names is None:
            return
        self.notes -= names.pop(name, ATTACHMENT) not in _NO_NOTES
        if not names:
            del self.folders[folder]

    def paths(self, folder: str, names: Iterable[str] | None = None) -> Iterator[tuple[str, int]]:
        """The known ones of these names of a folder, or all its names, as paths with their numbers."""
        known = dict(self.folders.get(folder, ()))
        for name in known if names is None else names:
            if name in known:
                yield f"{folder}/{name}" if folder else name, known[name]
