"""Take exactly these paths into a shelf as they lie there now: how the index follows a change through the door.

A large note's digest costs seconds. It is made before the transaction, so that no other change waits for it, and for
one large note at a time, so that many of them leave the processor to the others. What lies there is looked at again
inside the transaction: what changed meanwhile is taken again, and what another has taken since is not set back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import apsw

from muninn.model.content import NotePath
from muninn.model.listing import ATTACHMENT
from muninn.model.sight import Absent, Blocked, Elsewhere, File, Sight

from . import rows
from .fields import Digest, digest
from .settings import IndexSettings, Look
from .stamps import NO_STAMP
from .store import Shelf, one
from .words import Lexicon

_LARGE: Final = 256 * 1024
"""Bytes of a file, from which on those who take one wait for one another: up to there a digest costs half a second at
most (links without a space between them, the slowest text there is), and a folder may have 2,500 notes on its page."""
_ROUNDS: Final = 3
"""How often what changes meanwhile is taken again. Whoever changed it last comes by the same way, or a scan does."""


@dataclass(slots=True)
class Taking:
    """Takes paths in. Safe to use from several threads."""

    settings: IndexSettings
    lexicon: Lexicon
    _one_large: threading.Lock = field(default_factory=threading.Lock)

    def take(self, shelf: Shelf, paths: list[NotePath], look: Look, touched: Callable[[], set[NotePath]]) -> None:
        """A note and its folder's page in one transaction: both are found by the next question, or neither.

        ``touched`` gives the set in which they are noted for a scan that runs. Raises what ``look`` and the shelf do;
        then nothing was taken.
        """
        seen = {path: look(path) for path in paths}
        if any(isinstance(sight, File) and len(sight.content) > _LARGE for sight in seen.values()):
            with self._one_large:
                self._take(shelf, {path: look(path) for path in paths}, look, touched)
        else:
            self._take(shelf, seen, look, touched)

    def _take(
        self, shelf: Shelf, seen: dict[NotePath, Sight], look: Look, touched: Callable[[], set[NotePath]]
    ) -> None:
        made: dict[NotePath, Digest] = {}
        for left in reversed(range(_ROUNDS)):
            self._make(made, seen)
            with shelf.writing() as connection:
                touched().update(seen)
                seen = {path: look(path) for path in seen}
                if left and any(_is_new(connection, made.get(path), path, sight) for path, sight in seen.items()):
                    continue
                for path, sight in seen.items():
                    _put(shelf, connection, made.get(path), path, sight)
            break
        for path, sight in seen.items():
            _remember(shelf, path, sight)

    def _make(self, made: dict[NotePath, Digest], seen: dict[NotePath, Sight]) -> None:
        """The digests of the notes that were seen, but those that are made already."""
        for path, sight in seen.items():
            if isinstance(sight, File) and path.is_note and not _is_of(made.get(path), sight):
                made[path] = digest(path, sight.content, sight.hash, sight.mtime_ns, self.settings, self.lexicon)


def _is_of(taken: Digest | None, sight: File) -> bool:
    return taken is not None and taken.hash == sight.hash


def _is_new(connection: apsw.Connection, taken: Digest | None, path: NotePath, sight: Sight) -> bool:
    """Whether a note lies there of which there is no digest, neither at hand nor in the index."""
    return (
        isinstance(sight, File) and path.is_note and not _is_of(taken, sight) and not _is_held(connection, path, sight)
    )


def _is_held(connection: apsw.Connection, path: NotePath, sight: File) -> bool:
    row = one(connection, "SELECT hash FROM docs WHERE path=?", (path,))
    return row is not None and bool(row[0] == bytes.fromhex(sight.hash))


def _put(shelf: Shelf, connection: apsw.Connection, taken: Digest | None, path: NotePath, sight: Sight) -> None:
    match sight:
        case File() if path.is_note:
            if taken is not None and (_is_of(taken, sight) or not _is_held(connection, path, sight)):
                rows.put(connection, taken, NO_STAMP, shelf.words)
        case File():
            rows.put_file(connection, path)
        case Absent() | Blocked():
            rows.drop(connection, path)
            rows.drop_files(connection, [path])
        case Elsewhere():
            pass


def _remember(shelf: Shelf, path: NotePath, sight: Sight) -> None:
    """What the next scan is to know of the path: that it must be read again, or that nothing is there."""
    if shelf.stamps is None or isinstance(sight, Elsewhere):
        return
    if isinstance(sight, File):
        shelf.stamps.put(path, NO_STAMP if path.is_note else ATTACHMENT)
    else:
        shelf.stamps.drop(path)
