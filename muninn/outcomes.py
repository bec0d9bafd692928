"""How a write came out, as the answer that its client may see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ledger import Entry
from muninn import advice, diffs
from muninn.door import Door
from muninn.model.answer import ChangeRow, Written
from muninn.model.change import Change, Kind, Plan
from muninn.model.content import ContentHash
from muninn.model.refusal import Warn
from muninn.model.rights import Rights

PlanState = Literal["committed", "dry_run", "pending"]


def planned(
    door: Door, rights: Rights, plan: Plan, state: PlanState, event: str | None = None, pending_id: str | None = None
) -> Written:
    """A plan as the answer of a dry run, a commit, or a write that is pending, with the advice on it."""
    return Written(
        state,
        plan.path,
        str(plan.after),
        str(plan.before),
        _rows(rights, plan.changes),
        event,
        pending_id,
        door.contract.version,
        plan.diff,
        (*_visible(rights, plan.warnings), *advice.on_plan(door, rights, plan)),
    )


def _rows(rights: Rights, changes: Iterable[Change]) -> tuple[ChangeRow, ...]:
    """The changes that the client may see: a page outside its globs is not named."""
    seen = (change for change in changes if rights.sees(change.path))
    return tuple(ChangeRow(change.path, str(change.before), str(change.after)) for change in seen)


def _visible(rights: Rights, warnings: Iterable[Warn]) -> tuple[Warn, ...]:
    """The warnings that name nothing outside the client's rights."""
    return tuple(warning for warning in warnings if all(map(rights.sees, warning.paths)))


def replayed(door: Door, rights: Rights, entry: Entry) -> Written:
    """The stored answer to an earlier call; one that is still pending answers its present state."""
    terms = entry.terms
    pending = entry.state == "pending"
    return Written(
        "pending" if pending else "replayed",
        terms.path,
        str(terms.after),
        str(terms.before),
        _rows(rights, entry.changes),
        entry.event,
        terms.pending_id if pending else None,
        terms.contract_version,
        _diff(door, entry),
    )


def _diff(door: Door, entry: Entry) -> str | None:
    """The diff that the first answer to an edit carried, made again from the kept bytes."""
    if entry.terms.kind is not Kind.OVERWRITE:
        return None
    before, after = (
        door.ledger.content(basis) if isinstance(basis, ContentHash) else None
        for basis in (entry.terms.before, entry.terms.after)
    )
    return None if before is None or after is None else diffs.unified(before, after, entry.terms.path)
