"""A restore as a person sees it before it is done: the note that comes back, and its folder's page."""

from __future__ import annotations

from dataclasses import dataclass

from muninn import reading, refusals, writing
from muninn.door import Door
from muninn.model.change import Pending, Plan, Receipt
from muninn.model.content import Basis, ContentHash, NotePath
from muninn.model.draft import Kept, RestoreDraft
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import File

from . import shown
from .shown import Sides


@dataclass(frozen=True, slots=True)
class Row:
    """One file of the plan, with the bytes of both sides."""

    path: NotePath
    before: str
    after: str
    sides: Sides


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a restore would do: the note first, then its folder's page where that follows and may be seen."""

    path: NotePath
    revision: str
    rows: tuple[Row, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The note is back; ``pending_id`` where the plan is kept but not finished."""

    path: NotePath
    event: str | None
    pending_id: str | None


def plan(door: Door, rights: Rights, path_text: str, revision: str) -> RestorePlan | Refusal:
    """What bringing a kept revision (its hash, or an event's id) back to its path would do. Touches nothing.

    Refused as the tool ``restore`` is: without the scope, outside the write globs, where something is there.
    """
    asked = _draft(door, rights, path_text, revision)
    if isinstance(asked, Refusal):
        return asked
    verdict = writing.judge(door, rights, asked)
    if isinstance(verdict, Refusal):
        return verdict
    rows = tuple(
        Row(
            change.path,
            str(change.before),
            str(change.after),
            _sides(door, verdict, change.path, change.before, change.after),
        )
        for change in verdict.changes
        if rights.sees(change.path)
    )
    told = [[str(change.path), str(change.before), str(change.after)] for change in verdict.changes]
    return RestorePlan(asked.path, asked.kept.hash, rows, shown.digest("restore", rights.client, asked.path, told))


def carry_out(
    door: Door, rights: Rights, path_text: str, revision: str, carried: str
) -> Restored | RestorePlan | Refusal:
    """Carry out the plan that was shown, if it is still what would be shown; else the plan as it is now."""
    now = plan(door, rights, path_text, revision)
    if isinstance(now, Refusal) or not shown.is_what_was_shown(carried, now.digest):
        return now
    asked = _draft(door, rights, path_text, revision)
    if isinstance(asked, Refusal):
        return asked
    outcome = writing.commit(door, rights, asked, None)
    match outcome:
        case Receipt(_, event):
            return Restored(asked.path, event, None)
        case Pending(_, pending_id):
            return Restored(asked.path, None, pending_id)
        case Refusal():
            return outcome
        case _:
            raise AssertionError("a restore from here has no request id that could be replayed")


def _draft(door: Door, rights: Rights, path_text: str, revision: str) -> RestoreDraft | Refusal:
    if not rights.scopes >= {"read", "archive"}:
        return Refusal(Code.FORBIDDEN, "a restore needs the scopes read and archive; ask the owner for them")
    path = reading.parse_path(path_text)
    if isinstance(path, Refusal):
        return path
    if not rights.changes(path):
        return refusals.forbidden(path)
    kept = reading.kept_revision(door, path, revision)
    return kept if isinstance(kept, Refusal) else RestoreDraft(path, Kept(kept[0], kept[1], kept[2]))


def _sides(door: Door, plan: Plan, path: NotePath, before: Basis, after: Basis) -> Sides:
    return Sides(_content(door, plan, path, before), _content(door, plan, path, after))


def _content(door: Door, plan: Plan, path: NotePath, basis: Basis) -> bytes | None:
    """The bytes of one side: from the plan, from the ledger, or, of a page that nobody keeps yet, from the vault."""
    if not isinstance(basis, ContentHash):
        return None
    found = plan.contents.get(basis) or door.ledger.content(basis)
    if found is None:
        sight = door.vault.look(path)
        found = sight.content if isinstance(sight, File) and sight.hash == basis else None
    return found
