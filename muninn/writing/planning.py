"""Judge a draft against one look at the vault: a plan, or a refusal. Pure: nothing is touched, read or asked.

A dry run ends with the plan. The commit makes it again under the lock and carries it out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from muninn import diffs, refusals
from muninn.contract import MAX_NOTE_BYTES, Contract
from muninn.model import note as notes
from muninn.model.change import Change, Kind, Plan
from muninn.model.content import MISSING, Basis, ContentHash, NotePath, new_name_faults
from muninn.model.draft import ArchiveDraft, Draft, EditDraft, RestoreDraft, UndoDraft, View, WriteDraft
from muninn.model.note import Note
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, Elsewhere, File, Sight, basis_of

from . import archiving, editing, pages

_SHOWN = 20
SUPERSEDED = "superseded"
"""The reason that overwritten bytes are kept under."""


def plan(draft: Draft, view: View, contract: Contract, rights: Rights, today: str) -> Plan | Refusal:
    """The verdict on a draft. ``today`` (``YYYY-MM-DD``) dates a folder page that has to be made.

    All faults of a note are named in one refusal. The refusal for a hash that does not match carries
    ``current_hash``, and ``already_in_place`` where the bytes wanted are there already.
    """
    if not rights.changes(draft.path):
        return refusals.forbidden(draft.path)
    match draft:
        case WriteDraft():
            return _plan_write(draft, draft.content, draft.typed, view, contract, rights, today)
        case EditDraft():
            return _plan_edit(draft, view, contract, rights, today)
        case ArchiveDraft():
            return archiving.plan_archive(draft, view, contract, today)
        case RestoreDraft():
            return archiving.plan_restore(draft, view, contract, rights, today)
        case UndoDraft():
            return archiving.plan_undo(draft, view, contract, today)
        case _:
            assert_never(draft)


def _plan_edit(draft: EditDraft, view: View, contract: Contract, rights: Rights, today: str) -> Plan | Refusal:
    found = view.note
    if isinstance(found, Absent) and draft.expected is MISSING:
        message = f"{draft.path} is not there to be edited; make it with the tool write and expected_hash missing"
        return Refusal(Code.NOT_FOUND, message)
    if not isinstance(found, File) or found.hash != draft.expected:
        return _base_fault(draft.path, draft.expected, found, None, rights) or refusals.not_a_note(draft.path)
    try:
        text = found.content.decode()
    except UnicodeDecodeError:
        return Refusal(Code.NOT_TEXT, f"{draft.path} is not UTF-8 text and cannot be edited; write it as a whole")
    new = editing.edited(draft.path, text, draft.edits)
    if isinstance(new, Refusal):
        return new
    as_write = WriteDraft(draft.path, draft.path, new.encode("utf-8", "surrogatepass"), draft.expected)
    verdict = _plan_write(as_write, as_write.content, draft.path, view, contract, rights, today)
    if isinstance(verdict, Refusal):
        return verdict
    diff = diffs.unified(found.content, as_write.content, draft.path)
    return replace(verdict, diff=diff)


def _plan_write(
    draft: WriteDraft, content: bytes, typed: str, view: View, contract: Contract, rights: Rights, today: str
) -> Plan | Refusal:
    after = ContentHash.of(content)
    note = notes.parse(draft.path, content if len(content) <= MAX_NOTE_BYTES else b"", after)
    name_fault = _name_fault(draft.path, typed, view.note)
    if name_fault is not None:
        return _both(name_fault, _note_fault(note, content, view.note, contract))
    base_fault = _base_fault(draft.path, draft.expected, view.note, after, rights)
    if base_fault is not None and base_fault.code is Code.VAULT_UNAVAILABLE:
        return base_fault
    note_fault = _note_fault(note, content, view.note, contract)
    if note_fault is not None:
        return _both(note_fault, base_fault)
    if base_fault is not None:
        return base_fault
    before = basis_of(view.note)
    if before is None:
        return refusals.not_a_note(draft.path)
    kind = Kind.CREATE if before is MISSING else Kind.OVERWRITE
    if before == after:
        return Plan(kind, draft.path, before, after, (), {})
    effect = pages.effect(draft.path, note, view, contract, today)
    if isinstance(effect, Refusal):
        return effect
    contents = dict(effect.contents) | {after: content}
    mode = None
    if isinstance(view.note, File):
        contents[view.note.hash] = view.note.content
        mode = view.note.mode
    changes = (Change(draft.path, before, after, mode), *([effect.change] if effect.change else []))
    reason = None if before is MISSING else SUPERSEDED
    return Plan(kind, draft.path, before, after, changes, contents, reason, None, None, effect.warnings)


def _name_fault(path: NotePath, typed: str, found: Sight) -> Refusal | None:
    """Refuse a name that cannot be a note: any for what is there, the stricter rules for what would be new."""
    if isinstance(found, Absent):
        faults = new_name_faults(typed)
        if faults:
            message = f"{path} cannot name a new note: {'; '.join(faults)}; choose another name"
            return Refusal(Code.INVALID_PATH, message, {"path": path})
        return None
    if not path.is_note or path.is_temporary:
        return refusals.not_a_note(path)
    return None


def _note_fault(note: Note, content: bytes, found: Sight, contract: Contract) -> Refusal | None:
    path = note.path
    if len(content) > MAX_NOTE_BYTES:
        message = f"{path} would have {len(content)} bytes; a note has at most {MAX_NOTE_BYTES}: split it"
        return Refusal(Code.TOO_LARGE, message)
    if note.text is None:
        return Refusal(Code.NOT_TEXT, f"{path} would not be UTF-8 text; only text is written")
    if contract.is_page(path.name):
        fault = pages.block_fault(found.content if isinstance(found, File) else None, content)
        if fault is not None:
            return fault
    findings = [finding for finding in contract.judge(note) if finding.message]
    if not findings:
        return None
    told = "; ".join(finding.message[:300] for finding in findings[:_SHOWN])
    told += f"; and {len(findings) - _SHOWN} more faults" if len(findings) > _SHOWN else ""
    rows = [{"rule": finding.rule, "message": finding.message, "line": finding.line} for finding in findings[:_SHOWN]]
    message = f"{path} does not meet the contract (version {contract.version}): {told}"
    return Refusal(Code.INVALID_NOTE, message, {"findings": rows, "contract_version": contract.version})


def _both(first: Refusal, second: Refusal | None) -> Refusal:
    """Two faults in one answer, under the code of the first."""
    if second is None:
        return first
    return Refusal(first.code, f"{first.message}; and {second.message}", {**second.details, **first.details})


def _base_fault(path: NotePath, expected: Basis, found: Sight, wanted: Basis | None, rights: Rights) -> Refusal | None:
    """Why the state of the path is not the one the draft was made for; None where it is."""
    match found:
        case Elsewhere():
            return refusals.elsewhere(path)
        case Blocked(_, what):
            if expected is MISSING:
                return Refusal(
                    Code.EXISTS, f"{path} cannot be made: there is {refusals.what_is_there(what)}; choose another name"
                )
            return Refusal(Code.INVALID_PATH, f"{path} is no note: there is {refusals.what_is_there(what)}")
        case Absent(_, twin):
            if expected is MISSING:
                return None if twin is None else refusals.twin_fault(path, twin, rights)
            return refusals.conflict(path, expected, MISSING, wanted)
        case File(hash=current):
            if expected is MISSING:
                return refusals.exists(path, current, wanted)
            return None if current == expected else refusals.conflict(path, expected, current, wanted)
        case _:
            assert_never(found)
