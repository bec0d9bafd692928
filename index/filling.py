"""Make vectors in the background, for as long as there are notes without: newest and most linked first, at half pace.

Only public notes are looked at; each text becomes a ``PublicText`` or goes nowhere. The index says which notes there
are and at which bytes; a note that is gone, or has become private, loses its vectors. All of it can be thrown away.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Final

import apsw

from muninn.model.content import NotePath
from muninn.model.errors import IndexBrokenError, VaultUnavailableError
from muninn.model.frontmatter import Scalar
from muninn.model.sight import File

from .blocks import passages
from .catalogue import Index
from .encoding import Encoder
from .fields import read
from .public import PublicText
from .semantic import Semantic, Snapshot
from .settings import Look
from .vectors import FILE, MOST_IN_ALL, Vectors

_log = logging.getLogger("muninn.models")

EVERY_S: Final = 20.0
SHOW_EVERY_S: Final = 15.0
"""While there is much to fill, what is there so far is put before the questions no more often than that."""
_REST: Final = 1.0
"""Seconds of rest for each second of work: half of one core at most."""
_DESCRIPTION_CHARS: Final = 300


def keep_filled(semantic: Semantic, index: Index, look: Look, stop: threading.Event) -> None:
    """The body of a thread: fill, wait, fill again, until ``stop``. What fails is said once and tried again."""
    trouble = ""
    filler: Filler | None = None
    while not stop.is_set():
        try:
            if semantic.worker.wait_ready(1.0):
                if filler is None:
                    filler = Filler(semantic, index, look, semantic.worker.thing())
                filler.fill(stop)
                trouble = ""
        except (VaultUnavailableError, IndexBrokenError):
            pass  # the scan says what is wrong with them
        except Exception as error:  # a full disk, a damaged file, or whatever a foreign model raises
            if trouble != type(error).__name__:
                trouble = type(error).__name__
                _log.warning("vectors cannot be made (%s); it will be tried again", trouble)
            _throw_away(filler, semantic, damaged=isinstance(error, (apsw.CorruptError, apsw.NotADBError)))
            filler = None
        stop.wait(EVERY_S)
    if filler is not None:
        filler.close()


def _throw_away(filler: Filler | None, semantic: Semantic, *, damaged: bool) -> None:
    if filler is not None:
        with contextlib.suppress(apsw.Error):
            filler.close()
    if damaged:
        semantic.snapshot = Snapshot()
        with contextlib.suppress(OSError):
            (semantic.cache / FILE).unlink(missing_ok=True)


class Filler:
    """Brings the vectors up to the vault. Used by one thread."""

    def __init__(self, semantic: Semantic, index: Index, look: Look, encoder: Encoder, rest: float = _REST) -> None:
        self._semantic = semantic
        self._index = index
        self._look = look
        self._encoder = encoder
        self._rest = rest
        self._vectors = Vectors(semantic.cache, encoder.key, encoder.size)
        self._shown = 0.0
        self._dirty = True

    def close(self) -> None:
        """Close the file of vectors."""
        self._vectors.close()

    def fill(self, stop: threading.Event) -> None:
        """Make what is missing and drop what is gone, until nothing differs or ``stop``.

        Raises IndexBrokenError or VaultUnavailableError where there is no saying what the vault holds.
        """
        wanted = self._wanted()
        known = self._vectors.known()
        gone = [path for path in known if path not in wanted]
        if gone:
            self._vectors.drop(gone)
            self._dirty = True
        fresh = sum(known.get(path) == digest for path, digest in wanted.items())
        count = self._vectors.count()
        for path, digest in wanted.items():
            if stop.is_set() or count >= MOST_IN_ALL:
                break
            if known.get(path) == digest:
                continue
            made = self._take(path, stop)
            if made is not None:
                count, fresh, self._dirty = count + made, fresh + 1, True
            if time.monotonic() - self._shown > SHOW_EVERY_S:
                self._show(fresh / len(wanted))
        self._show(fresh / len(wanted) if wanted else 1.0)
        self._semantic.filled.set()

    def _wanted(self) -> dict[NotePath, str]:
        """The public notes with the hash the index knows them by: the newest and most linked first."""
        sql = (
            "SELECT path, lower(hex(hash)), day, (SELECT count(*) FROM links WHERE links.name = docs.name) AS pointing"
            " FROM docs"
        )
        with self._index.public() as connection:
            rows = list(connection.execute(sql))
        newest = {
            path: place for place, (path, _, _, _) in enumerate(sorted(rows, key=lambda row: row[2], reverse=True))
        }
        linked = {path: place for place, (path, _, _, _) in enumerate(sorted(rows, key=lambda row: -row[3]))}
        rows.sort(key=lambda row: (newest[row[0]] + linked[row[0]], row[0]))
        return {NotePath(path): digest for path, digest, _, _ in rows}

    def _take(self, path: NotePath, stop: threading.Event) -> int | None:
        """Make a note's vectors; how many passages it has, or None where it cannot be read now."""
        try:
            sight = self._look(path)
        except OSError:
            return None
        if not isinstance(sight, File):
            return None
        seen = read(path, sight.content, sight.hash, sight.mtime_ns, self._index.settings)
        described = seen.note.node("description")
        description = described.typed if isinstance(described, Scalar) and described.value is not None else ""
        texts = passages(
            seen.facts.title[:_DESCRIPTION_CHARS],
            " ".join(description.split())[:_DESCRIPTION_CHARS],
            seen.text[seen.facts.body :],
        )
        clear = [text for text in (self._index.clear(path, text) for text in texts) if text is not None]
        if len(clear) != len(texts):
            return None
        self._vectors.put(path, sight.hash, texts, lambda numbers: self._encode([clear[n] for n in numbers], stop))
        return len(texts)

    def _encode(self, texts: Sequence[PublicText], stop: threading.Event) -> list[list[float]]:
        """One after the other with a rest after each, so that the door has the machine half of the time."""
        made: list[list[float]] = []
        for text in texts:
            began = time.monotonic()
            made += [_numbers(vector) for vector in self._encoder.passages([text])]
            stop.wait((time.monotonic() - began) * self._rest)
        return made

    def _show(self, share: float) -> None:
        """Put the vectors before the questions."""
        if self._dirty:
            self._semantic.snapshot = Snapshot(self._vectors.matrix(), share)
            self._dirty = False
        elif self._semantic.snapshot.share != share:
            self._semantic.snapshot = Snapshot(self._semantic.snapshot.matrix, share)
        self._shown = time.monotonic()


def _numbers(vector: Iterable[float]) -> list[float]:
    return [float(number) for number in vector]
