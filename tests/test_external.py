"""What came around the door: recorded once, and never confused with what a plan of ours has landed."""

from __future__ import annotations

import pytest

from muninn import external, undoing, writing
from muninn.model.change import Pending, Receipt
from muninn.model.content import MISSING, ContentHash
from muninn.model.draft import WriteDraft
from muninn.model.sight import Absent
from tests.conftest import Room, at, breaking, note_text, path

OLD, NEW = note_text("old\n"), note_text("new\n")


def write(room: Room, name: str, content: bytes, expected: bytes | None = None) -> writing.Outcome:
    base = MISSING if expected is None else ContentHash.of(expected)
    return writing.commit(room.door, room.rights(), WriteDraft(path(name), name, content, base), None)


def begun(room: Room) -> None:
    external.begin(room.door, [], keep_bytes=True)


def test_what_a_pending_plan_has_landed_is_no_outside_edit(paged: Room) -> None:
    begun(paged)
    at("folder_index.apply", breaking())
    pending = write(paged, "d/a.md", NEW)
    assert isinstance(pending, Pending)
    assert external.record(paged.door, [path("d/a.md")]) == 0
    at("none", lambda: None)
    assert isinstance(writing.recover(paged.door, "ada", pending.id), object)
    assert [event.client for event in paged.door.ledger.history(path("d/a.md"), None, 9)] == ["ada"]


def test_the_same_bytes_are_recorded_once(room: Room) -> None:
    begun(room)
    room.lay("a.md", NEW)
    assert external.record(room.door, [path("a.md")]) == 1
    assert external.record(room.door, [path("a.md")]) == 0
    assert room.door.ledger.content(ContentHash.of(NEW)) == NEW


@pytest.mark.parametrize("with_bytes", [True, False])
def test_the_baseline_knows_every_note_and_keeps_its_bytes_where_asked(room: Room, with_bytes: bool) -> None:
    room.lay("a.md", OLD)
    external.begin(room.door, [(path("a.md"), ContentHash.of(OLD))], with_bytes)
    assert room.door.ledger.last(path("a.md")) == (ContentHash.of(OLD), False)
    assert room.door.ledger.keeps(ContentHash.of(OLD)) is with_bytes
    assert room.door.coverage.share(1, lambda _: True) == (1.0 if with_bytes else 0.0)


def test_coverage_counts_only_what_somebody_sees(room: Room) -> None:
    for name in ("a.md", "private/b.md"):
        room.lay(name, OLD + name.encode())
    found = [(path(name), ContentHash.of(OLD + name.encode())) for name in ("a.md", "private/b.md")]
    external.begin(room.door, found, keep_bytes=False)
    write(room, "a.md", NEW, OLD + b"a.md")
    assert room.door.coverage.share(1, lambda name: not name.startswith("private/")) == 1.0
    assert room.door.coverage.share(2, lambda _: True) == 0.5


def test_a_note_replaced_by_a_link_is_a_removal(room: Room) -> None:
    assert isinstance(write(room, "a.md", OLD), Receipt)
    begun(room)
    file = room.root / "a.md"
    file.unlink()
    file.symlink_to("elsewhere.md")
    assert external.record(room.door, [path("a.md")]) == 1
    assert room.door.ledger.last(path("a.md")) == (MISSING, True)


def test_undo_brings_an_outside_edit_of_a_folders_page_back(paged: Room) -> None:
    begun(paged)
    write(paged, "d/a.md", NEW)
    page = paged.bytes_of("d/index.md")
    assert page is not None
    paged.lay("d/index.md", page + b"scribble\n")
    external.record(paged.door, [path("d/index.md")])
    done = undoing.undo(paged.door, paged.rights(), undoing.Who(None), "2000", "2999")
    assert [(one.path, one.state) for one in done] == [("d/index.md", "undone")]
    assert paged.bytes_of("d/index.md") == page


def test_undo_of_a_client_does_not_report_pages_that_only_followed(paged: Room) -> None:
    begun(paged)
    write(paged, "d/a.md", NEW)
    done = undoing.undo(paged.door, paged.rights(), undoing.Who("ada"), "2000", "2999")
    assert [(one.path, one.state) for one in done] == [("d/a.md", "undone")]
    assert isinstance(paged.door.vault.look(path("d/a.md")), Absent)
