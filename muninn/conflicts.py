"""What a conflict tells beside the two hashes: who changed the note last, and what changed since it was read."""

from __future__ import annotations

from contextlib import suppress

from muninn import diffs
from muninn.door import Door
from muninn.model.change import Kind
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.errors import LedgerUnavailableError
from muninn.model.refusal import Refusal
from muninn.model.sight import File, Sight, TooMuch, basis_of


def explained(door: Door, verdict: Refusal, path: NotePath, found: Sight | TooMuch) -> Refusal:
    """A conflict with who changed the note last, and the diff from the expected bytes to the present ones."""
    details = dict(verdict.details)
    now = None if isinstance(found, TooMuch) else basis_of(found)
    with suppress(LedgerUnavailableError):
        last = next(iter(door.ledger.history(path, None, 1)), None)
        if last is not None and last.after == now:
            details |= {"changed_by": last.client, "changed_at": last.at}
        expected = ContentHash.parse(str(details.get("expected_hash", "")))
        known = door.ledger.revision(path, expected) if expected is not None else None
        before = door.ledger.content(known[0]) if known is not None else None
        if before is not None and not isinstance(found, TooMuch):
            details["diff"] = diffs.unified(before, found.content if isinstance(found, File) else b"", path)
    return Refusal(verdict.code, verdict.message, details)


def was_archived(door: Door, path: NotePath) -> bool:
    """Whether a path that holds nothing was archived, rather than taken away around the door or undone."""
    last = next(iter(door.ledger.history(path, None, 1)), None)
    return last is not None and last.kind is Kind.ARCHIVE and last.after is MISSING
