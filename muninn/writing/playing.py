"""Carry plans out: bring every path from before to after, whatever of that was done already.

First run, recovery and start are this one way. Plans that are played together stay plans of their own, in their order:
each has its own end and its own event. What they share is the flush of a folder, the transaction that ends them, and a
folder's page that several of them change: it goes in one step from before the first to after the last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from ledger import Ending, Entry
from muninn import external
from muninn.door import Door
from muninn.model import seams
from muninn.model.change import Change
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.errors import LedgerUnavailableError, VaultUnavailableError
from muninn.model.sight import File, basis_of
from muninn.vault import Applied, Aside, Drifted

log = logging.getLogger("muninn.writing")

Content = Callable[[ContentHash], bytes | None]
"""Bytes by their hash."""


@dataclass(frozen=True, slots=True)
class Played:
    """How far a plan got. ``found`` is the basis that stood in the way, ``why`` what broke.

    ``leaned`` says that it was refused because a plan before it, on which it built, did not come through.
    """

    state: Literal["committed", "superseded", "refused", "pending"]
    landed: tuple[NotePath, ...]
    event: str | None = None
    found: Basis | None = None
    why: Exception | None = None
    leaned: bool = False


def play(
    door: Door, entries: Sequence[Entry], content: Content, *, resumed: bool = False, at_start: bool = False
) -> list[Played]:
    """Play plans in their order, under the write lock; gives how each came out. Nothing is ever rebased.

    Every file is looked at before the first is touched. At ``after`` there is nothing to do; at ``before`` it is done;
    at neither the plan stops, and only those that build on it with it. ``resumed`` plans were answered as pending
    before: they can no longer end as refused.
    """
    run = _Run(door, [_Course(entry, resumed) for entry in entries], content, at_start)
    _look(run)
    for number, course in enumerate(run.courses):
        if course.stopped is None:
            _begin(run, number, course)
        if course.stopped is not None:
            run.awaited.update(change.path for change in course.entry.changes)
    for path, users in run.shared.items():
        _place(run, users, partial(seams.at, "folder_index.apply", path))
    _flush(run)
    _read_back(run)
    return _settle(run)


def connected(entries: Sequence[Entry], paths: Iterable[NotePath]) -> list[Entry]:
    """The plans that must be played together to finish those on these paths: one may begin where another ends."""
    wanted, found = set(paths), list[Entry]()
    while entries:
        more = [entry for entry in entries if any(change.path in wanted for change in entry.changes)]
        if len(more) == len(found):
            break
        found = more
        wanted.update(change.path for entry in found for change in entry.changes)
    return found


@dataclass(slots=True)
class _Course:
    """What a play has done of one plan. ``stopped`` is how it must end; None as long as all goes well."""

    entry: Entry
    resumed: bool
    stopped: Literal["superseded", "refused", "pending"] | None = None
    landed: set[NotePath] = field(default_factory=set)
    placed: set[NotePath] = field(default_factory=set)
    overtaken: list[NotePath] = field(default_factory=list)
    """Paths that somebody replaced right after they were placed."""
    keep: dict[ContentHash, bytes] = field(default_factory=dict)
    """Bytes of others that stood in the way."""
    found: Basis | None = None
    why: Exception | None = None
    leaned: bool = False

    def stop(self, found: Basis | None) -> None:
        """A file holds bytes that the plan was not made for."""
        self.stopped = "superseded" if self.landed or self.resumed else "refused"
        self.found = found

    def break_off(self, error: Exception) -> None:
        """A file could not be read or written. Before the first one the plan ends refused; after it stays pending."""
        self.stopped = "pending" if self.landed or self.resumed else "refused"
        self.why = error

    def leave_open(self, error: Exception | None) -> None:
        """Nothing can be said of the plan's end now."""
        self.stopped, self.why = "pending", error

    def landed_paths(self) -> tuple[NotePath, ...]:
        return tuple(change.path for change in self.entry.changes if change.path in self.landed)

    def played(self, event: str | None) -> Played:
        state = self.stopped or "committed"
        return Played(state, self.landed_paths(), event, self.found, self.why, self.leaned and state == "refused")


@dataclass(slots=True)
class _Run:
    """Plans that are played together."""

    door: Door
    courses: list[_Course]
    content: Content
    at_start: bool
    stands: dict[NotePath, Basis | None] = field(default_factory=dict)
    """What each path holds, or will hold once the pages are in place."""
    strange: dict[NotePath, File] = field(default_factory=dict)
    """Files that hold bytes of no plan here."""
    shared: dict[NotePath, list[tuple[_Course, Change]]] = field(default_factory=dict)
    """Folder pages that are to be placed, with the plans that change them, in their order."""
    awaited: set[NotePath] = field(default_factory=set)
    """Paths of plans that have stopped."""
    asides: list[Aside] = field(default_factory=list)

    def passed(self, number: int, change: Change) -> bool:
        """Whether a path has come through ``after`` already, and on to where a later plan of these has brought it."""
        now, at = self.stands[change.path], change.after
        for later in self.courses[number + 1 :]:
            for other in later.entry.changes:
                if other.path == change.path and other.before == at:
                    at = other.after
                    if at == now:
                        return True
        return False


def _look(run: _Run) -> None:
    ours = {side for course in run.courses for change in course.entry.changes for side in (change.before, change.after)}
    for course in run.courses:
        fresh = [change.path for change in course.entry.changes if change.path not in run.stands]
        try:
            sights = run.door.vault.look_at(fresh)
        except (OSError, VaultUnavailableError) as error:
            course.break_off(error)
            continue
        for path, sight in zip(fresh, sights, strict=True):
            run.stands[path] = basis_of(sight)
            if isinstance(sight, File) and sight.hash not in ours:
                run.strange[path] = sight


def _begin(run: _Run, number: int, course: _Course) -> None:
    """Place the plan's own file; what it changes of a page is done with what the others change of it."""
    strangers = []
    for change in course.entry.changes:
        now = run.stands[change.path]
        if now == change.after or (now != change.before and run.passed(number, change)):
            course.landed.add(change.path)
        elif now != change.before:
            strangers.append(change.path)
    if strangers:
        files = (run.strange[path] for path in strangers if path in run.strange)
        course.keep |= {file.hash: file.content for file in files}
        course.leaned = not run.awaited.isdisjoint(strangers)
        course.stop(run.stands[strangers[0]])
        return
    for number_of_change, change in enumerate(course.entry.changes):
        if change.path in course.landed:
            continue
        if number_of_change > 0:
            run.shared.setdefault(change.path, []).append((course, change))
            run.stands[change.path] = change.after
            continue
        _place(run, [(course, change)])
        if course.stopped is not None:
            return


def _place(run: _Run, users: list[tuple[_Course, Change]], passing: Callable[[], object] = lambda: None) -> None:
    """Bring one path from before the first of these changes to after the last."""
    courses, changes = [course for course, _ in users], [change for _, change in users]
    change = replace(changes[-1], before=changes[0].before)
    try:
        passing()
        applied = _apply(run, change)
    except (OSError, VaultUnavailableError) as error:
        for course in courses:
            course.break_off(error)
        return
    except LedgerUnavailableError as error:
        for course in courses:
            course.leave_open(error)
        return
    if isinstance(applied, Drifted):
        if applied.content is not None and isinstance(applied.found, ContentHash):
            courses[0].keep[applied.found] = applied.content
        if applied.aside is not None:
            run.asides.append(applied.aside)
        for course in courses:
            course.stop(applied.found)
        return
    run.stands[change.path] = change.after
    for course in courses:
        course.landed.add(change.path)
        course.placed.add(change.path)
    if applied.aside is not None:
        run.door.held.add(change.path, applied.aside)
    if applied.lost:
        log.warning("a replaced note lost %s", ", ".join(applied.lost))


def _apply(run: _Run, change: Change) -> Applied:
    after = run.content(change.after) if isinstance(change.after, ContentHash) else None
    if after is None and change.after is not MISSING:
        raise LedgerUnavailableError(f"the ledger does not hold the bytes that a plan needs for {change.path}")
    return run.door.vault.apply(change, after, hold=run.door.held.seconds > 0)


def _flush(run: _Run) -> None:
    """The folders of what has landed, each once. Where one cannot be flushed, its plans stay open."""
    failed: dict[str, Exception | None] = {}
    for course in run.courses:
        for path in course.landed_paths():
            if path.folder not in failed:
                failed[path.folder] = None
                try:
                    run.door.vault.flush([path])
                except (OSError, VaultUnavailableError) as error:
                    failed[path.folder] = error
            if failed[path.folder] is not None:
                course.leave_open(failed[path.folder])


def _read_back(run: _Run) -> None:
    """Look at every file again. Whoever replaced one that was placed came after it: both happened, in this order."""
    seen: dict[NotePath, tuple[Basis | None, bool]] = {}
    for course in run.courses:
        if course.stopped is not None:
            continue
        fresh = [change.path for change in course.entry.changes if change.path not in seen]
        try:
            sights = run.door.vault.look_at(fresh)
        except (OSError, VaultUnavailableError) as error:
            course.break_off(error)
            continue
        seen |= {path: (basis_of(s), isinstance(s, File)) for path, s in zip(fresh, sights, strict=True)}
        for path in course.landed_paths():
            basis, is_file = seen[path]
            if basis == run.stands[path]:
                continue
            course.overtaken.append(path)
            if not is_file or path not in course.placed:
                course.leave_open(None)


def _settle(run: _Run) -> list[Played]:
    """End all plans that have an end, in one transaction: what was looked at and flushed before is durable with it."""
    door = run.door
    ended = [course for course in run.courses if course.stopped != "pending"]
    events: list[str | None] = []
    try:
        if ended:
            events = door.ledger.settle_together([_ending(course, run.at_start) for course in ended])
    except LedgerUnavailableError as error:
        for course in ended:
            course.leave_open(error)
        ended = []
    done = [course for course in ended if course.stopped is None]
    door.coverage.bare.difference_update(path for course in done for path in course.landed)
    overtaken = dict.fromkeys(path for course in done for path in course.overtaken)
    with suppress(LedgerUnavailableError, VaultUnavailableError):
        if overtaken:
            external.record_locked(door, overtaken)
    for aside in run.asides if ended else ():
        with suppress(OSError, VaultUnavailableError):
            door.vault.remove_leftover(aside.name)
    of = dict(zip(map(id, ended), events, strict=True))
    return [course.played(of.get(id(course))) for course in run.courses]


def _ending(course: _Course, at_start: bool) -> Ending:
    state = course.stopped
    if state == "pending":
        raise ValueError("a plan that is pending has no end")
    return Ending(course.entry, state or "committed", course.landed_paths(), at_start, course.keep)
