"""The one way down for a write: look, plan, keep, apply, settle.

A dry run ends with the plan. A commit makes the plan again under the write lock, so that the hash that was
judged is the hash that is replaced, and plays it. Crash recovery plays the same plan from the ledger.

Writes that come while others are carried out go together: each is judged by itself and has a plan of its own; one
transaction keeps these plans, they are played in their order, and one transaction ends them.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, assert_never

from ledger import Entry, Opening, Terms
from muninn import conflicts, external, refusals
from muninn.door import Door
from muninn.model.change import Change, Pending, Plan, Receipt, Request
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.draft import Draft, View
from muninn.model.errors import LedgerInDoubtError, LedgerUnavailableError, reason
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, basis_of
from muninn.turns import MOST, Waiting
from muninn.vault import write_lock

from . import planning, playing, seeing
from .pages import page_of
from .playing import Played
from .seeing import Ahead

_LARGE: Final = 128 * 1024
"""Bytes of a note that is large."""
_SHUT: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""What no second try gets past: somebody has to give the right to write."""
_NO_LEDGER: Final = "nothing was changed. Reads go on; try again when the ledger can be written"


@dataclass(frozen=True, slots=True)
class Replayed:
    """An earlier call with the same request id made this plan; its stored answer comes back."""

    entry: Entry


Outcome = Receipt | Pending | Replayed | Refusal


class _Call(Waiting):
    """A draft in the line: its plan, once it has one, and how it came out."""

    __slots__ = ("came", "draft", "plan", "request", "rights")

    def __init__(self, rights: Rights, draft: Draft, request: Request | None) -> None:
        super().__init__()
        self.rights, self.draft, self.request = rights, draft, request
        self.plan: Plan | None = None
        self.came: Outcome | BaseException | None = None

    @property
    def is_large(self) -> bool:
        """Whether its note may take the index seconds. Then its writer waits for that, and those beside it do not."""
        after = MISSING if self.plan is None else self.plan.after
        return self.plan is not None and after is not MISSING and len(self.plan.contents.get(after, b"")) > _LARGE

    def tell(self, work: Callable[[], Outcome | None]) -> None:
        """Keep what comes out of a step for this call alone; what breaks in it does not stop the others."""
        try:
            self.came = work()
        except Exception as error:  # raised again where the call was made
            self.came = error


def judge(door: Door, rights: Rights, draft: Draft) -> Plan | Refusal:
    """Look once and plan: the whole of a dry run. Touches nothing."""
    return _judge(door, rights, draft, Ahead())[0]


def commit(door: Door, rights: Rights, draft: Draft, request: Request | None) -> Outcome:
    """Judge the draft again under the write lock and carry the plan out, alone or with those that came meanwhile."""
    call = _Call(rights, draft, request)
    if door.line.enter(call):
        _lead(door)
    if call.is_large:
        _tell_index(door, [call])
    if isinstance(call.came, BaseException):
        raise call.came
    if call.came is None:
        raise RuntimeError("a write was let go without an outcome")
    return call.came


def _lead(door: Door) -> None:
    """Take a turn, let the next one lead, and let those who are done go once the index knows of it."""
    taken: list[_Call] = []
    try:
        with write_lock(door.home):
            _take_turn(door, taken)
    except BaseException as error:  # nobody may wait for ever
        taken = taken or door.line.take(1)
        for call in taken:
            call.came = call.came or error
    done = [call for call in taken if call.came is not None]
    door.line.hand_on([call for call in taken if call.came is None])
    try:
        _tell_index(door, [call for call in done if not call.is_large])
    finally:
        door.line.release(done)


def _tell_index(door: Door, calls: list[_Call]) -> None:
    """Tell the index where to look."""
    changed = dict.fromkeys(change.path for call in calls if call.plan is not None for change in call.plan.changes)
    if changed:
        door.index.nudge(list(changed), door.vault.look)


def _take_turn(door: Door, taken: list[_Call]) -> None:
    """Judge those in the line, also who comes meanwhile, and carry their plans out.

    Of those taken, whoever has no outcome afterwards must be judged again: it met a plan that went before it. The
    first never does.
    """
    ahead = Ahead()
    while len(taken) < MOST and (calls := door.line.take(MOST - len(taken))):
        taken += calls
        for call in calls:
            call.tell(partial(_planned, door, call, ahead))
    planned = [(call, plan) for call in taken if (plan := call.plan) is not None]
    if planned:
        _carry_out(door, planned)


def _planned(door: Door, call: _Call, ahead: Ahead) -> Outcome | None:
    """Judge a call after the plans that go before it. None where it has a plan now, or must wait for those to end."""
    rights, draft, request = call.rights, call.draft, call.request
    if not rights.changes(draft.path):
        return refusals.forbidden(draft.path)
    page = page_of(draft.path, door.contract)
    if ahead.meets(draft, page, rights.client, request):
        return None
    earlier = _earlier(door, rights, request)
    if earlier is not None:
        return earlier
    concerned = [path for path in (draft.path, page) if path is not None]
    blocked = _finish_pending(door, draft, concerned, ahead)
    if blocked is not None:
        return blocked
    # An outsider's edit that a write finds is an event of its own, whatever becomes of the write.
    with suppress(LedgerUnavailableError):
        external.record_locked(door, [path for path in concerned if path not in ahead.pages])
    verdict, view = _judge(door, rights, draft, ahead)
    if isinstance(verdict, Refusal):
        return verdict
    if not verdict.changes and request is None:
        return Receipt(verdict, None)
    ahead.add(verdict, view, rights.client, request)
    call.plan = verdict
    return None


def _judge(door: Door, rights: Rights, draft: Draft, ahead: Ahead) -> tuple[Plan | Refusal, View]:
    view = seeing.see(door, draft, ahead) if rights.changes(draft.path) else View(Absent(draft.path))
    verdict = planning.plan(draft, view, door.contract, rights, door.today())
    if isinstance(verdict, Refusal) and verdict.code is Code.CONFLICT:
        return conflicts.explained(door, verdict, draft.path, view.note), view
    return verdict, view


def _finish_pending(door: Door, draft: Draft, concerned: list[NotePath], ahead: Ahead) -> Refusal | None:
    """Plans that are pending on a path of this draft come first, so that no event of a note is skipped.

    Gives the refusal where one still cannot be finished and holds this very note, or has already changed its page: a
    write over that would stand in the history before what it was made from.
    """
    left: list[Entry] = []
    with suppress(LedgerUnavailableError):
        left = playing.connected(door.ledger.open_entries(), concerned)
        # What a plan of this turn begins at was tried when that plan was judged, and must stay as it is until then.
        if left and ahead.paths.isdisjoint(change.path for entry in left for change in entry.changes):
            ended = playing.play(door, left, door.ledger.content, resumed=True)
            left = [entry for entry, played in zip(left, ended, strict=True) if played.state == "pending"]
    changes = [change for entry in left for change in entry.changes if change.path in concerned]
    held = next((one.path for one in changes if one.path == draft.path or _has_landed(door, one)), None)
    if held is None:
        return None
    now = basis_of(door.vault.look(draft.path))
    message = f"an earlier write of {held} is pending and cannot be finished now; try again later"
    details = {"path": draft.path, "current_hash": str(now or MISSING), "expected_hash": None}
    return Refusal(Code.CONFLICT, message, details)


def _has_landed(door: Door, change: Change) -> bool:
    return basis_of(door.vault.look(change.path)) != change.before


def _carry_out(door: Door, planned: list[tuple[_Call, Plan]]) -> None:
    """Keep these plans in one transaction, and play them."""
    openings = [_opening(door, call, plan) for call, plan in planned]
    try:
        entries = door.ledger.open_together(openings)
    except LedgerInDoubtError:
        # They may be played at the next start, so that a refusal would promise too much.
        for (call, plan), opening in zip(planned, openings, strict=True):
            call.came = Pending(plan, opening.terms.pending_id)
        return
    except LedgerUnavailableError as error:
        for call, _ in planned:
            call.came = Refusal(Code.LEDGER_UNAVAILABLE, f"{error}; {_NO_LEDGER}")
        return
    contents = {digest: content for _, plan in planned for digest, content in plan.contents.items()}
    ended = playing.play(door, entries, contents.get)
    for (call, plan), entry, played in zip(planned, entries, ended, strict=True):
        if played.leaned:
            call.plan = None  # nothing of it was touched: it is judged again, by what stands there now
        else:
            call.tell(partial(_outcome, door, plan, entry, played))


def _opening(door: Door, call: _Call, plan: Plan) -> Opening:
    terms = Terms(
        call.rights.client,
        plan.kind,
        plan.path,
        plan.before,
        plan.after,
        "pn-" + secrets.token_hex(16),
        door.contract.version,
        plan.reason,
        plan.note,
        call.request,
    )
    return Opening(terms, plan.changes, plan.contents)


def _outcome(door: Door, plan: Plan, entry: Entry, played: Played) -> Outcome:
    match played.state:
        case "committed":
            return Receipt(plan, played.event)
        case "refused":
            return _refused(door, plan, played)
        case "superseded" | "pending":
            return Pending(plan, entry.terms.pending_id)
        case _:
            assert_never(played.state)


def _refused(door: Door, plan: Plan, played: Played) -> Refusal:
    """Nothing landed: an outsider was quicker (conflict), or the vault could not be written."""
    if played.why is not None:
        is_shut = isinstance(played.why, OSError) and played.why.errno in _SHUT
        step = "Only the owner can open the folder for writing" if is_shut else "Try again"
        message = f"{plan.path} could not be written ({_reason(played.why)}); it holds its old bytes. {step}"
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
    return conflicts.explained(door, refusals.conflict(plan.path, plan.before, found, plan.after), plan.path, sight)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return reason(error)
    return str(error)


def _earlier(door: Door, rights: Rights, request: Request | None) -> Replayed | Refusal | None:
    """What an earlier call with this request id came to; None where there was none."""
    if request is None or rights.client is None:
        return None
    entry = door.ledger.request(rights.client, request.id)
    if entry is None:
        # Claims and registrations have request ids, too, and no call of theirs is one of these.
        other = door.ledger.claims.asked(rights.client, request.id)
        return None if other is None else refusals.used_before(request.id)
    if entry.terms.request is None or entry.terms.request.digest != request.digest:
        return refusals.used_before(request.id)
    if entry.state == "superseded":
        message = f"this call's plan {entry.terms.pending_id} was superseded: read {entry.terms.path} again"
        return Refusal(Code.CONFLICT, message, {"landed": list(entry.landed)})
    return Replayed(entry)


def recover(door: Door, client: str | None, pending_id: str) -> Entry | Refusal:
    """Go on with a pending plan of this client; a settled one answers its state again and adds nothing.

    Other plans that are pending on its paths go on with it: it may begin where one of them ends.
    """
    with write_lock(door.home):
        entry = door.ledger.entry(pending_id)
        if entry is None or entry.terms.client != client:
            message = f"no plan of this client has the id {pending_id}; call recover without an id for the list"
            return Refusal(Code.UNKNOWN_ID, message)
        if entry.state != "pending":
            return entry
        if door.ledger.fault is not None:
            raise LedgerUnavailableError(door.ledger.fault)
        left = playing.connected(door.ledger.open_entries(), [change.path for change in entry.changes]) or [entry]
        playing.play(door, left, door.ledger.content, resumed=True)
    changed = dict.fromkeys(change.path for one in left for change in one.changes)
    door.index.nudge(list(changed), door.vault.look)
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
        playing.play(door, left, door.ledger.content, resumed=True, at_start=True)
    return [door.ledger.entry(entry.terms.pending_id) or entry for entry in left]
