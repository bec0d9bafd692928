"""Summaries: registered with their exact sources, and asked whether those are still what they were.

A registration is a row of the ledger; its sources were read again and compared, and their bytes are kept, all or
none. Private sources make the summary private: who may not see one of them knows of no registration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from muninn import cursors, refusals
from muninn.door import Door
from muninn.model.bound import BecauseRow, BoundState, Registered, SourceRow, StalenessAnswer, SummaryRow
from muninn.model.change import Request
from muninn.model.content import BadPath, ContentHash, NotePath, Revision
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, File, Sight, TooMuch, basis_of
from muninn.model.summary import MOST_BYTES, MOST_CHECKS, Because, Current, Registration, Stale, State, Unknown
from muninn.vault import write_lock

from .claims import state_of
from .refreshing import Look
from .tracing import Budget, Traced, newest, trace

PAGE: Final = 100
_MOST_ROWS: Final = 500
"""Reasons in one page of a list; at least one summary is always told."""
_MOST_EDGES: Final = 20_000
"""Sources that are met for one page of a list."""
_NAMED: Final = 20
"""Faults of one kind that a message names; all stand in its details."""


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A registration as the client sent it: paths and hashes are not checked yet."""

    path: NotePath
    hash: str
    sources: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with the summary or one of its sources."""

    code: Code
    path: str
    why: str
    expected: str | None = None
    current: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    summary: Revision
    sources: tuple[Revision, ...]
    contents: dict[ContentHash, bytes]


# --- registering -----------------------------------------------------------------------------------


def register(
    door: Door, rights: Rights, draft: SummaryDraft, *, dry_run: bool, request: Request | None
) -> Registered | Refusal:
    """Register a summary with its sources, each read again and compared; refused whole, with every fault named."""
    if dry_run:
        judged = _judge(door, rights, draft)
        return judged if isinstance(judged, Refusal) else _registered(None, judged.sources, "dry_run")
    with write_lock(door.home):
        earlier = _earlier(door, rights, request)
        if earlier is not None:
            return earlier
        judged = _judge(door, rights, draft)
        if isinstance(judged, Refusal):
            return judged
        added = door.ledger.claims.register(rights.client, judged.summary, judged.sources, judged.contents, request)
    return _registered(added.id, judged.sources, state_of(added))


def _registered(made: str | None, sources: Sequence[Revision], state: BoundState) -> Registered:
    return Registered(made, tuple(SourceRow(source.path, source.hash) for source in sources), state)


def _earlier(door: Door, rights: Rights, request: Request | None) -> Registered | Refusal | None:
    """The stored answer of an earlier call with this request id; a refusal where that was another call."""
    if request is None or rights.client is None:
        return None
    asked = door.ledger.claims.asked(rights.client, request.id)
    if asked is None:
        return None
    if asked.digest != request.digest or asked.path is None:
        return refusals.used_before(request.id)
    made = next(one for one in door.ledger.claims.registrations(asked.path) if one.id == asked.id)
    return _registered(made.id, [source for source in made.sources if rights.sees(source.path)], "replayed")


def _judge(door: Door, rights: Rights, draft: SummaryDraft) -> _Judged | Refusal:
    if len(draft.sources) > MOST_CHECKS:
        message = f"a summary has at most {MOST_CHECKS} sources, found {len(draft.sources)}: summarise parts of them"
        return Refusal(Code.BUDGET_EXCEEDED, message, {"sources": len(draft.sources), "most_sources": MOST_CHECKS})
    own, sources, faults = _parsed(draft)
    if faults:
        return _refused(draft, faults)
    if not rights.changes(draft.path):
        return refusals.forbidden(draft.path)
    hidden = [source.path for source in sources if not rights.sees(source.path)]
    if hidden:
        message = f"this client may not use {', '.join(hidden[:_NAMED])} as a source; ask the owner for wider rights"
        return Refusal(Code.FORBIDDEN, message)
    if not draft.path.is_note or draft.path.is_temporary:
        return refusals.not_a_note(draft.path)
    contents: dict[ContentHash, bytes] = {}
    faults = [*_own_faults(door, own), *_source_faults(door, sources, contents)]
    return _refused(draft, faults) if faults else _Judged(own, tuple(sources), contents)


def _parsed(draft: SummaryDraft) -> tuple[Revision, list[Revision], list[_Fault]]:
    """Paths and hashes, with every one that is none, or that stands there twice."""
    faults: list[_Fault] = []
    found: dict[NotePath, Revision] = {}
    if not draft.sources:
        faults.append(
            _Fault(Code.INVALID_ARGUMENTS, draft.path, "`sources` is empty: name what the summary was made from")
        )
    own = ContentHash.parse(draft.hash)
    if own is None:
        faults.append(_Fault(Code.INVALID_ARGUMENTS, draft.path, f"`hash` {draft.hash[:80]!r} is no hash of a read"))
    for number, (text, typed) in enumerate(draft.sources):
        path, digest = NotePath.parse(text), ContentHash.parse(typed)
        if isinstance(path, BadPath):
            faults.append(_Fault(Code.INVALID_PATH, text[:200], f"`sources.{number}.path` is no path: {path.why}"))
        elif path in found:
            faults.append(_Fault(Code.INVALID_ARGUMENTS, path, f"`sources.{number}.path` stands there twice"))
        if digest is None:
            faults.append(_Fault(Code.INVALID_ARGUMENTS, text[:200], f"`sources.{number}.hash` is no hash of a read"))
        if not isinstance(path, BadPath) and digest is not None:
            found.setdefault(path, Revision(path, digest))
    return Revision(draft.path, own or ContentHash("")), list(found.values()), faults


def _own_faults(door: Door, own: Revision) -> Iterator[_Fault]:
    yield from _faults_of(own, _look(door, own.path, MOST_BYTES), "the summary")


def _source_faults(door: Door, sources: list[Revision], contents: dict[ContentHash, bytes]) -> Iterator[_Fault]:
    """Every source that does not hold what was said of it; the bytes of the others go into ``contents``."""
    spent = 0
    for source in sources:
        found = _look(door, source.path, MOST_BYTES - spent)
        if isinstance(found, File):
            spent += len(found.content)
            contents[found.hash] = found.content
        yield from _faults_of(source, found, "the source")


def _look(door: Door, path: NotePath, most: int) -> Sight | TooMuch | None:
    if path.is_temporary:
        return Absent(path)
    with suppress(OSError):
        return door.vault.look_within(path, most)
    return None


def _faults_of(expected: Revision, found: Sight | TooMuch | None, what: str) -> Iterator[_Fault]:
    path = expected.path
    match found:
        case TooMuch(_, size):
            why = f"{what} {path} has {size} bytes, more than is left of {MOST_BYTES} for all"
            yield _Fault(Code.BUDGET_EXCEEDED, path, why, expected.hash)
        case Blocked(_, stands):
            yield _Fault(
                Code.INVALID_PATH, path, f"{what} {path} is no file: there is {refusals.what_is_there(stands)}"
            )
        case None:
            yield _Fault(Code.VAULT_UNAVAILABLE, path, f"{what} {path} cannot be read now", expected.hash)
        case _:
            current = basis_of(found)
            if current is None:
                yield _Fault(Code.VAULT_UNAVAILABLE, path, f"{what} {path} is a cloud placeholder", expected.hash)
            elif current != expected.hash:
                why = f"{what} {path} holds {current}, not {expected.hash}"
                yield _Fault(Code.CONFLICT, path, why, expected.hash, str(current))


_ORDER: Final = (
    Code.INVALID_ARGUMENTS,
    Code.INVALID_PATH,
    Code.BUDGET_EXCEEDED,
    Code.CONFLICT,
    Code.VAULT_UNAVAILABLE,
)
"""Of faults of several kinds, the one that the code of the refusal names."""


def _refused(draft: SummaryDraft, faults: list[_Fault]) -> Refusal:
    code = min((fault.code for fault in faults), key=_ORDER.index)
    first = next(fault for fault in faults if fault.code is code)
    told = "; ".join(fault.why for fault in faults[:_NAMED])
    more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
    details: dict[str, Any] = {"path": first.path}
    if code is Code.CONFLICT:
        details |= {"expected_hash": first.expected, "current_hash": first.current}
    details["faults"] = [
        {"path": f.path, "code": f.code.value, "expected_hash": f.expected, "current_hash": f.current} for f in faults
    ]
    message = (
        f"{draft.path} was not registered: {told}{more}. Read them again, bring the summary up to date, and register it"
    )
    return Refusal(code, message, details)


# --- asking ----------------------------------------------------------------------------------------


def staleness(
    door: Door, rights: Rights, path: NotePath | None, *, detail: bool, cursor: str | None
) -> StalenessAnswer | Refusal:
    """Whether one summary is current, or, a page at a time, all that the client may know of."""
    asked = {"path": path, "detail": detail}
    position = cursors.read("staleness", asked, cursor) if cursor is not None else ""
    if isinstance(position, Refusal):
        return position
    if path is not None and not rights.sees(path):
        return refusals.not_found(path)
    budget = Budget(door, keeping=detail)
    if path is None:
        told, following = _page(door, rights, budget, str(position))
    else:
        told, following = _one(door, rights, budget, path), None
    looks = Look(door, rights, budget) if detail else None
    rows = tuple(_row(registration, traced.state, looks) for registration, traced in told)
    last = cursors.make("staleness", asked, following) if following is not None else None
    return StalenessAnswer(rows, budget.checks, budget.bytes, budget.exhausted, last)


def _one(door: Door, rights: Rights, budget: Budget, path: NotePath) -> list[tuple[Registration, Traced]]:
    found = newest(door, rights, path)
    return [] if found is None else [(found, trace(found, lambda below: newest(door, rights, below), budget))]


def _page(
    door: Door, rights: Rights, budget: Budget, after: str
) -> tuple[list[tuple[Registration, Traced]], str | None]:
    """Summaries after this path, within one budget, and the last path told where there are more.

    The first of a page has the whole budget. Another that it does not reach for is left to the next page, where it
    is the first; so no summary is unknown because of those that were told before it.
    """
    told: list[tuple[Registration, Traced]] = []
    rows = 0
    for found in registered(door, rights, after):
        last = told[-1][0].summary.path if told else after
        if len(told) == PAGE or rows > _MOST_ROWS or budget.edges > _MOST_EDGES:
            return told, last
        if told and budget.look(found.summary.path) is None:
            return told, last
        traced = trace(found, lambda below: newest(door, rights, below), budget)
        if told and budget.exhausted:
            return told, last
        told.append((found, traced))
        rows += len(_reasons(traced.state))
    return told, None


def registered(door: Door, rights: Rights, after: str = "") -> Iterator[Registration]:
    """The newest registration of every summary that the client may know of, by path."""
    while paths := door.ledger.claims.summaries(after, PAGE):
        for path in paths:
            found = newest(door, rights, path)
            if found is not None:
                yield found
        after = paths[-1]


def _reasons(state: State) -> tuple[Because, ...]:
    return () if isinstance(state, Current) else state.because


def _row(registration: Registration, state: State, looks: Look | None) -> SummaryRow:
    path = registration.summary.path
    reasons = _reasons(state)
    if looks is not None:
        because = tuple(looks.detailed(registration, reason) for reason in reasons)
    else:
        because = tuple(BecauseRow(b.path, b.why, b.expected, b.found) for b in reasons)
    match state:
        case Current():
            return SummaryRow(path, "current", because)
        case Stale():
            return SummaryRow(path, "stale", because)
        case Unknown():
            return SummaryRow(path, "unknown", because)
