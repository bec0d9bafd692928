"""Undo and restore, in two steps each: a plan is shown, and a second page's form carries the digest of what was shown.

Where anything changed in between, nothing is done and the plan as it is now is shown. Both only touch what the client
may change; both are told under its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from muninn.model.content import MISSING
from muninn.model.refusal import Refusal
from muninn.undoing import Reversal

from . import activity, restore_plan, undo_plan
from .activity import OUTSIDE
from .compare import Clock, Comparison, Uncompared, of_bytes
from .restore_plan import Restored, RestorePlan
from .shown import Sides
from .undo_plan import UndoPlan
from .visit import Visit

_MOST_ROWS: Final = 300
"""Rows of one change on a plan's page; the page of the change alone has all."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a plan as its page shows it, ``told`` in words. ``found`` is None where the change is not shown, and
    ``why`` says why not."""

    told: str
    path: str
    before: str
    after: str
    events: int
    found: Comparison | None
    why: str


def _change(told: str, path: str, before: str, after: str, events: int, sides: Sides | None, clock: Clock) -> Change:
    return Change(told, path, before, after, events, *_compared(sides, clock))


def _told(one: Reversal) -> str:
    """What becomes of a note that an undo puts back."""
    if one.now is MISSING:
        return "comes back"
    return "is taken out, and kept" if one.back_to is MISSING else "goes back to what it held"


def _compared(sides: Sides | None, clock: Clock) -> tuple[Comparison | None, str]:
    if sides is None:
        return None, "it is too much to show beside the others"
    found = of_bytes(sides.before, sides.after, most_rows=_MOST_ROWS, clock=clock)
    return (None, found.why) if isinstance(found, Uncompared) else (found, "")


def undo_page(visit: Visit) -> Response:
    """The plan of an undo, or, where nobody was named yet, the form that asks whose changes since when."""
    who, since = visit.ask("who"), visit.ask("since")
    lacking = undo_plan.lacks(visit.rights)
    if lacking is not None:
        return visit.refused(lacking)
    if not who or not since:
        return _asked(visit, who, since or "1h", "", 200)
    found = undo_plan.plan(visit.door, visit.rights, who, since)
    if isinstance(found, Refusal):
        return _asked(visit, who, since, found.message, 400)
    return _undo_shown(visit, found, 200)


def _asked(visit: Visit, who: str, since: str, fault: str, status: int) -> Response:
    """The form, with the names of those who did something lately."""
    lately = activity.lately(visit.door, visit.rights, None, None)
    steps = () if isinstance(lately, Refusal) else lately.steps
    names = sorted({step.who for step in steps if step.who != activity.OWNER} | {OUTSIDE}, key=str.casefold)
    return visit.page("undo_ask.html", status, who=who, since=since, outside=OUTSIDE, fault=fault, names=names)


def undo_done(visit: Visit) -> Response:
    """Carry out the undo that was shown."""
    field = visit.form.get
    who, since, until, digest = (field(name, "") for name in ("who", "since", "until", "digest"))
    found = undo_plan.carry_out(visit.door, visit.rights, who, since, until, digest)
    if isinstance(found, Refusal):
        return visit.refused(found)
    if isinstance(found, UndoPlan):
        return _undo_shown(visit, found, 409)
    return visit.page("undone.html", done=found, outside=OUTSIDE)


def _undo_shown(visit: Visit, plan: UndoPlan, status: int) -> Response:
    clock = Clock()
    changes = [
        _change(_told(one), one.path, str(one.now), str(one.back_to), one.events, item.sides, clock)
        for item in plan.planned
        for one in (item.reversal,)
    ]
    return visit.page("undo_plan.html", status, plan=plan, changes=changes, outside=OUTSIDE, changed=status == 409)


def restore_page(visit: Visit) -> Response:
    """The plan of a restore."""
    found = restore_plan.plan(visit.door, visit.rights, visit.ask("path"), visit.ask("revision"))
    return visit.refused(found) if isinstance(found, Refusal) else _restore_shown(visit, found, 200)


def restore_done(visit: Visit) -> Response:
    """Carry out the restore that was shown."""
    field = visit.form.get
    path, revision, digest = (field(name, "") for name in ("path", "revision", "digest"))
    found = restore_plan.carry_out(visit.door, visit.rights, path, revision, digest)
    match found:
        case Refusal():
            return visit.refused(found)
        case RestorePlan():
            return _restore_shown(visit, found, 409)
        case Restored():
            return visit.page("restored.html", restored=found)


def _restore_shown(visit: Visit, plan: RestorePlan, status: int) -> Response:
    clock = Clock()
    changes = [
        _change(
            "comes back" if row.path == plan.path else "follows: it is the folder’s page",
            row.path,
            row.before,
            row.after,
            1,
            row.sides,
            clock,
        )
        for row in plan.rows
    ]
    return visit.page("restore_plan.html", status, plan=plan, changes=changes, changed=status == 409)
