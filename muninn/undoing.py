"""Undo for the person: reverse what one client, or somebody around the door, did in a stretch of time.

Note by note, each only while its bytes are still the ones to be undone; the rest is reported and left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ledger import Event
from muninn import writing
from muninn.door import Door
from muninn.model.change import Kind, Pending, Receipt
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.draft import Kept, UndoDraft
from muninn.model.errors import reason
from muninn.model.refusal import Refusal
from muninn.model.rights import Rights
from muninn.model.sight import basis_of


@dataclass(frozen=True, slots=True)
class Who:
    """Whose changes are undone: a client by name, or None for whatever came around the door."""

    client: str | None

    def made(self, event: Event) -> bool:
        """Whether an event is theirs. The person's own undo is nobody's to undo."""
        if event.kind is Kind.INDEX:
            return False
        if self.client is None:
            return event.kind.value == "external"
        return event.client == self.client


@dataclass(frozen=True, slots=True)
class Reversal:
    """One note: what it holds now, what it would hold, how many events that reverses, and how it ended."""

    path: NotePath
    now: Basis
    back_to: Basis
    events: int
    state: Literal["planned", "undone", "left"]
    why: str | None = None


def paths(door: Door, who: Who, since: str, until: str) -> list[NotePath]:
    """The notes they changed, the one changed last first. Times are RFC 3339 in UTC."""
    found = [path for path in door.ledger.between(who.client, since, until) if path.is_note]
    return [path for path in found if _is_theirs(door, who, path, since, until)]


def reversals(door: Door, who: Who, since: str, until: str) -> list[Reversal]:
    """What an undo would do, note by note. Touches nothing. Times are RFC 3339 in UTC."""
    return [reversal(door, who, path, since, until) for path in paths(door, who, since, until)]


def undo(door: Door, rights: Rights, who: Who, since: str, until: str) -> list[Reversal]:
    """Carry out every reversal that still fits; each is a plan of its own, with its folder's page."""
    return [carried_out(door, rights, one) for one in reversals(door, who, since, until)]


def _is_theirs(door: Door, who: Who, path: NotePath, since: str, until: str) -> bool:
    """Whether they changed the path itself: a folder's page that only followed its notes follows them again."""
    if not door.contract.is_page(path.name):
        return True
    return any(who.made(event) and since <= event.at <= until for event in door.ledger.history(path, None, 10_000))


def reversal(door: Door, who: Who, path: NotePath, since: str, until: str) -> Reversal:
    """What an undo would do to one note, or why it would leave it. Touches nothing."""
    try:
        now = basis_of(door.vault.look(path))
    except OSError as error:
        return Reversal(path, MISSING, MISSING, 0, "left", f"it cannot be read ({reason(error)})")
    events = door.ledger.history(path, None, 10_000)
    run = _newest_run(events, who, since, until)
    if now is None:
        return Reversal(path, MISSING, MISSING, 0, "left", "what is there is no regular file")
    if not run:
        other = events[0].client or "somebody around the door"
        return Reversal(path, now, now, 0, "left", f"changed since then by {other}")
    back_to = run[-1].before
    if now != run[0].after:
        return Reversal(path, now, back_to, len(run), "left", "its bytes are not the ones to be undone")
    if isinstance(back_to, ContentHash) and not door.ledger.keeps(back_to):
        return Reversal(path, now, back_to, len(run), "left", "the bytes before are not kept")
    if now == back_to:
        return Reversal(path, now, back_to, len(run), "left", "it holds the bytes before already")
    return Reversal(path, now, back_to, len(run), "planned")


def _newest_run(events: list[Event], who: Who, since: str, until: str) -> list[Event]:
    """The unbroken run of their events, newest first, that ends the path's history."""
    run: list[Event] = []
    for event in events:
        if not (who.made(event) and since <= event.at <= until):
            break
        if run and event.after != run[-1].before:
            break
        run.append(event)
    return run


def draft(door: Door, one: Reversal) -> UndoDraft | None:
    """A planned reversal as what is asked of the vault; None where the bytes before are not kept (any more)."""
    if not isinstance(one.back_to, ContentHash):
        return UndoDraft(one.path, one.now, None)
    content = door.ledger.content(one.back_to)
    if content is None:
        return None
    found = door.ledger.revision(one.path, one.back_to)
    return UndoDraft(one.path, one.now, Kept(one.back_to, content, None if found is None else found[1]))


def carried_out(door: Door, rights: Rights, one: Reversal) -> Reversal:
    """Carry out a planned reversal, only while its bytes are still the ones that it names; any other stays as it is."""
    if one.state != "planned":
        return one
    asked = draft(door, one)
    if asked is None:
        return _left(one, "the bytes before are not kept")
    try:
        outcome = writing.commit(door, rights, asked, None)
    except OSError as error:
        return _left(one, f"it cannot be read ({reason(error)})")
    match outcome:
        case Receipt():
            return replace(one, state="undone")
        case Refusal(_, message):
            return _left(one, message)
        case Pending(_, pending_id):
            return _left(one, f"pending as {pending_id}")
        case _:
            raise AssertionError("an undo has no request id that could be replayed")


def _left(one: Reversal, why: str) -> Reversal:
    return replace(one, state="left", why=why)
