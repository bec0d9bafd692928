"""The folder's page follows its notes, in one plan with them, and belongs to its owner otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muninn import writing
from muninn.model.change import Kind, Pending, Receipt
from muninn.model.content import MISSING, Basis, ContentHash
from muninn.model.draft import ArchiveDraft, RestoreDraft, WriteDraft
from muninn.model.draft import Kept as KeptBytes
from muninn.model.page import BEGIN, END
from muninn.model.refusal import Code, Refusal, Warn
from muninn.writing import pages
from muninn.writing.pages import page_of
from tests.conftest import Room, at, furnish, note_text, path


def write(room: Room, name: str, content: bytes, before: bytes | None = None) -> writing.Outcome:
    expected: Basis = MISSING if before is None else ContentHash.of(before)
    return writing.commit(room.door, room.rights(), WriteDraft(path(name), name, content, expected), None)


def archive(room: Room, name: str, before: bytes) -> writing.Outcome:
    draft = ArchiveDraft(path(name), ContentHash.of(before), "obsolete", None)
    return writing.commit(room.door, room.rights(), draft, None)


def lines(room: Room, page: str) -> list[str]:
    content = room.bytes_of(page)
    assert content is not None
    text = content.decode()
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip().splitlines()


def warned(outcome: writing.Outcome) -> list[str]:
    assert isinstance(outcome, Receipt), outcome
    warnings: tuple[Warn, ...] = outcome.plan.warnings
    return [warning.code for warning in warnings]


def test_the_first_note_makes_the_page_with_all_siblings(paged: Room) -> None:
    paged.lay("d/z.md", note_text("Last one.\n", "Zed"))
    paged.lay("d/plain.md", b"no frontmatter\n")
    paged.lay("d/bad.md", b"\xff")
    paged.lay("d/pic.png", b"x")
    paged.lay("d/sub/deep.md", note_text())
    paged.lay("d/.hidden.md", note_text())
    write(paged, "d/a.md", note_text("First one. More.\n", "Aye"))
    assert lines(paged, "d/index.md") == [
        "- [[d/a|Aye]] – First one.",
        "- [[d/bad|bad]]",
        "- [[d/plain|plain]] – no frontmatter",
        "- [[d/z|Zed]] – Last one.",
    ]
    assert paged.bytes_of("d/sub/index.md") is None
    assert paged.bytes_of("index.md") is None


def test_the_page_of_the_root_folder(paged: Room) -> None:
    write(paged, "a.md", note_text(title="Aye"))
    assert lines(paged, "index.md") == ["- [[a|Aye]] – text"]


def test_a_note_and_its_line_change_together_in_one_event(paged: Room) -> None:
    first, second = note_text(title="One"), note_text(title="Two")
    write(paged, "d/a.md", first)
    outcome = write(paged, "d/a.md", second, first)
    assert isinstance(outcome, Receipt)
    assert lines(paged, "d/index.md") == ["- [[d/a|Two]] – text"]
    (of_page, _), (of_note, _) = (paged.door.ledger.history(path(name), None, 9) for name in ("d/index.md", "d/a.md"))
    assert of_page.id == of_note.id == outcome.event
    assert (of_page.kind, of_note.kind) == (Kind.INDEX, Kind.OVERWRITE)


def test_a_change_that_leaves_the_line_leaves_the_page(paged: Room) -> None:
    first = note_text("Same.\n\nmore\n")
    write(paged, "d/a.md", first)
    outcome = write(paged, "d/a.md", note_text("Same.\n\nother\n"), first)
    assert isinstance(outcome, Receipt)
    assert [change.path for change in outcome.plan.changes] == ["d/a.md"]


def test_an_archive_takes_its_line_out_and_makes_no_page(paged: Room) -> None:
    content = note_text()
    paged.lay("d/a.md", content)
    archive(paged, "d/a.md", content)
    assert paged.bytes_of("d/index.md") is None
    write(paged, "d/b.md", content)
    write(paged, "d/c.md", content)
    archive(paged, "d/b.md", content)
    assert [line[:9] for line in lines(paged, "d/index.md")] == ["- [[d/c|C"]


def test_a_restore_brings_the_line_back(paged: Room) -> None:
    content = note_text(title="Back")
    write(paged, "d/a.md", content)
    archive(paged, "d/a.md", content)
    assert lines(paged, "d/index.md") == []
    kept = KeptBytes(ContentHash.of(content), content, None)
    writing.commit(paged.door, paged.rights(), RestoreDraft(path("d/a.md"), kept), None)
    assert lines(paged, "d/index.md") == ["- [[d/a|Back]] – text"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_owners_bytes_around_the_block_stay(paged: Room, newline: str) -> None:
    above, below = f"\ufeff# Mine {newline}{newline}", f"{newline}{newline}below \x0b no end"
    paged.lay("d/index.md", f"{above}{BEGIN}{newline}{END}{below}".encode())
    (paged.root / "d/index.md").chmod(0o640)
    write(paged, "d/a.md", note_text(title="Aye"))
    line = f"- [[d/a|Aye]] – text{newline}"
    assert paged.bytes_of("d/index.md") == f"{above}{BEGIN}{newline}{line}{END}{below}".encode()
    assert (paged.root / "d/index.md").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "content",
    [b"# Mine\n", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n".encode(), f"{END}{BEGIN}".encode(), b"\xff", BEGIN.encode()],
)
def test_a_page_without_exactly_one_pair_is_the_owners(paged: Room, content: bytes) -> None:
    paged.lay("d/index.md", content)
    note = note_text()
    assert warned(write(paged, "d/a.md", note)) == ["no_index_block"]
    assert warned(archive(paged, "d/a.md", note)) == ["no_index_block"]
    assert paged.bytes_of("d/index.md") == content


@pytest.mark.parametrize("kind", ["folder", "link", "twin"])
def test_what_is_no_page_is_left_alone(paged: Room, kind: str) -> None:
    place = paged.lay("d/x.md", note_text()).parent / "index.md"
    if kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to("x.md")
    else:
        paged.lay("d/Index.md", b"twin")
    assert warned(write(paged, "d/a.md", note_text())) == ["no_index_block"]
    assert sorted(child.name for child in place.parent.iterdir()) == sorted(
        {"x.md", "a.md", "Index.md" if kind == "twin" else "index.md"}
    )


def test_a_page_that_is_elsewhere_stops_the_note(paged: Room) -> None:
    paged.lay("d/.index.md.icloud", b"x")
    outcome = write(paged, "d/a.md", note_text())
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.VAULT_UNAVAILABLE
    assert paged.bytes_of("d/a.md") is None


def with_block(text: str) -> bytes:
    return note_text(f"above\n{BEGIN}\n{text}{END}\nbelow\n", "Page")


@pytest.mark.parametrize(
    "new",
    [with_block(""), with_block("- [[d/a|Changed]]\n"), with_block("- [[d/a|A]]\nmore\n"), note_text("no block\n")],
)
def test_a_client_does_not_change_the_block(paged: Room, new: bytes) -> None:
    old = with_block("- [[d/a|A]]\n")
    paged.lay("d/index.md", old)
    outcome = write(paged, "d/index.md", new, old)
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.INDEX_BLOCK
    assert paged.bytes_of("d/index.md") == old


def test_a_client_may_write_around_the_block(paged: Room) -> None:
    old = with_block("- [[d/a|A]]\n")
    paged.lay("d/index.md", old)
    new = old.replace(b"above", b"changed").replace(b"below", b"changed")
    assert isinstance(write(paged, "d/index.md", new, old), Receipt)
    assert paged.bytes_of("d/index.md") == new


def test_a_client_may_make_a_page_with_an_empty_block_and_no_other(paged: Room) -> None:
    refused = write(paged, "d/index.md", with_block("- [[x|X]]\n"))
    assert isinstance(refused, Refusal)
    assert refused.code is Code.INDEX_BLOCK
    assert isinstance(write(paged, "d/index.md", with_block("")), Receipt)
    write(paged, "d/a.md", note_text(title="Aye"))
    assert lines(paged, "d/index.md") == ["- [[d/a|Aye]] – text"]


@pytest.fixture
def half_private(tmp_path: Path) -> Iterator[Room]:
    """A folder whose page is public and some of whose notes are private."""
    made = furnish(tmp_path, "index.md", ("private/", "d/secret*.md"))
    yield made
    made.door.ledger.close()


def test_a_private_note_has_no_line_on_a_public_page(half_private: Room) -> None:
    half_private.lay("d/secret-old.md", note_text("Hidden words.\n", "Hidden title"))
    write(half_private, "d/a.md", note_text())
    write(half_private, "d/secret-new.md", note_text("Hidden words.\n", "Hidden title"))
    assert len(lines(half_private, "d/index.md")) == 1
    assert b"idden" not in (half_private.bytes_of("d/index.md") or b"")
    assert b"secret" not in (half_private.bytes_of("d/index.md") or b"")


def test_a_private_folder_keeps_its_lines_in_its_own_page(half_private: Room) -> None:
    write(half_private, "private/a.md", b"words\n")
    assert lines(half_private, "private/index.md") == ["- [[private/a|a]] – words"]


def test_pages_that_are_off_or_have_another_name(tmp_path: Path) -> None:
    off = furnish(tmp_path)
    write(off, "d/a.md", note_text())
    assert [child.name for child in (off.root / "d").iterdir()] == ["a.md"]
    off.door.ledger.close()
    named = furnish(tmp_path, "_folder.md")
    write(named, "d/b.md", note_text())
    assert len(lines(named, "d/_folder.md")) == 2
    write(named, "d/index.md", note_text())
    assert len(lines(named, "d/_folder.md")) == 3
    named.door.ledger.close()


def test_which_page_lists_a_note(paged: Room) -> None:
    rules = paged.door.contract
    assert page_of(path("d/a.md"), rules) == "d/index.md"
    assert page_of(path("a.md"), rules) == "index.md"
    assert page_of(path("d/index.md"), rules) is None
    assert page_of(path("d/INDEX.md"), rules) is None
    assert page_of(path("/".join(["d" * 249] * 3 + ["d" * 244, "a.md"])), rules) is None


def test_a_page_that_changes_in_the_instant_stops_the_note_as_well(paged: Room) -> None:
    note = note_text()
    write(paged, "d/a.md", note)
    file = paged.root / "d/index.md"
    honest = paged.door.ledger.open_together

    def overtaken(*values: object, **more: object) -> object:
        entry = honest(*values, **more)  # type: ignore[arg-type]
        file.write_bytes(b"theirs\n")
        return entry

    paged.door.ledger.open_together = overtaken  # type: ignore[method-assign, assignment]
    outcome = write(paged, "d/b.md", note)
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.CONFLICT
    assert "page" in outcome.message
    assert (paged.bytes_of("d/b.md"), paged.bytes_of("d/index.md")) == (None, b"theirs\n")


def test_a_page_that_changes_after_the_note_landed_is_told(paged: Room) -> None:
    write(paged, "d/a.md", note_text())
    at("folder_index.apply", lambda: paged.lay("d/index.md", b"theirs\n"))
    outcome = write(paged, "d/b.md", note_text())
    assert isinstance(outcome, Pending)
    entry = writing.recover(paged.door, "ada", outcome.id)
    assert not isinstance(entry, Refusal)
    assert (entry.state, entry.landed) == ("superseded", ("d/b.md",))
    assert paged.bytes_of("d/index.md") == b"theirs\n"
    assert [event.kind for event in paged.door.ledger.history(path("d/b.md"), None, 9)] == [Kind.CREATE]


@pytest.mark.parametrize("inside", [" - [[evil|x]] ", " [[evil]] owned\n", "\n- [[evil]]\n"])
def test_a_client_cannot_bring_lines_of_its_own_between_the_markers(inside: str) -> None:
    content = f"{BEGIN}{inside}{END}\n".encode()
    assert pages.block_fault(None, content) is not None
    assert pages.block_fault(f"{BEGIN}\n{END}\n".encode(), content) is not None
