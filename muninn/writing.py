"""The one way down for a write: look, plan, keep, apply, settle.

A dry run ends with the plan. A commit makes the plan again under the write lock, so that the hash that was
judged is the hash that is replaced, and plays it. Crash recovery plays the same plan from the ledger.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never

from ledger import Entry, Terms
from muninn import diffs, external, planning, refusals
from muninn.door import Door
from muninn.model import note as notes
from muninn.model import seams
from muninn.model.change import Change, Pending, Plan, Receipt, Request
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.draft import ArchiveDraft, Draft, RestoreDraft, View, WriteDraft
from muninn.model.errors import LedgerInDoubtError, LedgerUnavailableError, VaultUnavailableError
from muninn.model.listing import Entry as Listed
from muninn.model.note import Note
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, File, Sight, basis_of
from muninn.pages import page_of
from muninn.vault import Applied, Drifted, write_lock

log = logging.getLogger("muninn.writing")

_NO_LEDGER: Final = "nothing was changed. Reads go on; try again when the ledger can be written"


@dataclass(frozen=True, slots=True)
class Replayed:
    """An earlier call with the same request id made this plan; its stored answer comes back."""

    entry: Entry


Outcome = Receipt | Pending | Replayed | Refusal


@dataclass(frozen=True, slots=True)
class Played:
    """How far a plan got. ``found`` is the basis that stood in the way, ``why`` what broke."""

    state: Literal["committed", "superseded", "refused", "pending"]
    landed: tuple[NotePath, ...]
    event: str | None = None
    found: Basis | None = None
    why: Exception | None = None


def judge(door: Door, rights: Rights, draft: Draft) -> Plan | Refusal:
    """Look once and plan: the whole of a dry run. Touches nothing."""
    view = _see(door, draft) if rights.changes(draft.path) else View(Absent(draft.path))
    verdict = planning.plan(draft, view, door.contract, rights, door.today())
    if isinstance(verdict, Refusal) and verdict.code is Code.CONFLICT:
        return _explained(door, verdict, draft.path, view.note)
    return verdict


def commit(door: Door, rights: Rights, draft: Draft, request: Request | None) -> Outcome:
    """Judge the draft again under the write lock and carry the plan out."""
    with write_lock(door.home):
        if not rights.changes(draft.path):
            return refusals.forbidden(draft.path)
        earlier = _earlier(door, rights, request)
        if earlier is not None:
            return earlier
        blocked = _finish_pending(door, draft)
        if blocked is not None:
            return blocked
        _record_outsiders(door, rights, draft)
        verdict = judge(door, rights, draft)
        if isinstance(verdict, Refusal):
            return verdict
        if not verdict.changes and request is None:
            return Receipt(verdict, None)
        outcome = _carry_out(door, rights, verdict, request)
    door.index.nudge([change.path for change in verdict.changes], door.vault.look)
    return outcome


def _finish_pending(door: Door, draft: Draft) -> Refusal | None:
    """Plans that are pending on a path of this draft come first, so that no event of a note is skipped.

    Gives the refusal where one still cannot be finished and holds this very note.
    """
    target = page_of(draft.path, door.contract)
    with suppress(LedgerUnavailableError):
        for entry in door.ledger.open_entries():
            paths = {change.path for change in entry.changes}
            if not paths & {draft.path, target}:
                continue
            played = play(door, entry, door.ledger.content, resumed=True)
            if played.state == "pending" and draft.path in paths:
                now = basis_of(door.vault.look(draft.path))
                message = f"an earlier write of {draft.path} is pending and cannot be finished now; try again later"
                details = {"path": draft.path, "current_hash": str(now or MISSING), "expected_hash": None}
                return Refusal(Code.CONFLICT, message, details)
    return None


def _record_outsiders(door: Door, rights: Rights, draft: Draft) -> None:
    """An outsider's edit that a write finds is an event of its own, whatever becomes of the write."""
    if not rights.changes(draft.path):
        return
    page = page_of(draft.path, door.contract)
    with suppress(LedgerUnavailableError):
        external.record_locked(door, [draft.path, *([page] if page else [])])


def recover(door: Door, client: str | None, pending_id: str) -> Entry | Refusal:
    """Go on with a pending plan of this client; a settled one answers its state again and adds nothing."""
    with write_lock(door.home):
        entry = door.ledger.entry(pending_id)
        if entry is None or entry.terms.client != client:
            message = f"no plan of this client has the id {pending_id}; call recover without an id for the list"
            return Refusal(Code.UNKNOWN_ID, message)
        if entry.state != "pending":
            return entry
        if door.ledger.fault is not None:
            raise LedgerUnavailableError(door.ledger.fault)
        play(door, entry, door.ledger.content, resumed=True)
    door.index.nudge([change.path for change in entry.changes], door.vault.look)
    return door.ledger.entry(pending_id) or entry


def recover_all(door: Door) -> list[Entry]:
    """At start: play every plan that a crash left, and sweep the temp files it left beside the notes.

    A temp file is removed only once its bytes are known to the ledger; unknown ones are kept there first.
    """
    with write_lock(door.home):
        left = door.ledger.open_entries()
        touched = door.ledger.lately_touched()
        temps = door.vault.sweep_leftovers({path.folder for path in touched})
        unknown = {ContentHash.of(content): content for _, content in temps}
        door.ledger.keep_found({digest: unknown[digest] for digest in unknown if not door.ledger.keeps(digest)})
        for name, _ in temps:
            door.vault.remove_leftover(name)
        for entry in left:
            play(door, entry, door.ledger.content, resumed=True, at_start=True)
    return [door.ledger.entry(entry.terms.pending_id) or entry for entry in left]


def play(
    door: Door,
    entry: Entry,
    content: Callable[[ContentHash], bytes | None],
    *,
    resumed: bool = False,
    at_start: bool = False,
) -> Played:
    """Bring every path of a plan from before to after: first run, recovery and start are this one function.

    Every file is looked at before the first is touched. At ``after`` there is nothing to do; at ``before`` it is
    done; at neither the plan stops, and is never rebased. ``content`` gives the bytes by their hash. A ``resumed``
    plan was answered as pending before: it can no longer end as refused.
    """
    progress = _Progress(resumed, at_start)
    try:
        sights = door.vault.look_at([change.path for change in entry.changes])
        bases = [basis_of(sight) for sight in sights]
        progress.landed = [c.path for c, basis in zip(entry.changes, bases, strict=True) if basis == c.after]
        strangers = [n for n, change in enumerate(entry.changes) if bases[n] not in (change.before, change.after)]
        if strangers:
            progress.keep |= {s.hash: s.content for s in (sights[n] for n in strangers) if isinstance(s, File)}
            return _stop(door, entry, progress, bases[strangers[0]])
        for number, change in enumerate(entry.changes):
            if change.path in progress.landed:
                continue
            applied = _apply(door, change, number, content)
            if isinstance(applied, Drifted):
                if applied.content is not None and applied.found is not None and applied.found is not MISSING:
                    progress.keep[applied.found] = applied.content
                played = _stop(door, entry, progress, applied.found)
                if applied.aside is not None:
                    door.vault.remove_leftover(applied.aside.name)
                return played
            progress.landed.append(change.path)
            progress.placed.add(change.path)
            if applied.aside is not None:
                door.held.add(change.path, applied.aside)
            if applied.lost:
                log.warning("a replaced note lost %s", ", ".join(applied.lost))
        return _settle(door, entry, progress)
    except (OSError, VaultUnavailableError) as error:
        return _broken_off(door, entry, progress, error)
    except LedgerUnavailableError as error:
        return Played("pending", tuple(progress.landed), why=error)


@dataclass(slots=True)
class _Progress:
    """What a play has done so far, and bytes of others that it must keep."""

    resumed: bool
    at_start: bool
    landed: list[NotePath] = field(default_factory=list)
    placed: set[NotePath] = field(default_factory=set)
    keep: dict[ContentHash, bytes] = field(default_factory=dict)


def _apply(door: Door, change: Change, number: int, content: Callable[[ContentHash], bytes | None]) -> Applied:
    if number > 0:
        seams.at("folder_index.apply", change.path)
    after = None if change.after is MISSING else content(change.after)
    if after is None and change.after is not MISSING:
        raise LedgerUnavailableError(f"the ledger does not hold the bytes that a plan needs for {change.path}")
    return door.vault.apply(change, after, hold=door.held.seconds > 0)


def _settle(door: Door, entry: Entry, progress: _Progress) -> Played:
    """Flush the folders, read every file back, and end the plan."""
    paths = [change.path for change in entry.changes]
    door.vault.flush(paths)
    sights = door.vault.look_at(paths)
    overtaken = [n for n, change in enumerate(entry.changes) if basis_of(sights[n]) != change.after]
    if not all(isinstance(sights[n], File) and paths[n] in progress.placed for n in overtaken):
        return Played("pending", tuple(progress.landed))
    event = door.ledger.settle(entry, "committed", paths, at_start=progress.at_start, found=progress.keep)
    door.coverage.bare.difference_update(paths)
    if overtaken:
        # We placed it, and somebody replaced it right away: both happened, in this order.
        external.record_locked(door, [paths[n] for n in overtaken])
    return Played("committed", tuple(paths), event)


def _stop(door: Door, entry: Entry, progress: _Progress, found: Basis | None) -> Played:
    """A file holds bytes that the plan was not made for: end it, as refused where nothing of it has landed."""
    state: Literal["superseded", "refused"] = "superseded" if progress.landed or progress.resumed else "refused"
    event = door.ledger.settle(entry, state, progress.landed, at_start=progress.at_start, found=progress.keep)
    return Played(state, tuple(progress.landed), event, found)


def _broken_off(door: Door, entry: Entry, progress: _Progress, error: Exception) -> Played:
    """A file could not be written. Before the first one the plan ends refused; after it stays pending."""
    if progress.landed or progress.resumed:
        return Played("pending", tuple(progress.landed), why=error)
    try:
        door.ledger.settle(entry, "refused", ())
    except LedgerUnavailableError as second:
        return Played("pending", (), why=second)
    return Played("refused", (), why=error)


def _carry_out(door: Door, rights: Rights, plan: Plan, request: Request | None) -> Receipt | Pending | Refusal:
    terms = Terms(
        rights.client,
        plan.kind,
        plan.path,
        plan.before,
        plan.after,
        "pn-" + secrets.token_hex(16),
        door.contract.version,
        plan.reason,
        plan.note,
        request,
    )
    try:
        entry = door.ledger.open_entry(terms, plan.changes, plan.contents)
    except LedgerInDoubtError:
        # It may be played at the next start, so that a refusal would promise too much.
        return Pending(plan, terms.pending_id)
    except LedgerUnavailableError as error:
        return Refusal(Code.LEDGER_UNAVAILABLE, f"{error}; {_NO_LEDGER}")
    played = play(door, entry, plan.contents.get)
    match played.state:
        case "committed":
            return Receipt(plan, played.event)
        case "refused":
            return _refused(door, plan, played)
        case "superseded" | "pending":
            return Pending(plan, terms.pending_id)
        case _:
            assert_never(played.state)


def _refused(door: Door, plan: Plan, played: Played) -> Refusal:
    """Nothing landed: an outsider was quicker (conflict), or the vault could not be written."""
    if played.why is not None:
        message = f"{plan.path} could not be written ({_reason(played.why)}); it holds its old bytes. Try again"
        return Refusal(Code.VAULT_UNAVAILABLE, f"the vault: {message}")
    sight = door.vault.look(plan.path)
    found = basis_of(sight)
    if found is None:
        code = Code.EXISTS if plan.before is MISSING else Code.CONFLICT
        what = refusals.what_is_there(sight.what) if isinstance(sight, Blocked) else "a cloud placeholder"
        return Refusal(code, f"{plan.path} changed in this instant: there is {what} now", {"path": plan.path})
    if found == plan.before:
        message = f"the folder's page beside {plan.path} changed in this instant; nothing was written. Try again"
        return Refusal(Code.CONFLICT, message, {"path": plan.path, "current_hash": str(found)})
    if plan.before is MISSING and found is not MISSING:
        return refusals.exists(plan.path, found, plan.after)
    return _explained(door, refusals.conflict(plan.path, plan.before, found, plan.after), plan.path, sight)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "I/O error"
    return str(error)


def _earlier(door: Door, rights: Rights, request: Request | None) -> Replayed | Refusal | None:
    """What an earlier call with this request id came to; None where there was none."""
    if request is None or rights.client is None:
        return None
    entry = door.ledger.request(rights.client, request.id)
    if entry is None:
        return None
    if entry.terms.request is None or entry.terms.request.digest != request.digest:
        message = f"request_id {request.id!r} was used for another call; take a new one for each new call"
        return Refusal(Code.INVALID_ARGUMENTS, message)
    if entry.state == "superseded":
        message = f"this call's plan {entry.terms.pending_id} was superseded: read {entry.terms.path} again"
        return Refusal(Code.CONFLICT, message, {"landed": list(entry.landed)})
    return Replayed(entry)


# --- looking ---------------------------------------------------------------------------------------


def _see(door: Door, draft: Draft) -> View:
    """One look at everything the draft concerns."""
    creates = isinstance(draft, RestoreDraft) or (isinstance(draft, WriteDraft) and draft.expected is MISSING)
    note = door.vault.look(draft.path, twins=creates)
    target = page_of(draft.path, door.contract)
    if target is None:
        return View(note)
    page = door.vault.look(target)
    if isinstance(page, Absent) and not isinstance(draft, ArchiveDraft):
        page = door.vault.look(target, twins=True)
        return View(note, page, _siblings(door, draft.path, target))
    return View(note, page)


def _siblings(door: Door, path: NotePath, page: NotePath) -> tuple[Note, ...]:
    """The folder's other notes, for a page that has to be made; private ones only on a private page."""
    private = door.contract.private
    found = []
    for entry in door.vault.walk(path.folder, depth=1):
        if not isinstance(entry, Listed) or entry.kind != "note" or entry.path in (path, page):
            continue
        if door.contract.is_page(entry.path.name) or (private.cover(entry.path) and not private.cover(page)):
            continue
        found.append(_note_at(door, entry.path))
    return tuple(found)


def _note_at(door: Door, path: NotePath) -> Note:
    """A note as it is; one that cannot be read is known by its name alone."""
    sight: Sight | None = None
    with suppress(OSError):
        sight = door.vault.look(path)
    return notes.parse(path, sight.content, sight.hash) if isinstance(sight, File) else notes.parse(path, b"")


def _explained(door: Door, verdict: Refusal, path: NotePath, found: Sight) -> Refusal:
    """A conflict with who changed the note last, and the diff from the bytes that were read to the present ones."""
    details = dict(verdict.details)
    with suppress(LedgerUnavailableError):
        last = next(iter(door.ledger.history(path, None, 1)), None)
        if last is not None and last.after == basis_of(found):
            details |= {"changed_by": last.client, "changed_at": last.at}
        expected = ContentHash.parse(str(details.get("expected_hash", "")))
        known = door.ledger.revision(path, expected) if expected is not None else None
        before = door.ledger.content(known[0]) if known is not None else None
        if before is not None:
            after = found.content if isinstance(found, File) else b""
            details["diff"] = diffs.unified(before, after, path)
    return Refusal(verdict.code, verdict.message, details)
