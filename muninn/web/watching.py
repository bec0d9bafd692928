"""The pages one looks at: what was done lately, what leans on what, how the backups and the canary stand."""

from __future__ import annotations

from collections import Counter

from starlette.responses import Response

from muninn.model.refusal import Refusal
from muninn.model.rights import Rights

from . import activity, bound, lanes, layers, nights
from .activity import OUTSIDE, OWNER, Lately, Step
from .undo_plan import SCOPES
from .visit import Visit


def activity_page(visit: Visit) -> Response:
    """What each client did lately, newest first, a page at a time, by everybody or by one name."""
    who = visit.ask("who") or None
    found = activity.lately(visit.door, visit.rights, who, visit.ask("cursor") or None)
    if isinstance(found, Refusal):
        return visit.refused(found)
    return visit.page(
        "activity.html",
        lately=found,
        days=activity.by_day(found.steps),
        actors=activity.actors(found.steps),
        drawing=lanes.drawn(found.steps),
        lanes=lanes,
        who=who,
        names=_names(found, who),
        undoable=frozenset(step.id for step in found.steps if _can_undo(visit.rights, step)),
        restorable=frozenset(step.id for step in found.steps if _can_restore(visit.rights, step)),
    )


def _names(found: Lately, who: str | None) -> list[str]:
    """The names one may choose: those on this page, the one that was asked for, and whoever came around the door."""
    return sorted({step.who for step in found.steps} | {OUTSIDE} | ({who} if who else set()), key=str.casefold)


def _can_undo(rights: Rights, step: Step) -> bool:
    changed = step.kind not in ("claim", "retract", "summary", "index") and step.who != OWNER
    return changed and rights.scopes >= SCOPES and rights.changes(step.path)


def _can_restore(rights: Rights, step: Step) -> bool:
    return step.restorable is not None and "archive" in rights.scopes and rights.changes(step.path)


def bound_page(visit: Visit) -> Response:
    """Claims and summaries as a picture of fresh and stale, with tables that say the same."""
    summaries_at, claims_at = visit.ask("summaries") or None, visit.ask("claims") or None
    found = bound.web(visit.door, visit.rights, summaries_at, claims_at)
    if isinstance(found, Refusal):
        return visit.refused(found)
    return visit.page(
        "bound.html",
        web=found,
        drawing=layers.drawn(found),
        layers=layers,
        counts=Counter(edge.summary for edge in found.edges),
        summaries_at=summaries_at,
        claims_at=claims_at,
    )


def backups_page(visit: Visit) -> Response:
    """The last proven backup and the last run of the canary."""
    home = visit.door.home
    return visit.page("backups.html", night=nights.night(home), bird=nights.bird(home, visit.rights))
