"""The worklist: each source that changed once, with what leans on it; nothing that is private, unless asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from index import Index
from muninn.bound import linting
from muninn.model.content import MISSING, ContentHash, Revision
from muninn.model.draft import ArchiveDraft, WriteDraft
from muninn.model.rights import SCOPES, Rights
from muninn.writing import commit
from tests.conftest import Room, furnish, note_text, path

PUMP = note_text("Alpha.\nThe pump holds 40 litres.\nOmega.\n", "Pump")
CHANGED = PUMP.replace(b"40", b"45")


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = furnish(tmp_path)
    index = Index(tmp_path / "cache", made.door.contract.private.cover)
    made = replace(made, door=replace(made.door, index=index))
    yield made
    index.close()
    made.door.ledger.close()


def owner(room: Room, private: bool = False) -> Rights:
    scopes = frozenset(SCOPES) if private else frozenset(SCOPES) - {"private"}
    return Rights(None, scopes, private_paths=room.door.contract.private)


def revision(room: Room, name: str) -> Revision:
    content = room.bytes_of(name)
    assert content is not None
    return Revision(path(name), ContentHash.of(content))


def register(room: Room, name: str, *sources: str) -> None:
    found = [revision(room, source) for source in sources]
    contents = {one.hash: room.bytes_of(one.path) or b"" for one in found}
    room.door.ledger.claims.register("ada", revision(room, name), found, contents)


def claim(room: Room, name: str, statement: str) -> str:
    source = revision(room, name)
    return room.door.ledger.claims.add("ada", statement, source, None, room.bytes_of(name) or b"").id


def lay(room: Room, *names: str) -> None:
    for name in names:
        room.lay(name, note_text(f"about {name}, and the pump of 40 litres\n", name))


def test_nothing_that_changed_is_nothing_to_look_at(room: Room) -> None:
    lay(room, "a.md", "sum.md")
    register(room, "sum.md", "a.md")
    claim(room, "a.md", "x is y")
    found = linting.lint(room.door, owner(room))
    assert found == linting.Worklist((), (), 1, 1)
    assert found.empty


def test_a_changed_source_stands_once_with_all_that_leans_on_it(room: Room) -> None:
    lay(room, "near.md", "also.md", "far.md", "calm.md")
    room.lay("pump.md", PUMP)
    register(room, "near.md", "pump.md")
    register(room, "also.md", "pump.md", "calm.md")
    register(room, "far.md", "near.md", "calm.md")
    claims = [claim(room, "pump.md", "pump holds 40 litres"), claim(room, "pump.md", "omega is last")]
    room.lay("pump.md", CHANGED)
    (one,) = linting.lint(room.door, owner(room)).changed
    assert (one.path, one.why, one.expected, one.found) == (
        "pump.md",
        "changed",
        ContentHash.of(PUMP),
        ContentHash.of(CHANGED),
    )
    assert one.diff is not None
    assert one.diff.splitlines()[2:] == ["@@ -9 +9 @@", "-The pump holds 40 litres.", "+The pump holds 45 litres."]
    assert [(row.path, row.direct) for row in one.summaries] == [
        ("also.md", True),
        ("far.md", False),
        ("near.md", True),
    ]
    assert [[sentence.line for sentence in row.sentences] for row in one.summaries] == [[8], [8], [8]]
    assert sorted(row.claim_id for row in one.claims) == sorted(claims)


def test_things_made_from_different_revisions_stand_apart(room: Room) -> None:
    lay(room, "sum.md")
    room.lay("pump.md", PUMP)
    claim(room, "pump.md", "pump holds 40 litres")
    room.lay("pump.md", CHANGED)
    register(room, "sum.md", "pump.md")
    room.lay("pump.md", CHANGED.replace(b"45", b"50"))
    found = linting.lint(room.door, owner(room)).changed
    by_bytes = {one.expected: (len(one.claims), len(one.summaries)) for one in found}
    assert by_bytes == {ContentHash.of(PUMP): (1, 0), ContentHash.of(CHANGED): (0, 1)}
    assert all("litres" in (one.diff or "") for one in found)


def test_gone_and_archived_sources_have_no_diff_and_unknown_summaries_stand_apart(room: Room) -> None:
    lay(room, "gone.md", "away.md", "sum.md", "own.md", "old.md")
    register(room, "sum.md", "gone.md", "away.md")
    register(room, "own.md", "sum.md")
    register(room, "old.md", "sum.md")
    (room.root / "gone.md").unlink()
    rights = room.rights()
    for name in ("away.md", "old.md"):
        commit(room.door, rights, ArchiveDraft(path(name), revision(room, name).hash, "obsolete", None), None)
    found = linting.lint(room.door, owner(room))
    assert [(one.path, one.why, one.diff) for one in found.changed] == [
        ("away.md", "archived", None),
        ("gone.md", "missing", None),
    ]
    room.lay("gone.md", note_text("about gone.md, and the pump of 40 litres\n", "gone.md"))
    room.lay("away.md", note_text("about away.md, and the pump of 40 litres\n", "away.md"))
    room.lay("own.md", b"other\n")
    found = linting.lint(room.door, owner(room))
    assert found.changed == ()
    # A summary that was taken out of the vault is nothing to bring up to date.
    assert [one.path for one in found.unclear] == ["own.md"]
    assert not found.empty


def test_since_leaves_out_what_changed_before(room: Room) -> None:
    lay(room, "sum.md")
    rights = room.rights()
    commit(room.door, rights, WriteDraft(path("pump.md"), "pump.md", PUMP, MISSING), None)
    register(room, "sum.md", "pump.md")
    commit(room.door, rights, WriteDraft(path("pump.md"), "pump.md", CHANGED, ContentHash.of(PUMP)), None)
    assert len(linting.lint(room.door, owner(room), "2020-01-01T00:00:00.000Z").changed) == 1
    assert linting.lint(room.door, owner(room), "2199-01-01T00:00:00.000Z").changed == ()
    # What the ledger has not seen yet is new.
    room.lay("pump.md", CHANGED + b"!")
    assert len(linting.lint(room.door, owner(room), "2199-01-01T00:00:00.000Z").changed) == 1


def test_private_is_left_out_unless_asked_for(room: Room) -> None:
    lay(room, "private/p.md", "sum.md", "a.md")
    register(room, "sum.md", "private/p.md", "a.md")
    claim(room, "private/p.md", "secret is 40")
    room.lay("private/p.md", b"other\n")
    room.lay("a.md", b"other\n")
    assert linting.lint(room.door, owner(room)) == linting.Worklist((), (), 0, 0)
    found = linting.lint(room.door, owner(room, private=True))
    assert [one.path for one in found.changed] == ["a.md", "private/p.md"]


def test_it_changes_nothing(room: Room) -> None:
    lay(room, "sum.md")
    room.lay("pump.md", PUMP)
    register(room, "sum.md", "pump.md")
    room.lay("pump.md", CHANGED)
    before = room.state()
    linting.lint(room.door, owner(room))
    assert room.state() == before
