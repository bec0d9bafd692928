"""At a stop: a word on what this client has begun and not ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ledger import Entry
from ledger.peek import peek
from muninn.model.rights import Rights
from muninn.settings import Settings

from .calling import Call, Silence
from .context import Context, held_up, told_the_user

_NAMED: Final = 3


def at_stop(settings: Settings, rights: Rights, call: Call, *, remind: bool = False) -> Context | Silence:
    """What is pending, told to the user, or with ``remind`` to the agent, whose stop is held up for it.

    Never twice in a row: where a stop was held up before, or that is not said, nobody is held up again.
    Raises LedgerUnavailableError where the ledger cannot be read.
    """
    left = pending(peek(settings.places.ledger).pending, rights) if settings.places.ledger.exists() else ""
    if not left:
        return Silence("nothing is pending")
    if not remind:
        return told_the_user(f"Muninn: {left}")
    return Silence("reminded before") if call.continued else held_up(left)


def pending(plans: Sequence[Entry], rights: Rights) -> str:
    """The writes of this client that are pending, in a sentence; ``""`` where there is none."""
    own = [plan.terms.pending_id for plan in plans if plan.terms.client == rights.client]
    if not own:
        return ""
    more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
    count = "a write is" if len(own) == 1 else f"{len(own)} writes are"
    return f"{count} pending: call Muninn's tool recover with {', '.join(own[:_NAMED])}{more}, and look at the state"
