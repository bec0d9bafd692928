"""What each client did lately, as one client may know it: a time line over the ledger's events.

A deed on a path that the viewer may not see does not exist for it. The work is bounded: so many rows are looked at
for one page, however few of them may be shown, and the page then says that there may be more.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ledger import Deed
from muninn import cursors
from muninn.door import Door
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, Basis
from muninn.model.refusal import Refusal
from muninn.model.rights import Rights

PAGE: Final = 50
MOST_ROWS: Final = 10_000
"""Rows of the ledger that are looked at for one page."""
_AT_ONCE: Final = 1_000
OUTSIDE: Final = "around the door"
OWNER: Final = "the owner"

WORDS: Final = {
    "create": "made",
    "overwrite": "changed",
    "archive": "archived",
    "restore": "restored",
    "undo": "took back a change of",
    "external": "somebody changed",
    "index": "brought up to date",
    "claim": "claimed something of",
    "retract": "retracted a claim on",
    "summary": "registered as a summary",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One row of the time line. ``before`` and ``after`` are ``missing`` or a hash whose bytes are kept, else None;
    ``restorable`` is the hash that a restore could bring back."""

    id: str
    at: str
    who: str
    kind: str
    did: str
    path: str
    before: str | None
    after: str | None
    restorable: str | None
    reason: str | None
    note: str | None
    seq: int


@dataclass(frozen=True, slots=True)
class Lately:
    """A page of steps, newest first. ``ended`` says that it ended because enough rows were looked at."""

    steps: tuple[Step, ...]
    next_cursor: str | None
    ended: bool


@dataclass(frozen=True, slots=True)
class Actor:
    """What one name did on a page: how many steps of each kind, and when last."""

    name: str
    last: str
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A deed as far as the viewer sees it: what it is called, and the change that is shown of it."""

    deed: Deed
    kind: str
    path: str
    change: Change | None


def lately(door: Door, rights: Rights, who: str | None, cursor: str | None) -> Lately | Refusal:
    """A page of what was done, by everybody or by one name (``OUTSIDE`` and ``OWNER`` are names, too)."""
    asked = {"who": who}
    below = cursors.read_number("activity", asked, cursor) if cursor is not None else None
    if isinstance(below, Refusal):
        return below
    found: list[_Seen] = []
    looked = 0
    while looked < MOST_ROWS:
        deeds, below = door.ledger.lately(below, _AT_ONCE)
        looked += _AT_ONCE
        seen = (_seen(rights, deed) for deed in deeds if who is None or name_of(deed) == who)
        found += [one for one in seen if one is not None]
        if len(found) > PAGE:
            return Lately(_steps(door, found), cursors.make("activity", asked, found[PAGE - 1].deed.seq), ended=False)
        if below == 0:
            return Lately(_steps(door, found), None, ended=False)
    return Lately(_steps(door, found), cursors.make("activity", asked, below or 0), ended=True)


def name_of(deed: Deed) -> str:
    """Whose deed it is."""
    if deed.kind is Kind.EXTERNAL:
        return OUTSIDE
    return OWNER if deed.client is None else deed.client


def _seen(rights: Rights, deed: Deed) -> _Seen | None:
    """None where nothing of it may be seen. Of a note out of sight its folder's page is what is left, as an index."""
    if not all(map(rights.sees, deed.sources)):
        return None
    if not isinstance(deed.kind, Kind):
        return _Seen(deed, deed.kind, deed.path, None) if rights.sees(deed.path) else None
    for change in deed.changes:
        if rights.sees(change.path):
            own = change.path == deed.path
            return _Seen(deed, deed.kind.value if own else Kind.INDEX.value, change.path, change)
    return None


def _steps(door: Door, found: list[_Seen]) -> tuple[Step, ...]:
    return tuple(_step(door, one) for one in found[:PAGE])


def _step(door: Door, one: _Seen) -> Step:
    deed, change = one.deed, one.change
    before, after = (None, None) if change is None else (_kept(door, change.before), _kept(door, change.after))
    own = one.kind == deed.kind
    gone = after == MISSING.value and before != MISSING.value
    return Step(
        deed.id,
        deed.at,
        name_of(deed),
        one.kind,
        WORDS[one.kind],
        one.path,
        before,
        after,
        before if gone else None,
        deed.reason if own else None,
        deed.note if own else None,
        deed.seq,
    )


def _kept(door: Door, basis: Basis) -> str | None:
    return str(basis) if basis is MISSING or door.ledger.keeps(basis) else None


def by_day(steps: Iterable[Step]) -> list[tuple[str, list[Step]]]:
    """Steps by their day in UTC, in their order."""
    return [(day, list(rows)) for day, rows in itertools.groupby(steps, key=lambda step: step.at[:10])]


def actors(steps: Iterable[Step]) -> list[Actor]:
    """What each name did among these steps, the one who did something last first."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.who, []).append(step)
    return [Actor(who, rows[0].at, tuple(Counter(row.kind for row in rows).items())) for who, rows in found.items()]
