"""One scan: compare what the vault's files look like with what the index remembers, and read only what differs.

Nothing is taken as gone on the walk's word alone: a note that the walk did not meet is looked at before it is dropped.
Where the root is not there, the walk's error goes up and nothing has been changed beyond what was read before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import apsw

from muninn.model.content import BadPath, NotePath
from muninn.model.listing import Entry, Fault
from muninn.model.sight import Absent, Blocked, Elsewhere, File

from . import rows
from .fields import Digest, digest
from .settings import IndexSettings, Look, Walk
from .store import Shelf, ShelfError, one
from .words import Lexicon

_BATCH_NOTES: Final = 500
_BATCH_BYTES: Final = 8 * 1024 * 1024
_PAUSE_S: Final = 0.0005
_PAUSE_EVERY: Final = 100
_SLACK_NS: Final = 2_000_000_000
"""Some file systems keep times to two seconds only."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a scan found: notes in all, those that changed, those gone, what could not be taken in, the time it took."""

    notes: int
    changed: int
    gone: int
    faults: tuple[Fault, ...]
    seconds: float


@dataclass(slots=True)
class _Part:
    """A shelf during one scan."""

    shelf: Shelf
    stamps: dict[str, int]
    unseen: set[str]
    unseen_files: set[str]
    last_scan_ns: int
    fresh: bool
    batch: list[tuple[Digest, int]] = field(default_factory=list)
    new_files: list[NotePath] = field(default_factory=list)
    bytes_waiting: int = 0
    learned: int = 0


class Scan:
    """One scan over two shelves. ``touched`` gives the paths that others wrote into the index meanwhile, ``stopped``
    whether to give up."""

    def __init__(
        self,
        shelves: tuple[Shelf, Shelf],
        settings: IndexSettings,
        lexicon: Lexicon,
        is_private: Callable[[str], bool],
        touched: Callable[[], set[NotePath]],
        stopped: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._lexicon = lexicon
        self._is_private = is_private
        self._touched = touched
        self._stopped = stopped
        self._started_ns = time.time_ns()
        self._parts = tuple(self._begin(shelf) for shelf in shelves)
        self._faults: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self._changed = 0
        self._gone = 0

    def run(self, walk: Walk, look: Look, *, gently: bool = False, progress: Progress | None = None) -> Sweep:
        """Walk, compare, read, write. ``gently`` lets other threads run in between."""
        begun = time.monotonic()
        for seen, found in enumerate(walk(), 1):
            if self._stopped():
                raise ShelfError("the index is being closed", lost=False)
            if gently and seen % _PAUSE_EVERY == 0:
                time.sleep(_PAUSE_S)
            if isinstance(found, Fault):
                self._faults[found.path] = found.reason
            else:
                self._compare(found, look, gently)
            if progress is not None and seen % _BATCH_NOTES == 0:
                progress(seen)
        for part in self._parts:
            self._drop_gone(part, look)
            self._flush(part)
            self._finish(part)
        notes = sum(len(part.stamps) for part in self._parts)
        return Sweep(notes, self._changed, self._gone, self._all_faults(), time.monotonic() - begun)

    # --- while walking ---------------------------------------------------------------------------

    def _begin(self, shelf: Shelf) -> _Part:
        """Lay the shelf out where it is not usable, and fetch what it remembers."""
        shelf.prepare()
        with shelf.holding() as connection:
            if shelf.stamps is None:
                shelf.stamps = dict(connection.execute("SELECT path, stamp FROM docs"))
            files = {path for (path,) in connection.execute("SELECT path FROM files")}
            meta = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('ready', 'scanned')"))
            stamps = shelf.stamps
        began = max(shelf.scanned_ns, int(meta.get("scanned", 0)))
        return _Part(shelf, stamps, set(stamps), files, began - _SLACK_NS, fresh=not meta.get("ready"))

    def _part(self, path: str) -> _Part:
        return self._parts[1 if self._is_private(path) else 0]

    def _compare(self, entry: Entry, look: Look, gently: bool) -> None:
        if entry.kind == "folder":
            return
        part = self._part(entry.path)
        if entry.kind == "note":
            self._compare_note(part, entry, look, gently)
        elif entry.kind == "elsewhere":
            part.unseen.discard(entry.path)
            part.unseen_files.discard(entry.path)
        elif entry.path in part.unseen_files:
            part.unseen_files.discard(entry.path)
        else:
            part.new_files.append(entry.path)

    def _compare_note(self, part: _Part, entry: Entry, look: Look, gently: bool) -> None:
        path, stamp = entry.path, entry.stamp
        if stamp is None:
            return
        part.unseen.discard(path)
        number = rows.stamp_number(stamp)
        younger = stamp.ctime_ns >= part.last_scan_ns or part.last_scan_ns <= stamp.mtime_ns <= self._started_ns
        if part.stamps.get(path) == number and not younger:
            return
        self._read(part, path, number, look)
        if gently:
            time.sleep(0)
        if len(part.batch) >= _BATCH_NOTES or part.bytes_waiting >= _BATCH_BYTES:
            self._flush(part)

    def _read(self, part: _Part, path: NotePath, stamp: int, look: Look) -> None:
        try:
            sight = look(path)
        except OSError as error:
            self._faults[path] = f"it cannot be read ({error.strerror or type(error).__name__})"
            self._keep_name_only(part, path)
            return
        match sight:
            case File():
                part.unseen_files.discard(path)
                taken = digest(path, sight.content, sight.hash, sight.mtime_ns, self._settings, self._lexicon)
                part.batch.append((taken, stamp))
                part.bytes_waiting += len(sight.content)
            case Absent() | Blocked():
                part.unseen.add(path)
            case Elsewhere():
                pass

    def _keep_name_only(self, part: _Part, path: NotePath) -> None:
        """A note that cannot be read is no more searched; links to it still lead to it."""
        self._unreadable.add(path)
        if path in part.stamps:
            part.unseen.add(path)
        if path in part.unseen_files:
            part.unseen_files.discard(path)
        else:
            part.new_files.append(path)

    # --- writing ---------------------------------------------------------------------------------

    def _flush(self, part: _Part) -> None:
        if not (part.batch or part.new_files):
            return
        with part.shelf.writing() as connection:
            touched = self._touched()
            for taken, stamp in part.batch:
                if taken.path in touched:
                    continue
                if rows.put(connection, taken, stamp, new_words=not part.fresh):
                    self._changed += 1
                    part.learned += 1
            for path in part.new_files:
                rows.put_file(connection, path)
        for taken, stamp in part.batch:
            if taken.path not in touched:
                part.stamps[taken.path] = stamp
        part.batch.clear()
        part.new_files.clear()
        part.bytes_waiting = 0

    def _drop_gone(self, part: _Part, look: Look) -> None:
        gone = [path for path in sorted(part.unseen) if self._is_gone(part, path, look)]
        files = sorted(part.unseen_files)
        if not gone and not files:
            return
        with part.shelf.writing() as connection:
            touched = self._touched()
            gone = [path for path in gone if path not in touched]
            for path in gone:
                rows.drop(connection, path)
            rows.drop_files(connection, files)
        for path in gone:
            part.stamps.pop(path, None)
        self._gone += len(gone)

    def _is_gone(self, part: _Part, path: str, look: Look) -> bool:
        if path in self._unreadable or self._part(path) is not part:
            return True
        checked = NotePath.parse(path)
        if isinstance(checked, BadPath):
            return True
        try:
            sight = look(checked)
        except OSError:  # as a rule the folder cannot be entered: then nobody knows
            return False
        return isinstance(sight, (Absent, Blocked))

    def _finish(self, part: _Part) -> None:
        """Count the words anew where much has changed, and open a new index to questions."""
        with part.shelf.holding() as connection:
            kept = dict(connection.execute("SELECT path, reason FROM faults"))
        mine = {path: reason for path, reason in self._faults.items() if self._part(path) is part}
        recount = part.fresh or part.learned >= max(200, len(part.stamps) // 20)
        if recount or kept != mine:
            with part.shelf.writing() as connection:
                if part.fresh:
                    connection.execute("INSERT INTO terms(terms) VALUES('optimize')")
                if recount:
                    rows.count_words(connection)
                    rows.note_meta(connection, "ready", 1)
                connection.execute("DELETE FROM faults")
                connection.executemany("INSERT INTO faults VALUES(?, ?)", sorted(mine.items()))
        if part.fresh:
            # Joining the segments of a whole build leaves a third of the pages free.
            with part.shelf.holding() as connection:
                connection.execute("VACUUM")
        part.shelf.note_scan(self._started_ns)

    def _all_faults(self) -> tuple[Fault, ...]:
        found: list[Fault] = []
        for part in self._parts:
            with part.shelf.holding() as connection:
                found += faults_of(connection)
        return tuple(found)


def faults_of(connection: apsw.Connection) -> list[Fault]:
    """Every path that could not be taken in whole, with the reason, by path."""
    sql = "SELECT path, reason FROM faults UNION ALL SELECT path, fault FROM docs WHERE fault IS NOT NULL ORDER BY 1"
    return [Fault(path, reason) for path, reason in connection.execute(sql)]


def count_notes(connection: apsw.Connection) -> int:
    """How many notes an index file holds."""
    return int(one(connection, "SELECT count(*) FROM docs")[0])
