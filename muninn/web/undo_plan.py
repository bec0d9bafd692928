"""An undo as a person sees it before it is done: note by note, what it holds, what it would hold, what is left and why.

The plan is made with the rights of the client that asks: only notes it may change are in it, others do not exist. Each
note is judged by the very verdict that its write would get.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from muninn import undoing, writing
from muninn.door import Door
from muninn.model import moments
from muninn.model.errors import reason
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import File
from muninn.undoing import Reversal, Who

from . import shown
from .activity import OUTSIDE
from .shown import Sides

MOST: Final = 100
"""Notes in one plan: more than a person looks through."""
MOST_SHOWN: Final = 256 * 1024
"""Bytes of both sides of all notes whose change is shown; the rest is told by name and hash."""
SCOPES: Final = frozenset({"read", "write", "archive"})
"""What an undo needs: it puts other bytes into notes, and takes out those that were made."""


@dataclass(frozen=True, slots=True)
class Item:
    """One note of the plan. ``sides`` None: its change is not shown, for want of room."""

    reversal: Reversal
    sides: Sides | None

    @property
    def is_planned(self) -> bool:
        return self.reversal.state == "planned"


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo would do. ``digest`` stands for all that is said here."""

    name: str
    since: str
    until: str
    items: tuple[Item, ...]
    digest: str

    @property
    def planned(self) -> list[Item]:
        return [item for item in self.items if item.is_planned]

    @property
    def left(self) -> list[Item]:
        return [item for item in self.items if not item.is_planned]


@dataclass(frozen=True, slots=True)
class Done:
    """How an undo came out, note by note."""

    plan: UndoPlan
    reversals: tuple[Reversal, ...]

    @property
    def undone(self) -> list[Reversal]:
        return [one for one in self.reversals if one.state == "undone"]

    @property
    def left(self) -> list[Reversal]:
        return [one for one in self.reversals if one.state != "undone"]


def lacks(rights: Rights) -> Refusal | None:
    """Why a client may undo nothing; None where it has every scope."""
    if rights.scopes >= SCOPES:
        return None
    return Refusal(Code.FORBIDDEN, "an undo needs the scopes read, write and archive; ask the owner for them")


def plan(door: Door, rights: Rights, name: str, since: str, until: str = "") -> UndoPlan | Refusal:
    """The undo of what ``name`` (a client, or ``OUTSIDE``) did since a time, up to now where no ``until`` is named.

    Times are RFC 3339, a date, or ``30m``, ``2h``, ``3d`` ago. Touches nothing. Refused without the scopes, for a
    time that is none, and for more than ``MOST`` notes.
    """
    lacking = lacks(rights)
    if lacking is not None:
        return lacking
    begin, end = moments.moment(since), moments.moment(until) if until else moments.now()
    if not name or begin is None or end is None or begin > end:
        message = "expected is a client's name and a time that is over: RFC 3339, a date, or 30m, 2h, 3d"
        return Refusal(Code.INVALID_ARGUMENTS, message)
    who = Who(None if name == OUTSIDE else name)
    paths = [path for path in undoing.paths(door, who, begin, end) if rights.changes(path)]
    if len(paths) > MOST:
        message = f"{len(paths)} notes changed in that time, {MOST} fit a plan: choose a shorter time"
        return Refusal(Code.BUDGET_EXCEEDED, message)
    reversals = [_judged(door, rights, undoing.reversal(door, who, path, begin, end)) for path in paths]
    rows = [[one.path, str(one.now), str(one.back_to), one.state, one.why] for one in reversals]
    told = shown.digest("undo", rights.client, name, begin, end, rows)
    return UndoPlan(name, begin, end, tuple(_with_sides(door, reversals)), told)


def carry_out(door: Door, rights: Rights, name: str, since: str, until: str, carried: str) -> Done | UndoPlan | Refusal:
    """Carry out the plan that was shown, if it is still what would be shown; else the plan as it is now.

    Each note is compared once more under the write lock, so that one which changes in this instant is left.
    """
    now = plan(door, rights, name, since, until)
    if isinstance(now, Refusal):
        return now
    if not shown.is_what_was_shown(carried, now.digest):
        return plan(door, rights, name, since)
    return Done(now, tuple(undoing.carried_out(door, rights, item.reversal) for item in now.items))


def _judged(door: Door, rights: Rights, one: Reversal) -> Reversal:
    """A reversal, left where the write would be refused."""
    asked = undoing.draft(door, one) if one.state == "planned" else None
    if asked is None:
        return one if one.state == "left" else replace(one, state="left", why="the bytes before are not kept")
    try:
        verdict = writing.judge(door, rights, asked)
    except OSError as error:
        return replace(one, state="left", why=f"it cannot be read ({reason(error)})")
    return replace(one, state="left", why=verdict.message) if isinstance(verdict, Refusal) else one


def _with_sides(door: Door, reversals: list[Reversal]) -> list[Item]:
    room, items = MOST_SHOWN, list[Item]()
    for one in reversals:
        sides = _sides(door, one) if one.state == "planned" else None
        if sides is not None and sides.size > room:
            sides = None
        room -= 0 if sides is None else sides.size
        items.append(Item(one, sides))
    return items


def _sides(door: Door, one: Reversal) -> Sides | None:
    """What the note holds and what it would hold; None where it changed in this instant."""
    found = door.vault.look(one.path)
    before = found.content if isinstance(found, File) and found.hash == one.now else None
    if before is None and isinstance(found, File):
        return None
    return Sides(before, shown.content_of(door, one.back_to))
