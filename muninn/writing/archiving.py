"""Archive and restore, as plans. There is no delete: what leaves the vault is kept first, and can come back."""

from __future__ import annotations

from muninn import refusals
from muninn.contract import Contract
from muninn.model import note as notes
from muninn.model.change import Change, Kind, Plan
from muninn.model.content import MISSING
from muninn.model.draft import ArchiveDraft, RestoreDraft, UndoDraft, View
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, Elsewhere, File, basis_of

from . import pages


def plan_archive(draft: ArchiveDraft, view: View, contract: Contract, today: str) -> Plan | Refusal:
    """Take a note out of the vault: H → missing, and its line out of the folder's page. Legacy notes, too."""
    found = view.note
    match found:
        case Elsewhere():
            return refusals.elsewhere(draft.path)
        case Blocked(_, what):
            return Refusal(Code.INVALID_PATH, f"{draft.path} is no note: there is {refusals.what_is_there(what)}")
        case Absent():
            return refusals.conflict(draft.path, draft.expected, MISSING, MISSING)
        case File():
            pass
    if found.hash != draft.expected:
        return refusals.conflict(draft.path, draft.expected, found.hash, MISSING)
    if not draft.path.is_note or draft.path.is_temporary:
        return refusals.not_a_note(draft.path)
    effect = pages.effect(draft.path, None, view, contract, today)
    if isinstance(effect, Refusal):
        return effect
    change = Change(draft.path, found.hash, MISSING, found.mode)
    return Plan(
        Kind.ARCHIVE,
        draft.path,
        found.hash,
        MISSING,
        (change, *([effect.change] if effect.change else [])),
        dict(effect.contents) | {found.hash: found.content},
        draft.reason,
        draft.note,
        None,
        effect.warnings,
    )


def plan_restore(draft: RestoreDraft, view: View, contract: Contract, rights: Rights, today: str) -> Plan | Refusal:
    """Bring kept bytes back to their own path: missing → H, only where nothing is. Not judged by the contract."""
    match view.note:
        case Elsewhere():
            return refusals.elsewhere(draft.path)
        case Blocked(_, what):
            message = f"{draft.path} cannot be restored: there is {refusals.what_is_there(what)}"
            return Refusal(Code.EXISTS, message, {"path": draft.path})
        case File() as found:
            return refusals.exists(draft.path, found.hash, draft.kept.hash)
        case Absent(_, twin):
            if twin is not None:
                return refusals.twin_fault(draft.path, twin, rights)
    note = notes.parse(draft.path, draft.kept.content, draft.kept.hash)
    effect = pages.effect(draft.path, note, view, contract, today)
    if isinstance(effect, Refusal):
        return effect
    change = Change(draft.path, MISSING, draft.kept.hash, draft.kept.mode)
    return Plan(
        Kind.RESTORE,
        draft.path,
        MISSING,
        draft.kept.hash,
        (change, *([effect.change] if effect.change else [])),
        dict(effect.contents) | {draft.kept.hash: draft.kept.content},
        None,
        None,
        None,
        effect.warnings,
    )


def plan_undo(draft: UndoDraft, view: View, contract: Contract, today: str) -> Plan | Refusal:
    """The same change with its sides swapped, only while the path holds the bytes to be undone. Not judged either.

    The folder's page follows where there is one; none is made, because undoing leaves nothing new behind.
    """
    now = basis_of(view.note)
    back_to = MISSING if draft.kept is None else draft.kept.hash
    if now is None or now != draft.expected:
        return refusals.conflict(draft.path, draft.expected, now or MISSING, back_to)
    note = None if draft.kept is None else notes.parse(draft.path, draft.kept.content, draft.kept.hash)
    has_page = not isinstance(view.page, Absent)
    effect = pages.effect(draft.path, note, view, contract, today) if has_page else pages.PageEffect()
    if isinstance(effect, Refusal):
        return effect
    contents = dict(effect.contents)
    mode = None if draft.kept is None else draft.kept.mode
    if draft.kept is not None:
        contents[draft.kept.hash] = draft.kept.content
    if isinstance(view.note, File):
        contents[view.note.hash] = view.note.content
        mode = view.note.mode
    change = Change(draft.path, now, back_to, mode)
    changes = (change, *([effect.change] if effect.change else []))
    return Plan(Kind.UNDO, draft.path, now, back_to, changes, contents, None, None, None, effect.warnings)
