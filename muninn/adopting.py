"""Adopt a vault that was there before: propose what each note lacks to meet the contract, and write it.

Each note is a plan of its own on the ordinary way down, so that its old bytes are kept and ``muninn undo --client
owner:adopt`` brings them back. Folder pages that are there follow their notes; none is made, because an undo would
leave it behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from muninn import diffs, proposing, writing
from muninn.contract import OwnerRules
from muninn.door import Door
from muninn.model import note as notes
from muninn.model.change import Pending, Receipt
from muninn.model.content import NotePath
from muninn.model.draft import WriteDraft
from muninn.model.errors import LedgerUnavailableError, reason
from muninn.model.listing import Entry
from muninn.model.refusal import Refusal
from muninn.model.rights import Globs, Rights
from muninn.model.sight import Absent, File
from muninn.proposing import Field, Known, Proposal
from muninn.writing.pages import page_of

CLIENT: Final = "owner:adopt"
"""The name under which the ledger has it, for an undo. No client can bear it: theirs hold no colon."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """One note: whether it was valid, what would be or was written, or why it was left as it is."""

    path: NotePath
    state: Literal["valid", "planned", "adopted", "left"]
    fields: tuple[Field, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    diff: str = ""
    why: str | None = None


def chosen(door: Door, glob: str) -> list[NotePath]:
    """The notes that a glob names, by path; private ones are left out. Raises VaultUnavailableError."""
    wanted, private = Globs((glob,)), door.contract.private
    found = (entry.path for entry in door.vault.walk() if isinstance(entry, Entry) and entry.kind == "note")
    return sorted(path for path in found if wanted.cover(path) and not private.cover(path))


def adopt(door: Door, owner: OwnerRules, paths: list[NotePath], *, dry_run: bool) -> Iterator[Adoption]:
    """Adopt notes one by one; with ``dry_run`` only say how. A note that cannot be read or mended is left, and why.

    Raises VaultUnavailableError where the vault goes away.
    """
    for path in paths:
        yield _one(door, owner, path, dry_run)


def _one(door: Door, owner: OwnerRules, path: NotePath, dry_run: bool) -> Adoption:
    try:
        sight = door.vault.look(path)
    except OSError as error:
        return Adoption(path, "left", why=f"it cannot be read ({reason(error)})")
    if not isinstance(sight, File):
        return Adoption(path, "left", why="it is not here now")
    note = notes.parse(path, sight.content, sight.hash)
    known = Known(sight.mtime_ns, _first_event(door, path))
    match proposing.propose(note, known, door.contract, owner):
        case None:
            return Adoption(path, "valid")
        case str() as why:
            return Adoption(path, "left", why=why)
        case Proposal(content, fields, kept):
            diff = diffs.unified(sight.content, content, path)
            planned = Adoption(path, "planned", fields, tuple(kept.items()), diff)
            return planned if dry_run else _written(door, planned, WriteDraft(path, path, content, sight.hash))


def _written(door: Door, planned: Adoption, draft: WriteDraft) -> Adoption:
    rights = Rights(CLIENT, frozenset({"read", "write"}), private_paths=door.contract.private)
    try:
        outcome = writing.commit(_without_new_page(door, draft.path), rights, draft, None)
    except OSError as error:
        return replace(planned, state="left", why=f"it cannot be read ({reason(error)})")
    match outcome:
        case Receipt():
            return replace(planned, state="adopted")
        case Refusal(_, message):
            return replace(planned, state="left", why=message)
        case Pending(_, pending_id):
            return replace(planned, state="left", why=f"pending as {pending_id}; the next start finishes it")
        case _:
            raise AssertionError("an adoption has no request id that could be replayed")


def _without_new_page(door: Door, path: NotePath) -> Door:
    """The door, with folder pages off where the note's folder has none."""
    target = page_of(path, door.contract)
    if target is None or not isinstance(door.vault.look(target), Absent):
        return door
    return replace(door, contract=replace(door.contract, folder_page=None))


def _first_event(door: Door, path: NotePath) -> str | None:
    """The day of the oldest event of a path, where a ledger knows any."""
    with suppress(LedgerUnavailableError):
        events = door.ledger.history(path, None, 10_000)
        if events:
            return events[-1].at[:10]
    return None
