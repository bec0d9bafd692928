"""The index of one vault: two files, one for public notes and one for private ones, and what may be asked of them.

It is made from the vault alone and can be thrown away at any moment. Opening never fails: a file that is missing,
damaged or from another version is made anew by the next scan, and until then questions raise ``IndexBrokenError``.
"""

from __future__ import annotations

import contextlib
import logging
import pathlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import apsw

from muninn.model.content import ContentHash, NotePath
from muninn.model.errors import IndexBrokenError, VaultUnavailableError
from muninn.model.listing import Fault
from muninn.model.sight import File

from .asking import Candidates, Filters, ask
from .lookup import ShelfNames
from .public import PublicText, public_text
from .question import Question, read
from .scan import Progress, Scan, Sweep, count_notes, faults_of
from .settings import IndexSettings, Look, Walk
from .store import NotReadyError, Shelf, ShelfError, one
from .taking import Taking
from .words import Lexicon

_MANY: Final = 2_000
"""Notes after which the words that were worked out for them are given back."""
_log = logging.getLogger("muninn.index")


@dataclass(frozen=True, slots=True)
class IndexState:
    """How the index stands. ``age_s`` is the time since the last whole scan began, None before the first."""

    state: Literal["ready", "building", "broken"]
    age_s: float | None
    notes: int
    faults: tuple[Fault, ...]


class Index:
    """All that is known of the vault's words, names and links. Safe to use from several threads."""

    def __init__(
        self, cache: pathlib.Path, is_private: Callable[[str], bool], settings: IndexSettings | None = None
    ) -> None:
        self.settings = settings or IndexSettings()
        self.lexicon = Lexicon(self.settings.language)
        self._is_private = is_private
        self._public = Shelf(cache / "index.db", self.settings, private=False)
        self._private = Shelf(cache / "index-private.db", self.settings, private=True)
        self._taking = Taking(self.settings, self.lexicon)
        self._sweeping = threading.Lock()
        self._mending = threading.Lock()
        self._touched: set[NotePath] = set()
        self._closing = False
        self._failures = 0
        self._made_good = 0
        """A change that could not be written leaves the index behind the vault, until a scan has gone through."""
        self._scanned: float | None = None

    # --- keeping up with the vault -----------------------------------------------------------------

    def sweep(self, walk: Walk, look: Look, *, gently: bool = False, progress: Progress | None = None) -> Sweep:
        """Bring the index up to the vault: read what differs, drop what is gone, make anew what is broken.

        Raises VaultUnavailableError (nothing is dropped then) and IndexBrokenError where the index cannot be written.
        """
        with self._sweeping:
            self._touched = set()
            began, failures = time.time(), self._failures
            try:
                scan = self._scan(self._public, self._private)
                swept = scan.run(walk, look, gently=gently, progress=progress)
            except IndexBrokenError:
                self._failures += not self._closing
                raise
            self._settle(failures, began, swept)
            return swept

    def rebuild(self, walk: Walk, look: Look, progress: Progress | None = None) -> Sweep:
        """Make the index anew beside the old one, which answers meanwhile, and put it in its place."""
        with self._sweeping:
            self._touched = set()
            began, failures = time.time(), self._failures
            fresh = [
                Shelf(shelf.file.with_suffix(".new"), self.settings, shelf.private)
                for shelf in (self._public, self._private)
            ]
            try:
                for shelf in fresh:
                    shelf.discard()
                    shelf.lost = True
                swept = self._scan(*fresh).run(walk, look, progress=progress)
                for old, new in zip((self._public, self._private), fresh, strict=True):
                    old.replace_with(new)
            finally:
                for shelf in fresh:
                    shelf.discard()
            self._settle(failures, began, swept)
            touched = list(self._touched)
        self.nudge(touched, look)
        return swept

    def _settle(self, failures: int, began: float, swept: Sweep) -> None:
        self._made_good = failures
        self._scanned = began
        if swept.changed > _MANY:
            self.lexicon.forget()

    def nudge(self, paths: Iterable[NotePath], look: Look) -> None:
        """Look at exactly these paths now. The next question sees what lies there. Never raises: what goes wrong
        leaves the index marked as behind, and the next scan makes it good."""
        asked = list(paths)
        for shelf, private in ((self._public, False), (self._private, True)):
            mine = [path for path in asked if bool(self._is_private(path)) is private]
            try:
                if mine:
                    self._taking.take(shelf, mine, look, lambda: self._touched)
            except (IndexBrokenError, VaultUnavailableError, OSError) as error:
                self._failures += 1
                _log.warning("the index could not follow a change (%s); the next scan will", type(error).__name__)

    def recheck(self, look: Look, after: str, count: int) -> str:
        """Hash up to ``count`` notes whose paths come after ``after``, and take in those that differ from what is
        known. Gives the last path looked at, ``""`` where there was none left."""
        known: dict[str, bytes] = {}
        for shelf in self._shelves(private=True):
            with shelf.reading() as connection:
                sql = "SELECT path, hash FROM docs WHERE path > ? ORDER BY path LIMIT ?"
                known |= dict(connection.execute(sql, (after, count)))
        last = ""
        for last in sorted(known)[:count]:
            with contextlib.suppress(OSError):
                sight = look(NotePath(last))
                if isinstance(sight, File) and bytes.fromhex(sight.hash) != known[last]:
                    self.nudge([sight.path], look)
        return last

    def mend(self, walk: Walk, look: Look) -> None:
        """Start one scan in the background, to repair what is broken; nothing where one is running already."""
        if not self._sweeping.locked() and self._mending.acquire(blocking=False):
            threading.Thread(target=self._mend, args=(walk, look), name="index-mend", daemon=True).start()

    def _mend(self, walk: Walk, look: Look) -> None:
        try:
            self.sweep(walk, look, gently=True)
        except (IndexBrokenError, VaultUnavailableError) as error:
            _log.warning("the index could not be repaired yet (%s)", error)
        finally:
            self._mending.release()

    def _scan(self, public: Shelf, private: Shelf) -> Scan:
        return Scan(
            (public, private),
            self.settings,
            self.lexicon,
            self._is_private,
            lambda: self._touched,
            lambda: self._closing,
        )

    # --- being asked ---------------------------------------------------------------------------------

    def read(self, text: str) -> Question:
        """Read a question in plain words."""
        return read(text, self.lexicon)

    def ask(
        self,
        question: Question,
        filters: Filters,
        sees: Callable[[str], bool],
        want: int,
        *,
        private: bool,
        everything: bool = False,
    ) -> tuple[Candidates, ...]:
        """The best notes of the public shelf and, only with ``private``, of the private one. ``everything`` says that
        ``sees`` lets through all that is on these shelves.

        Raises IndexBrokenError where the index cannot answer or is known to be behind the vault.
        """
        self._refuse_if_behind()
        answers = []
        for shelf in self._shelves(private):
            with shelf.reading() as connection:
                answers.append(ask(connection, question, filters, sees, want, everything=everything))
        return tuple(answers)

    @contextlib.contextmanager
    def public(self) -> Iterator[apsw.Connection]:
        """The public shelf, for as long as the context lasts. Raises as ``ask`` does."""
        self._refuse_if_behind()
        with self._public.reading() as connection:
            yield connection

    def clear(self, path: NotePath, text: str) -> PublicText | None:
        """A note's text for a model; None where the path is private."""
        return public_text(path, text, self._is_private)

    @contextlib.contextmanager
    def names(self, *, private: bool) -> Iterator[ShelfNames]:
        """The vault's names and links, for as long as the context lasts. Raises as ``ask`` does."""
        self._refuse_if_behind()
        with self._public.reading() as public:
            if not private:
                yield ShelfNames((public,))
                return
            with self._private.reading() as hidden:
                yield ShelfNames((public, hidden))

    def age_s(self) -> float | None:
        """Seconds since the last whole scan began; None where that is not known."""
        began = self._scanned
        if began is None:
            with contextlib.suppress(IndexBrokenError), self._public.reading() as connection:
                found = one(connection, "SELECT value FROM meta WHERE key='scanned'")
                began = found[0] / 1e9 if found is not None and found[0] else None
        return None if began is None else max(0.0, round(time.time() - began, 1))

    def state(self, *, private: bool = True) -> IndexState:
        """Whether the index can answer, how old it is, what it holds, and what it could not take in.

        Without ``private`` nothing of private notes is counted or named.
        """
        notes, faults = 0, []
        try:
            for shelf in self._shelves(private):
                with shelf.reading() as connection:
                    notes += count_notes(connection)
                    faults += faults_of(connection)
        except NotReadyError:
            return IndexState("building", None, 0, ())
        except IndexBrokenError:
            building = self._sweeping.locked() or not self._public.file.exists()
            return IndexState("building" if building else "broken", self.age_s(), 0, ())
        word: Literal["ready", "broken"] = "broken" if self._is_behind() else "ready"
        return IndexState(word, self.age_s(), notes, tuple(faults))

    def size(self, *, private: bool) -> int:
        """The bytes that the index takes on disk, its logs included; without ``private`` those of the public file."""
        return sum(shelf.size() for shelf in self._shelves(private))

    def examine(self) -> str | None:
        """Look through both files, and write into each; what is wrong, None where nothing is. Slow, for a person who
        asks: a scan proves every time that the index can be written, and a question that it finds what it holds."""
        try:
            for shelf in self._shelves(private=True):
                shelf.examine()
        except IndexBrokenError as error:
            return str(error)
        return "a change could not be written to it" if self._is_behind() else None

    def hashes(self, *, private: bool) -> list[tuple[NotePath, ContentHash]]:
        """Every note with the hash it was taken in at; private ones only where asked for. Raises as ``ask`` does."""
        found: list[tuple[NotePath, ContentHash]] = []
        for shelf in self._shelves(private):
            with shelf.reading() as connection:
                known = connection.execute("SELECT path, lower(hex(hash)) FROM docs")
                found += [(NotePath(str(path)), ContentHash(str(digest))) for path, digest in known]
        return found

    def close(self) -> None:
        """End a scan that is running and close the files. A later question opens them again."""
        self._closing = True
        with self._mending, self._sweeping:
            self._public.close()
            self._private.close()
            self._closing = False

    def _shelves(self, private: bool) -> tuple[Shelf, ...]:
        return (self._public, self._private) if private else (self._public,)

    def _is_behind(self) -> bool:
        return self._failures > self._made_good

    def _refuse_if_behind(self) -> None:
        if self._is_behind():
            raise ShelfError("a change could not be written to the index", lost=False)
