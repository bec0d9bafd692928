"""Claims: a statement bound to a source at exact bytes, held while the source has them, abstaining otherwise.

A claim is a row of the ledger; its source's bytes are kept with it. Nothing here changes a note. Claims on sources that
a client may not see are not there for it: in no list, count or cursor, and under no id.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ledger.claims import Added
from muninn import conflicts, cursors, external, refusals
from muninn.door import Door
from muninn.model.bound import AbstainingRow, BoundState, Claimed, ClaimsAnswer, HeldRow
from muninn.model.change import Request
from muninn.model.claim import Abstained, Claim, Held, Lines, stand
from muninn.model.content import MISSING, Basis, ContentHash, NotePath, Revision
from muninn.model.errors import LedgerUnavailableError
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.model.sight import OTHER, Absent, Blocked, Elsewhere, File, TooMuch, basis_of
from muninn.model.summary import MOST_BYTES
from muninn.vault import write_lock

MOST_STATEMENT: Final = 2_000
"""Characters of a statement, and of the reason of a retraction."""
PAGE: Final = 100
_PAGE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of sources that are read for one page; after that it ends, and the cursor goes on."""
_BATCH: Final = 500
_LARGEST_BATCH: Final = 8_000
"""Claims that are read at once where few of them may be seen: each time all retractions are read, too."""
_HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_PLAIN: Final = frozenset("\n\t\u200c\u200d")
"""Characters of these categories that a text may hold: line ends, tabs, and the joiners of many scripts."""


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """What is claimed: ``revision`` and the lines as the client sent them."""

    statement: str
    path: NotePath
    revision: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """A claim that may be made, with the bytes that its source holds now."""

    source: Revision
    content: bytes = field(repr=False)
    lines: Lines | None


# --- making one ------------------------------------------------------------------------------------


def claim(
    door: Door, rights: Rights, draft: ClaimDraft, *, dry_run: bool, request: Request | None
) -> Claimed | Refusal:
    """Bind a statement to the bytes that its source holds now; refused where they are not those of the revision."""
    if dry_run:
        judged = _judge(door, rights, draft)
        return judged if isinstance(judged, Refusal) else Claimed(None, "dry_run")
    with write_lock(door.home):
        earlier = replayed(door, rights, request)
        if isinstance(earlier, Refusal | Claimed):
            return earlier
        if rights.sees(draft.path):
            # An outsider's edit that a call finds is an event of its own, whatever becomes of the call.
            with suppress(LedgerUnavailableError):
                external.record_locked(door, [draft.path])
        judged = _judge(door, rights, draft)
        if isinstance(judged, Refusal):
            return judged
        added = door.ledger.claims.add(
            rights.client, draft.statement, judged.source, judged.lines, judged.content, request
        )
    return Claimed(added.id, state_of(added))


def replayed(door: Door, rights: Rights, request: Request | None) -> Claimed | Refusal | None:
    """The stored answer of an earlier call with this request id; a refusal where that was another call."""
    if request is None or rights.client is None:
        return None
    asked = door.ledger.claims.asked(rights.client, request.id)
    if asked is None:
        return None
    if asked.digest != request.digest:
        return refusals.used_before(request.id)
    return Claimed(asked.claim, "replayed")


def state_of(added: Added) -> BoundState:
    """How a row that was added is told."""
    return "committed" if added.certain else "pending"


def _judge(door: Door, rights: Rights, draft: ClaimDraft) -> _Judged | Refusal:
    faults = [*text_faults("statement", draft.statement), *_range_faults(draft)]
    if faults:
        return Refusal(Code.INVALID_ARGUMENTS, "; ".join(faults))
    path = draft.path
    if not rights.sees(path):
        message = f"this client may make no claim on {path}; ask the owner for a wider --read glob or scope"
        return Refusal(Code.FORBIDDEN, message)
    expected = _named(door, draft)
    if isinstance(expected, Refusal):
        return expected
    found = Absent(path) if path.is_temporary else door.vault.look_within(path, MOST_BYTES)
    match found:
        case Elsewhere():
            return refusals.elsewhere(path)
        case Blocked(_, what):
            return refusals.no_file(path, what)
        case TooMuch(_, size):
            message = f"{path} has {size} bytes; a claim keeps the bytes of its source, {MOST_BYTES} at most"
            return Refusal(Code.TOO_LARGE, message, {"path": path})
        case Absent():
            return conflicts.explained(door, _other_revision(path, expected, MISSING), path, found)
        case File():
            pass
    if found.hash != expected:
        return conflicts.explained(door, _other_revision(path, expected, found.hash), path, found)
    lines = _lines(draft, found)
    return lines if isinstance(lines, Refusal) else _Judged(Revision(path, found.hash), found.content, lines)


def text_faults(name: str, text: str) -> Iterator[str]:
    """Why a text is no statement and no reason: empty, too long, or with characters that hide something."""
    if len(text) > MOST_STATEMENT:
        yield f"`{name}` has {len(text)} characters, {MOST_STATEMENT} are allowed: say one thing at a time"
    elif not any(character.isalnum() for character in text):
        yield f"`{name}` holds no word"
    odd = next((c for c in text if c not in _PLAIN and unicodedata.category(c) in _HIDING), None)
    if odd is not None:
        yield f"`{name}` holds the character U+{ord(odd):04X}, which hides or turns text; leave it out"


def _range_faults(draft: ClaimDraft) -> Iterator[str]:
    if draft.end_line is not None and draft.start_line is None:
        yield "`end_line` needs a `start_line`"
    elif draft.end_line is not None and draft.start_line is not None and draft.end_line < draft.start_line:
        yield f"`end_line` {draft.end_line} is before `start_line` {draft.start_line}"


def _named(door: Door, draft: ClaimDraft) -> ContentHash | Refusal:
    """The hash that a revision stands for."""
    digest = ContentHash.parse(draft.revision)
    if digest is not None:
        return digest
    known = door.ledger.revision(draft.path, draft.revision)
    if known is None:
        message = (
            f"`revision` {draft.revision[:80]!r} is no revision of {draft.path}: give the `hash` of a read, or an "
            f"event id from history({draft.path})"
        )
        return Refusal(Code.UNKNOWN_ID, message)
    return known[0]


def _other_revision(path: NotePath, expected: ContentHash, current: Basis) -> Refusal:
    message = (
        f"the revision of a claim must be the one that is there now: `revision` is {expected}, and {path} holds "
        f"{current}; read it again and claim what it says now"
    )
    details = {"path": path, "expected_hash": str(expected), "current_hash": str(current)}
    return Refusal(Code.CONFLICT, message, details)


def _lines(draft: ClaimDraft, found: File) -> Lines | Refusal | None:
    """The lines a claim points to, where it points to any: they must be there, and be text."""
    if draft.start_line is None:
        return None
    lines = Lines(draft.start_line, draft.end_line or draft.start_line)
    try:
        found.content.decode()
    except UnicodeDecodeError:
        return Refusal(Code.NOT_TEXT, f"{found.path} is no text, so it has no lines; claim it without `start_line`")
    count = found.content.count(b"\n") + (bool(found.content) and not found.content.endswith(b"\n"))
    if lines.end > count:
        name, line = ("start_line", lines.start) if lines.start > count else ("end_line", lines.end)
        return Refusal(Code.INVALID_ARGUMENTS, f"`{name}` {line} is past the end: {found.path} has {count} lines")
    return lines


# --- ending one ------------------------------------------------------------------------------------


def retract(
    door: Door, rights: Rights, claim_id: str, reason: str, *, dry_run: bool, request: Request | None
) -> tuple[Claim | None, Claimed] | Refusal:
    """End a claim, whoever made it. Gives the claim, None where the call was a repeat, beside the answer."""
    faults = list(text_faults("reason", reason))
    if faults:
        return Refusal(Code.INVALID_ARGUMENTS, "; ".join(faults))
    if dry_run:
        found = _standing(door, rights, claim_id)
        return found if isinstance(found, Refusal) else (found, Claimed(found.id, "dry_run"))
    with write_lock(door.home):
        earlier = replayed(door, rights, request)
        if isinstance(earlier, Refusal):
            return earlier
        if earlier is not None:
            return None, earlier
        found = _standing(door, rights, claim_id)
        if isinstance(found, Refusal):
            return found
        added = door.ledger.claims.retract(rights.client, found, reason, request)
    return found, Claimed(found.id, state_of(added))


def _standing(door: Door, rights: Rights, claim_id: str) -> Claim | Refusal:
    """A claim that this client may see and that nobody has retracted."""
    found = door.ledger.claims.at(claim_id)
    if found is None or not rights.sees(found.source.path):
        return Refusal(Code.UNKNOWN_ID, f"no claim has the id {claim_id[:80]!r}; `claims` lists them with their ids")
    ended = door.ledger.claims.retraction(found)
    if ended is not None:
        message = f"the claim {found.id} was retracted already, by {ended.client or 'the owner'} at {ended.at}"
        return Refusal(Code.UNKNOWN_ID, message)
    return found


# --- asking for them -------------------------------------------------------------------------------


class Sources:
    """What the sources of claims hold now, each looked at once."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._left = _PAGE_BYTES
        self._seen: dict[NotePath, tuple[Basis | None, bool]] = {}

    @property
    def ended(self) -> bool:
        """Whether so much was read that a page should end."""
        return self._left <= 0

    def stand(self, claim: Claim) -> Held | Abstained:
        """Whether a claim is held now."""
        found, archived = self._at(claim.source.path)
        return stand(claim, found, archived=archived)

    def found(self, path: NotePath) -> Basis | None:
        """What a source holds, None where it cannot be read."""
        return self._at(path)[0]

    def _at(self, path: NotePath) -> tuple[Basis | None, bool]:
        if path not in self._seen:
            found = self._look(path)
            self._seen[path] = (found, found is MISSING and conflicts.was_archived(self._door, path))
        return self._seen[path]

    def _look(self, path: NotePath) -> Basis | None:
        with suppress(OSError):
            found = self._door.vault.look_within(path, MOST_BYTES)
            if isinstance(found, TooMuch):
                # No claim is bound to so many bytes: whatever they are, they are others.
                return OTHER
            self._left -= len(found.content) if isinstance(found, File) else 0
            return basis_of(found)
        return None


def of_path(door: Door, rights: Rights, path: NotePath, cursor: str | None) -> ClaimsAnswer | Refusal:
    """Claims on one source, newest first, held or abstaining."""
    if not rights.sees(path):
        return refusals.not_found(path)
    return _paged(door, {"path": path}, cursor, lambda below, limit: door.ledger.claims.of_path(path, below, limit))


def everywhere(door: Door, rights: Rights, cursor: str | None) -> ClaimsAnswer | Refusal:
    """All claims that the client may see, newest first, held or abstaining."""

    def next_ones(below: int | None, limit: int) -> list[Claim]:
        return [claim for _, claim in zip(range(limit), visible(door, rights, below), strict=False)]

    return _paged(door, {}, cursor, next_ones)


def visible(door: Door, rights: Rights, below: int | None = None) -> Iterator[Claim]:
    """Claims that nobody has retracted and whose sources the client may see, newest first."""
    size = _BATCH
    while batch := door.ledger.claims.newest(below, size):
        yield from (claim for claim in batch if rights.sees(claim.source.path))
        if len(batch) < size:
            return
        below, size = batch[-1].seq, min(size * 4, _LARGEST_BATCH)


def _paged(
    door: Door, asked: dict[str, str], cursor: str | None, next_ones: Callable[[int | None, int], list[Claim]]
) -> ClaimsAnswer | Refusal:
    position = cursors.read_number("claims", asked, cursor) if cursor is not None else None
    if isinstance(position, Refusal):
        return position
    sources = Sources(door)
    found = next_ones(position, PAGE + 1)
    standings: list[Held | Abstained] = []
    for claim in found[:PAGE]:
        if sources.ended:
            break
        standings.append(sources.stand(claim))
    shown = len(standings)
    following = cursors.make("claims", asked, found[shown - 1].seq) if shown < len(found) else None
    return answered(standings, following)


def answered(standings: list[Held | Abstained], following: str | None) -> ClaimsAnswer:
    """Standings as the answer of ``claims``."""
    held = tuple(_held_row(one.claim) for one in standings if isinstance(one, Held))
    rest = tuple(AbstainingRow(one.id, one.path, one.why) for one in standings if isinstance(one, Abstained))
    return ClaimsAnswer(held, rest, following)


def _held_row(claim: Claim) -> HeldRow:
    lines = (claim.lines.start, claim.lines.end) if claim.lines is not None else (None, None)
    return HeldRow(claim.id, claim.statement, claim.source.path, claim.source.hash, claim.client, claim.at, *lines)
