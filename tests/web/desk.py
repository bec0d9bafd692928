"""A room with an index of its own, and clients that do things in it through the door."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from index import Index
from muninn import external, writing
from muninn.bound import claims, summaries
from muninn.bound.claims import ClaimDraft
from muninn.bound.summaries import SummaryDraft
from muninn.door import Door
from muninn.model.bound import Claimed, Registered
from muninn.model.change import Receipt
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.draft import ArchiveDraft, WriteDraft
from muninn.model.rights import DEFAULT_SCOPES, Globs, Rights
from tests.conftest import Nudges, Room, furnish, note_text, path


def text(name: str, body: str) -> bytes:
    """A note of this name with this text."""
    return note_text(body, f"Note {Path(name).stem}")


@dataclass(frozen=True, slots=True)
class Desk:
    """The room, and what is done in it."""

    room: Room

    @classmethod
    def at(cls, folder: Path, door: Door) -> Desk:
        """A desk at a vault that is served already."""
        return cls(Room(folder / "vault", folder / "home", door, Nudges()))

    @property
    def door(self) -> Door:
        return self.room.door

    def rights(
        self, client: str = "person", read: str = "**", write: str = "**", scopes: frozenset[str] = DEFAULT_SCOPES
    ) -> Rights:
        return Rights(client, scopes, Globs((read,)), Globs((write,)), self.door.contract.private)

    def insider(self, client: str = "person") -> Rights:
        return self.rights(client, scopes=DEFAULT_SCOPES | {"private"})

    def now(self, name: str) -> Basis:
        content = self.room.bytes_of(name)
        return MISSING if content is None else ContentHash.of(content)

    def write(self, name: str, body: str, client: str = "ada") -> None:
        """A write that lands, as somebody who may do everything."""
        draft = WriteDraft(path(name), name, text(name, body), self.now(name))
        found = writing.commit(self.door, self.insider(client), draft, None)
        assert isinstance(found, Receipt), found

    def archive(self, name: str, client: str = "ada", reason: str = "obsolete", note: str | None = None) -> None:
        draft = ArchiveDraft(path(name), self.now(name), reason, note)
        found = writing.commit(self.door, self.insider(client), draft, None)
        assert isinstance(found, Receipt), found

    def outside(self, name: str, body: str) -> None:
        """An edit around the door that the gateway has found."""
        self.room.lay(name, text(name, body))
        external.record_locked(self.door, [path(name)])

    def outside_found(self, name: str) -> None:
        """What was laid there around the door is found."""
        external.record_locked(self.door, [NotePath(name)])

    def claim(self, statement: str, name: str, client: str = "ada") -> str:
        draft = ClaimDraft(statement, NotePath(name), str(self.now(name)))
        found = claims.claim(self.door, self.insider(client), draft, dry_run=False, request=None)
        assert isinstance(found, Claimed), found
        return str(found.claim_id)

    def register(self, name: str, *sources: str, client: str = "ada") -> None:
        rows = tuple((source, str(self.now(source))) for source in sources)
        draft = SummaryDraft(path(name), str(self.now(name)), rows)
        found = summaries.register(self.door, self.insider(client), draft, dry_run=False, request=None)
        assert isinstance(found, Registered), found


@contextmanager
def laid(folder: Path, page: str | None = None) -> Iterator[Desk]:
    """A desk in a new room; with ``page`` folders have one."""
    room = furnish(folder, page)
    room.door.ledger.begin_with([], {}, complete=True)
    index = Index(folder / "cache", room.door.contract.private.cover)
    yield Desk(replace(room, door=replace(room.door, index=index)))
    index.close()
    room.door.ledger.close()
