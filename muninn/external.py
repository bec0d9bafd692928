"""What happens around the door: found by its bytes, kept, and recorded as events of nobody known.

The ledger knows what each path last held. Whatever a scan or a write finds to differ from that is one event
``external``, once: after it the ledger knows the new bytes. Notes that were there before the first scan are no events;
with ``baseline`` their bytes are kept as well, so that the first outside edit can be undone, too.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from index import Look
from muninn.door import Door
from muninn.model.change import Change
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.errors import IndexBrokenError, LedgerUnavailableError, VaultUnavailableError
from muninn.model.sight import Blocked, File, Sight, basis_of
from muninn.vault import write_lock

BASELINE_BYTES: Final = 256 * 1024 * 1024
_BATCH: Final = 200
_AT_ONCE: Final = 50
_PAUSE_S: Final = 0.2
_FIRST_AFTER_S: Final = 1.0

log = logging.getLogger("muninn.external")


class Suspects:
    """Paths that a scan had to read: what changed around the door is among them."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._paths: set[NotePath] = set()
        self._lock = threading.Lock()

    def look(self, path: NotePath) -> Sight:
        """The vault's look, remembering the path."""
        if path.is_note:
            with self._lock:
                self._paths.add(path)
        return self._look(path)

    def take(self) -> list[NotePath]:
        """The paths since the last time, sorted."""
        with self._lock:
            taken, self._paths = sorted(self._paths), set()
        return taken

    def give_back(self, paths: Iterable[NotePath]) -> None:
        """Keep paths for the next time, because they could not be dealt with now."""
        with self._lock:
            self._paths.update(paths)


def keep_witness(door: Door, suspects: Suspects, keep_bytes: bool, stop: threading.Event) -> None:
    """The body of a thread: after the first scan note what was there, then record what every later scan finds."""
    begun, trouble = False, ""
    with suppress(LedgerUnavailableError):
        if door.ledger.has_begun():  # what differs from it will be found as well when the first calls are answered
            stop.wait(_FIRST_AFTER_S)
    while not stop.is_set():
        paths: list[NotePath] = []
        try:
            if begun:
                paths = suspects.take()
                record(door, paths)
            elif door.index.age_s() is not None:
                begin(door, door.index.hashes(private=True), keep_bytes)
                begun = True
            trouble = ""
        except (LedgerUnavailableError, VaultUnavailableError, IndexBrokenError) as error:
            suspects.give_back(paths)
            if trouble != str(error):
                trouble = str(error)
                log.warning("what came around the door cannot be recorded now: %s", error)
        stop.wait(_PAUSE_S)


def record(door: Door, paths: Iterable[NotePath]) -> int:
    """Record what came around the door at these paths since the ledger last knew them. Gives the number of events."""
    suspects = [path for path in paths if _differs(door, path)]
    if not suspects:
        return 0
    with write_lock(door.home):
        return record_locked(door, suspects)


def record_locked(door: Door, paths: Iterable[NotePath]) -> int:
    """The same under a write lock that is held already: no plan is being played meanwhile."""
    changes: list[Change] = []
    contents: dict[ContentHash, bytes] = {}
    for path in paths:
        change = _change(door, path, contents)
        if change is not None:
            changes.append(change)
    if changes:
        # What a pending plan has landed is our own, although its event is still to come.
        own = {(change.path, change.after) for entry in door.ledger.open_entries() for change in entry.changes}
        changes = [change for change in changes if (change.path, change.after) not in own]
    if changes:
        door.ledger.witness(changes, contents)
        door.coverage.bare.difference_update(change.path for change in changes)
    return len(changes)


def begin(door: Door, notes: Iterable[tuple[NotePath, ContentHash]], keep_bytes: bool) -> None:
    """After a whole scan: note what the ledger does not know yet, and record what differs from what it knows.

    ``notes`` are the paths and hashes that the scan found. At the first scan of all, they become the baseline.
    """
    found = dict(notes)
    unknown, differing = [], []
    for number, (path, digest) in enumerate(found.items()):
        if number % _AT_ONCE == _AT_ONCE - 1:
            time.sleep(0.001)  # a gateway that starts answers calls meanwhile
        last = door.ledger.last(path)
        if last is None:
            unknown.append(path)
        elif last[0] != digest:
            differing.append(path)
    if not door.ledger.has_begun():
        _note_all(door, unknown, keep_bytes)
    gone = [path for path in door.ledger.known_paths() if path not in found]
    record(door, [*unknown, *differing, *gone])
    door.coverage.bare = {path for path, digest in found.items() if not door.ledger.keeps(digest)}
    door.coverage.counted = True


def is_external(door: Door, path: NotePath) -> bool:
    """Whether the newest event of a path came around the door."""
    with suppress(LedgerUnavailableError):
        last = door.ledger.last(path)
        return last is not None and last[1]
    return False


def _note_all(door: Door, paths: list[NotePath], keep_bytes: bool) -> None:
    budget = BASELINE_BYTES if keep_bytes else 0
    batches = list(_batches(sorted(paths))) or [[]]
    for number, batch in enumerate(batches, 1):
        with write_lock(door.home):
            changes: list[Change] = []
            contents: dict[ContentHash, bytes] = {}
            for path in batch:
                sight = _look(door, path)
                if not isinstance(sight, File) or door.ledger.last(path) is not None:
                    continue
                changes.append(Change(path, sight.hash, sight.hash, sight.mode))
                if len(sight.content) <= budget:
                    budget -= len(sight.content)
                    contents[sight.hash] = sight.content
            door.ledger.begin_with(changes, contents, complete=number == len(batches))


def _batches(paths: list[NotePath]) -> Iterator[list[NotePath]]:
    for start in range(0, len(paths), _BATCH):
        yield paths[start : start + _BATCH]


def _differs(door: Door, path: NotePath) -> bool:
    now = _basis(_look(door, path))
    last = door.ledger.last(path)
    return now is not None and now != (MISSING if last is None else last[0])


def _change(door: Door, path: NotePath, contents: dict[ContentHash, bytes]) -> Change | None:
    """The change from what the ledger knew to what is there; None where they agree, or it cannot be told."""
    sight = _look(door, path)
    now = _basis(sight)
    last = door.ledger.last(path)
    if now is None:
        return None
    before = MISSING if last is None else last[0]
    if now == before or (last is None and not door.ledger.has_begun()):
        return None
    if isinstance(sight, File):
        contents[sight.hash] = sight.content
    return Change(path, before, now, sight.mode if isinstance(sight, File) else None)


def _basis(sight: Sight | None) -> Basis | None:
    """What a path holds as a note: a link or a folder in its place is none any more. None where it cannot be told."""
    if isinstance(sight, Blocked):
        return MISSING
    return None if sight is None else basis_of(sight)


def _look(door: Door, path: NotePath) -> Sight | None:
    with suppress(OSError):
        return door.vault.look(path)
    return None
