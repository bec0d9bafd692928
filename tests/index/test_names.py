"""Where links lead: as Obsidian resolves them, and only among what the client may see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muninn.linking import links
from muninn.model.rights import Globs, Rights

from .room import CLIENT, KEEPER, PRIVATE, Room, note_path


def leads(room: Room, source: str, written: str) -> str | None:
    """Where one written link leads, by the answer for the note it stands in."""
    path = room.put(source, f"# Source\n\n{written}\n")
    room.index.nudge([path], room.look)
    page = room.links(source)
    if page.outgoing:
        assert page.broken == ()
        return page.outgoing[0].path
    assert len(page.broken) == 1
    return None


@pytest.fixture
def vault(room: Room) -> Room:
    room.put("lab/ibis.md", "---\naliases: [Wader, Long Beak]\n---\n# Part two\ntext ^b1\n")
    room.put("Plans/draft 0.9 ideas.md", "x\n")
    room.put("att/pic.png", b"x")
    room.put("att/map.canvas", "{}")
    room.put("deep/er/same.md", "x\n")
    room.put("b/same.md", "x\n")
    room.put("a/same.md", "x\n")
    room.put("folder/index.md", "x\n")
    room.put("other/README.md", "x\n")
    room.put("caf\u00e9/na\u00efve.md", "x\n")
    room.put("top.md", "x\n")
    room.put("100% sure.md", "x\n")
    room.sweep()
    return room


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("[[lab/ibis\\|Ibis]]", "lab/ibis.md"),
        ("[[ibis]]", "lab/ibis.md"),
        ("[[ibis.md]]", "lab/ibis.md"),
        ("[[IBIS#Part two|p]]", "lab/ibis.md"),
        ("[[ibis#^b1]]", "lab/ibis.md"),
        ("![[ibis]]", "lab/ibis.md"),
        ("[[Wader]]", "lab/ibis.md"),
        ("[[long beak]]", "lab/ibis.md"),
        ("[[/lab/ibis]]", "lab/ibis.md"),
        ("[[Plans/draft 0.9 ideas]]", "Plans/draft 0.9 ideas.md"),
        ("[[draft 0.9 ideas]]", "Plans/draft 0.9 ideas.md"),
        ("![[pic.png]]", "att/pic.png"),
        ("[[map.canvas]]", "att/map.canvas"),
        ("[x](att/pic.png)", "att/pic.png"),
        ("[md](lab/ibis.md)", "lab/ibis.md"),
        ("[md](../lab/ibis.md)", "lab/ibis.md"),
        ("[md](/lab/ibis)", "lab/ibis.md"),
        ("[md](<../Plans/draft 0.9 ideas.md>)", "Plans/draft 0.9 ideas.md"),
        ("[enc](Plans/draft%200.9%20ideas.md)", "Plans/draft 0.9 ideas.md"),
        ("[e](../100%25%20sure.md)", "100% sure.md"),
        ("[f](../folder/)", "folder/index.md"),
        ("[f](../folder)", "folder/index.md"),
        ("[f](../other/)", "other/README.md"),
        ("[[same]]", "a/same.md"),
        ("[[er/same]]", "deep/er/same.md"),
        ("[[b/same]]", "b/same.md"),
        ("[[cafe\u0301/nai\u0308ve]]", "caf\u00e9/na\u00efve.md"),
        ("[c](../caf%C3%A9/na%C3%AFve.md)", "caf\u00e9/na\u00efve.md"),
        ("[[nope 1.0]]", None),
        ("[[ibis.txt]]", None),
        ("[x](../../../etc/passwd)", None),
        ("[[bis]]", None),
        ("[x](../lab/)", None),
        ("[[b/ibis]]", None),
    ],
)
def test_written_forms(vault: Room, written: str, target: str | None) -> None:
    assert leads(vault, "s/source.md", written) == target


def test_of_equal_names_the_one_in_the_same_folder_goes_first(vault: Room) -> None:
    assert leads(vault, "b/source.md", "[[same]]") == "b/same.md"
    assert leads(vault, "deep/er/source.md", "[[same]]") == "deep/er/same.md"
    assert leads(vault, "deep/source.md", "[[same]]") == "deep/er/same.md"  # below the note's folder counts as near
    assert leads(vault, "lab/source.md", "[[same]]") == "a/same.md"
    assert leads(vault, "lab/source.md", "[[/same]]") is None
    vault.put("same.md", "x\n")
    vault.sweep()
    assert leads(vault, "b/source.md", "[[same]]") == "same.md"  # written whole
    assert leads(vault, "b/source.md", "[[/same]]") == "same.md"
    assert leads(vault, "deep/er/source.md", "[x](same.md)") == "deep/er/same.md"


def test_backlinks_are_the_mirror_of_outgoing_links(vault: Room) -> None:
    forms = [
        "[[ibis]]",
        "[[Wader]]",
        "[x](../lab/ibis.md)",
        "![[lab/ibis#Part two]]",
        "[[IBIS.md|i]]",
        "[x](/lab/ibis)",
    ]
    vault.put("s/one.md", "\n".join(forms))
    vault.put("s/two.md", '---\nup: "[[lab/ibis]]"\n---\n[f](../folder/) [p](../att/pic.png) [[100% sure]]\n')
    vault.put("s/none.md", "`[[ibis]]` [[ibises]] [[other/ibis]]\n")
    vault.sweep()
    back = [(row.path, row.line) for row in vault.links("lab/ibis.md").backlinks]
    assert back == [("s/one.md", line) for line in range(1, 7)] + [("s/two.md", 2)]
    assert [row.path for row in vault.links("folder/index.md").backlinks] == ["s/two.md"]
    assert [row.path for row in vault.links("att/pic.png").backlinks] == ["s/two.md"]
    assert [row.path for row in vault.links("100% sure.md").backlinks] == ["s/two.md"]


def test_hidden_notes_are_not_there(room: Room) -> None:
    room.put("w/open.md", "[[salary]] [[private/salary]] [x](../private/salary.md) [[money]]\n")
    room.put("private/salary.md", "---\naliases: [money]\n---\n[[open]]\n")
    room.sweep()
    page = room.links("w/open.md")
    assert page.outgoing == ()
    assert [row.target for row in page.broken] == ["salary", "private/salary", "../private/salary.md", "money"]
    assert page.backlinks == ()
    assert (page.totals.outgoing, page.totals.broken, page.totals.backlinks) == (0, 4, 0)
    seen = room.links("w/open.md", KEEPER)
    assert {row.path for row in seen.outgoing} == {"private/salary.md"}
    assert [row.path for row in seen.backlinks] == ["private/salary.md"]
    assert links(room.index, room.look, room.walk, CLIENT, note_path("private/salary.md")) is None


def test_a_hidden_note_does_not_take_a_visible_ones_place(room: Room) -> None:
    room.put("a/same.md", "hidden\n")
    room.put("longer/way/same.md", "open\n")
    room.put("x/from.md", "[[same]]\n")
    room.sweep()
    narrow = Rights("n", frozenset({"read"}), read=Globs(("longer/**", "x/**")), private_paths=PRIVATE)
    page = room.links("x/from.md", narrow)
    assert [row.path for row in page.outgoing] == ["longer/way/same.md"]
    assert page.ambiguous == ()
    assert [row.path for row in room.links("longer/way/same.md", narrow).backlinks] == ["x/from.md"]
    assert room.links("longer/way/same.md").backlinks == ()


def test_a_name_that_several_files_bear_is_told_with_the_one_that_is_taken(vault: Room) -> None:
    vault.put("lab/from.md", "[[same]] [[b/same]] [[same|again]] [[ibis]] [x](../b/same.md) ![[same]]\n")
    vault.put("deep/er/wader.md", "---\naliases: [Long Beak]\n---\n")
    vault.put("lab/beak.md", "[[Long Beak]]\n")
    vault.sweep()
    (one,) = vault.links("lab/from.md").ambiguous
    assert (one.target, one.taken, one.others) == ("same", "a/same.md", ("b/same.md", "deep/er/same.md"))
    (alias,) = vault.links("lab/beak.md").ambiguous
    assert (alias.taken, alias.others) == ("lab/ibis.md", ("deep/er/wader.md",))


def test_the_asked_notes_links_are_those_of_its_file_now(room: Room) -> None:
    room.put("a.md", "[[filler/f1]]\n")
    room.sweep()
    room.put("a.md", "\n\n[[filler/f2]]\n")
    (row,) = room.links("a.md").outgoing
    assert (row.path, row.line, row.target, row.kind) == ("filler/f2.md", 3, "filler/f2", "wikilink")


def test_pages_of_links(room: Room) -> None:
    for number in range(25):
        room.put(f"s/n{number:02}.md", "[[hub]]\n")
    room.put("hub.md", " ".join(f"[[n{number:02}]] [[gone{number}]]" for number in range(25)))
    room.sweep()
    whole = room.links("hub.md")
    assert whole.next_offset is None
    taken: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = room.links("hub.md", CLIENT, offset, 10)
        assert (page.totals.outgoing, page.totals.backlinks, page.totals.broken) == (25, 25, 25)
        taken += [row.path for row in page.backlinks]
        offset = page.next_offset
    assert taken == [row.path for row in whole.backlinks] == sorted(taken)
    assert links(room.index, room.look, room.walk, CLIENT, note_path("absent.md")) is None


def test_a_folder_pages_managed_lines_are_no_links(room: Room) -> None:
    room.put("filler/index.md", "[[f1]]\n<!-- muninn:index -->\n- [[filler/f2|F]]\n<!-- /muninn:index -->\n")
    room.sweep()
    assert [row.path for row in room.links("filler/index.md").outgoing] == ["filler/f1.md"]
    assert room.links("filler/f2.md").backlinks == ()


def test_links_to_a_note_that_cannot_be_read_still_lead_there(room: Room) -> None:
    room.put("secret.md", "x\n")
    room.put("a.md", "[[secret]]\n")
    room.unreadable.add("secret.md")
    room.sweep()
    assert [row.path for row in room.links("a.md").outgoing] == ["secret.md"]
    room.unreadable.clear()
    room.sweep()
    assert [row.path for row in room.links("a.md").outgoing] == ["secret.md"]


def test_without_an_index_the_files_say_the_same(vault: Room) -> None:
    vault.put("s/one.md", "[[ibis]] [[Wader]] [x](../lab/ibis.md) [[nope]] ![[pic.png]] [[salary]]\n")
    vault.put("private/salary.md", "[[ibis]]\n")
    vault.sweep()
    before = {
        (path, rights): vault.links(path, rights) for path in ("s/one.md", "lab/ibis.md") for rights in (CLIENT, KEEPER)
    }
    for file in vault.cache.glob("index*.db*"):
        file.unlink()
    for (path, rights), page in before.items():
        vault.index.close()
        for file in vault.cache.glob("index*.db*"):
            file.unlink()
        found = vault.links(path, rights)
        assert found.degraded
        assert found.whole
        assert replace(found, degraded=False) == page
