"""One scan: compare what the vault's files look like with what the index remembers, and read only what differs.

Nothing is taken as gone on the walk's word alone: a note that the walk did not meet is looked at before it is dropped.
Where the root is not there, the walk's error goes up and nothing has been changed beyond what was read before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import apsw

from muninn.model.content import BadPath, NotePath
from muninn.model.listing import ATTACHMENT, Entry, Fault, Known, Same
from muninn.model.sight import Absent, Blocked, Elsewhere, File

from . import rows
from .fields import Digest, digest
from .schema import begin_filling, end_filling
from .settings import IndexSettings, Look, Walk
from .stamps import NO_STAMP, UNREAD, Stamps
from .store import Shelf, ShelfError, one
from .words import Lexicon

_BATCH_NOTES: Final = 1_000
_BATCH_BYTES: Final = 4 * 1024 * 1024
_LARGER: Final = 4
"""How much larger the transactions are that fill a new file: each leaves a segment that is to be joined."""
_PAUSE_S: Final = 0.0005
_PAUSE_EVERY: Final = 100
_TOLD_EVERY: Final = 500
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
    """A shelf during one scan. ``strays`` are notes it holds that belong on another shelf; ``doubted`` those that
    were met and could not be read as notes."""

    shelf: Shelf
    stamps: Stamps
    strays: list[str]
    last_scan_ns: int
    fresh: bool
    batch: list[tuple[Digest, int]] = field(default_factory=list)
    new_files: list[NotePath] = field(default_factory=list)
    doubted: set[str] = field(default_factory=set)
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
        self._met: set[str] = set()
        """Paths that were told one by one."""
        self._ended: dict[str, tuple[str, ...]] = {}
        """Folders that were told whole, with what was missing in them."""
        self._changed = 0
        self._gone = 0

    def run(self, walk: Walk, look: Look, *, gently: bool = False, progress: Progress | None = None) -> Sweep:
        """Walk, compare, read, write. ``gently`` lets other threads run in between."""
        begun = time.monotonic()
        self._go_through(walk, look, gently, progress)
        for part in self._parts:
            self._drop_gone(part, look)
            self._flush(part)
            self._finish(part)
        notes = sum(part.stamps.notes for part in self._parts)
        return Sweep(notes, self._changed, self._gone, self._all_faults(), time.monotonic() - begun)

    # --- while walking ---------------------------------------------------------------------------

    def _begin(self, shelf: Shelf) -> _Part:
        """Lay the shelf out where it is not usable, and fetch what it remembers."""
        shelf.prepare()
        strays: list[str] = []
        with shelf.holding() as connection:
            if shelf.stamps is None:
                # Row by row: at 100,000 notes a list of them all would stay in the process as memory it once had.
                stamps = Stamps()
                for (path,) in connection.execute("SELECT path FROM files"):
                    stamps.put(path, UNREAD if path.endswith(".md") else ATTACHMENT)
                for path, number in connection.execute("SELECT path, stamp FROM docs"):
                    if self._is_private(path) is shelf.private:
                        stamps.put(path, number)
                    else:
                        strays.append(path)
                shelf.stamps = stamps
            meta = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('ready', 'scanned')"))
            stamps = shelf.stamps
            if not meta.get("ready"):
                begin_filling(connection)
        began = max(shelf.scanned_ns, int(meta.get("scanned", 0)))
        return _Part(shelf, stamps, strays, began - _SLACK_NS, fresh=not meta.get("ready"))

    def _go_through(self, walk: Walk, look: Look, gently: bool, progress: Progress | None) -> None:
        since = min((part.last_scan_ns for part in self._parts if part.stamps.notes), default=0)
        walked = walk(known=Known(self._known, since, self._started_ns))
        seen = pause = said = 0
        try:
            for found in walked:
                if self._stopped():
                    raise ShelfError("the index is being closed", lost=False)
                match found:
                    case Entry():
                        self._compare(found, since, look, gently)
                    case Fault(path, reason):
                        self._faults[path] = reason
                        self._doubt(path)
                    case Same(folder, missing):
                        self._ended[folder] = missing
                        seen += len(self._known(folder))
                seen += 1
                if gently and seen >= pause:
                    pause = seen + _PAUSE_EVERY
                    time.sleep(_PAUSE_S)
                if progress is not None and seen >= said + _TOLD_EVERY:
                    said = seen
                    progress(seen)
        finally:
            if isinstance(walked, Generator):
                walked.close()

    def _doubt(self, path: str) -> None:
        """Look again at the end at what lies under a path that was known as a note."""
        part = self._part(path)
        if part.stamps.get(path) not in (None, ATTACHMENT):
            part.doubted.add(path)

    def _known(self, folder: str) -> Mapping[str, int]:
        """The names of a folder with their numbers, of both shelves."""
        public, private = (part.stamps.folders.get(folder) for part in self._parts)
        if public and private:
            return {**public, **private}
        return public or private or {}

    def _part(self, path: str) -> _Part:
        return self._parts[1 if self._is_private(path) else 0]

    def _compare(self, entry: Entry, since: int, look: Look, gently: bool) -> None:
        if entry.kind == "folder":
            self._doubt(entry.path)
            return
        path, stamp = entry.path, entry.stamp
        self._met.add(path)
        part = self._part(path)
        if entry.kind == "attachment":
            if part.stamps.get(path) != ATTACHMENT:
                part.new_files.append(path)
            return
        if entry.kind == "elsewhere" or stamp is None:
            return
        number = stamp.number
        younger = stamp.ctime_ns >= since or since <= stamp.mtime_ns <= self._started_ns
        if not younger and part.stamps.get(path) == number:
            return
        self._read(part, entry, look)
        if gently:
            time.sleep(0)
        times = _LARGER if part.fresh else 1
        if len(part.batch) >= _BATCH_NOTES * times or part.bytes_waiting >= _BATCH_BYTES * times:
            self._flush(part)

    def _read(self, part: _Part, entry: Entry, look: Look) -> None:
        path = entry.path
        try:
            sight = look(path)
        except OSError as error:
            self._faults[path] = f"it cannot be read ({error.strerror or type(error).__name__})"
            self._keep_name_only(part, path)
            return
        match sight:
            case File():
                stamp = _stamp_of(entry, sight)
                if stamp == NO_STAMP and part.stamps.get(path) is not None:
                    return
                taken = digest(path, sight.content, sight.hash, sight.mtime_ns, self._settings, self._lexicon)
                part.batch.append((taken, stamp))
                part.bytes_waiting += len(sight.content)
            case Absent() | Blocked():
                part.doubted.add(path)
            case Elsewhere():
                pass

    def _keep_name_only(self, part: _Part, path: NotePath) -> None:
        """A note that cannot be read is no more searched; links to it still lead to it."""
        known = part.stamps.get(path)
        if known == UNREAD:
            return
        self._unreadable.add(path)
        if known is not None:
            part.doubted.add(path)
        part.new_files.append(path)

    # --- writing ---------------------------------------------------------------------------------

    def _flush(self, part: _Part) -> None:
        if not (part.batch or part.new_files):
            return
        with part.shelf.writing() as connection:
            touched = self._touched()
            words = None if part.fresh else part.shelf.words
            for taken, stamp in self._put_new(connection, part, touched) if part.fresh else part.batch:
                if taken.path not in touched and rows.put(connection, taken, stamp, words):
                    self._changed += 1
                    part.learned += 1
            for path in part.new_files:
                rows.put_file(connection, path)
            for taken, stamp in part.batch:
                if taken.path not in touched:
                    part.stamps.put(taken.path, stamp)
            for path in part.new_files:
                part.stamps.put(path, UNREAD if path.is_note else ATTACHMENT)
        part.batch.clear()
        part.new_files.clear()
        part.bytes_waiting = 0

    def _put_new(self, connection: apsw.Connection, part: _Part, touched: set[NotePath]) -> list[tuple[Digest, int]]:
        """Write at once what a new shelf cannot hold yet; gives back the rest."""
        new: dict[str, tuple[Digest, int]] = {}
        rest = []
        for item in part.batch:
            path = item[0].path
            if path in new or path in touched or part.stamps.get(path) is not None:
                rest.append(item)
            else:
                new[path] = item
        rows.put_new(connection, list(new.values()))
        self._changed += len(new)
        part.learned += len(new)
        return rest

    def _drop_gone(self, part: _Part, look: Look) -> None:
        unmet = dict(self._unmet(part))
        files = sorted(path for path, number in unmet.items() if number in (ATTACHMENT, UNREAD))
        notes = part.doubted.union(unmet).difference(files)
        gone = [path for path in sorted(notes) if path in self._unreadable or _is_gone(path, look)] + part.strays
        if not gone and not files:
            return
        with part.shelf.writing() as connection:
            touched = self._touched()
            gone = [path for path in gone if path not in touched]
            for path in gone:
                rows.drop(connection, path)
            rows.drop_files(connection, files)
            for path in (*gone, *files):
                if path not in self._unreadable:
                    part.stamps.drop(path)
        self._gone += len(gone)

    def _unmet(self, part: _Part) -> Iterator[tuple[str, int]]:
        """What the shelf knows and the walk did not meet."""
        for folder in list(part.stamps.folders):
            missing = self._ended.get(folder)
            if missing == ():
                continue
            for path, number in part.stamps.paths(folder, missing):
                if path not in self._met:
                    yield path, number

    def _finish(self, part: _Part) -> None:
        """Count the words anew where much has changed, and open a new index to questions."""
        with part.shelf.holding() as connection:
            kept = dict(connection.execute("SELECT path, reason FROM faults"))
        mine = {path: reason for path, reason in self._faults.items() if self._part(path) is part}
        recount = part.fresh or part.learned >= max(200, part.stamps.notes // 20)
        if recount or kept != mine:
            with part.shelf.writing() as connection:
                if part.fresh:
                    end_filling(connection)
                if recount:
                    part.shelf.words.clear()
                    rows.count_words(connection)
                    rows.note_meta(connection, "ready", 1)
                connection.execute("DELETE FROM faults")
                connection.executemany("INSERT INTO faults VALUES(?, ?)", sorted(mine.items()))
        if part.fresh:
            # Where there were several segments, joining them leaves as many pages free as it has filled.
            with part.shelf.holding() as connection:
                if one(connection, "PRAGMA freelist_count")[0] > one(connection, "PRAGMA page_count")[0] // 10:
                    connection.execute("VACUUM")
        part.shelf.note_scan(self._started_ns)

    def _all_faults(self) -> tuple[Fault, ...]:
        found: list[Fault] = []
        for part in self._parts:
            with part.shelf.holding() as connection:
                found += faults_of(connection)
        return tuple(found)


def _stamp_of(entry: Entry, sight: File) -> int:
    """The number under which a reading is remembered: none where another file was read than the walk told of, which
    is so where two files' names differ in Unicode form alone. One of them is read; the other must not pass for it."""
    told = entry.stamp
    if told is None:
        return NO_STAMP
    same = entry.stored == sight.stored or (told.size, told.mtime_ns) == (len(sight.content), sight.mtime_ns)
    return told.number if same else NO_STAMP


def _is_gone(path: str, look: Look) -> bool:
    """Whether nothing is left under a path that is to be searched; asked of the vault, past the walk."""
    checked = NotePath.parse(path)
    if isinstance(checked, BadPath):
        return True
    try:
        sight = look(checked)
    except OSError:  # as a rule the folder cannot be entered: then nobody knows
        return False
    return isinstance(sight, (Absent, Blocked))


def faults_of(connection: apsw.Connection) -> list[Fault]:
    """Every path that could not be taken in whole, with the reason, by path."""
    sql = "SELECT path, reason FROM faults UNION ALL SELECT path, fault FROM docs WHERE fault IS NOT NULL ORDER BY 1"
    return [Fault(path, reason) for path, reason in connection.execute(sql)]


def count_notes(connection: apsw.Connection) -> int:
    """How many notes an index file holds."""
    return int(one(connection, "SELECT count(*) FROM docs")[0])
