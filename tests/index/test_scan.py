"""A scan reads what differs and no more, drops what is gone and no more, and names what it cannot take in."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from index import Index, rows
from muninn.model import seams
from muninn.model.errors import IndexBrokenError, VaultUnavailableError
from muninn.model.listing import Stamp

from .room import KEEPER, PRIVATE, Room, note_path


def old(room: Room, path: str) -> None:
    """Give a file a time well before any scan. Its ctime stays young, as that of every file of a test."""
    os.utime(room.root / path, (1_600_000_000, 1_600_000_000))


def test_first_scan_takes_all_and_the_second_reads_nothing(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.put("pic.png", b"\x89PNG")
    first = room.sweep()
    assert (first.notes, first.changed, first.gone, first.faults) == (13, 13, 0, ())
    time.sleep(2.1)
    room.sweep()
    room.read.clear()
    again = room.sweep()
    assert (again.notes, again.changed, again.gone) == (13, 0, 0)
    assert room.read == []


def test_a_change_is_read_even_where_size_and_mtime_are_the_same(room: Room) -> None:
    room.put("a.md", "quokka\n")
    old(room, "a.md")
    room.sweep()
    room.put("a.md", "wombat\n")
    old(room, "a.md")
    assert room.sweep().changed == 1
    assert room.hits("wombat") == ["a.md"]


def test_young_files_are_read_again_even_with_equal_stamps(room: Room) -> None:
    path = room.put("a.md", "quokka\n")
    seen = os.stat(room.root / path)
    young = Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
    aged = Stamp(seen.st_size, 1_600_000_000_000_000_000, 1_600_000_000_000_000_000, seen.st_ino)
    for stamp, changed in ((young, 1), (aged, 0)):
        room.put("a.md", "quokka\n")
        room.stamps["a.md"] = stamp
        room.sweep()
        room.put("a.md", "wombat\n")
        assert room.sweep().changed == changed


def test_gone_notes_leave_words_links_and_names(room: Room) -> None:
    room.put("a.md", "---\naliases: [Wader]\n---\nquokka [[b]]\n")
    room.put("b.md", "[[Wader]]\n")
    room.put("pic.png", b"x")
    room.put("c.md", "![[pic.png]]\n")
    room.sweep()
    assert len(room.links("b.md").outgoing) == 1
    room.remove("a.md")
    room.remove("pic.png")
    assert room.sweep().gone == 1
    assert room.hits("quokka") == []
    assert room.links("b.md").backlinks == ()
    assert len(room.links("b.md").broken) == 1
    assert len(room.links("c.md").broken) == 1


def test_a_vault_that_is_not_there_changes_nothing(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.sweep()
    room.gone = True
    with pytest.raises(VaultUnavailableError):
        room.sweep()
    room.gone = False
    assert room.hits("quokka") == ["a.md"]
    assert room.index.state().notes == 13


def test_a_vault_lost_half_way_drops_nothing(room: Room) -> None:
    room.put("z.md", "quokka\n")
    room.sweep()

    def half(*, known: object) -> object:
        for number, entry in enumerate(Room.walk(room)):
            if number == 5:
                raise VaultUnavailableError("gone")
            yield entry

    with pytest.raises(VaultUnavailableError):
        room.index.sweep(half, room.look)  # type: ignore[arg-type]
    assert room.hits("quokka") == ["z.md"]


def test_what_the_walk_did_not_meet_is_looked_at_before_it_is_dropped(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.sweep()
    swept = room.index.sweep(lambda **_: (entry for entry in room.walk() if entry.path != "a.md"), room.look)
    assert swept.gone == 0
    assert room.hits("quokka") == ["a.md"]


def test_a_cloud_placeholder_is_no_removal(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.sweep()
    room.elsewhere.add("a.md")
    assert room.sweep().gone == 0
    assert room.index.state().notes == 13
    assert room.hits("quokka") == []  # its text is not here now
    room.elsewhere.clear()
    assert room.hits("quokka") == ["a.md"]


def test_one_bad_file_costs_only_itself(room: Room) -> None:
    room.put("i/bad-yaml.md", "---\ntitle: [unclosed\n---\nbad yaml yak\n")
    room.put("i/bad-utf8.md", b"---\ntitle: Bad bytes\n---\nyak \xff\xfe tail\n")
    room.put("i/bad-date.md", "---\ntitle: Bad date\ndate: 2026-02-30\n---\nbad date yak\n")
    room.put("i/bomb.md", "---\na: &a [x, x]\nb: [*a, *a]\n---\nyak bomb\n")
    room.put("i/nul.md", b"nul \x00 yak\n")
    room.put("i/secret.md", "yak secret\n")
    room.put("i/z-good.md", "---\ntitle: Good\ndate: 2026-05-04\n---\ngood yak\n")
    room.unreadable.add("i/secret.md")
    faults = {fault.path: fault.reason for fault in room.sweep().faults}
    assert set(faults) == {"i/bad-yaml.md", "i/bad-utf8.md", "i/bad-date.md", "i/bomb.md", "i/secret.md"}
    assert all(faults.values())
    assert "date" in faults["i/bad-date.md"]
    assert set(room.hits("yak")) == {
        f"i/{name}.md" for name in ("bad-yaml", "bad-utf8", "bad-date", "bomb", "nul", "z-good")
    }
    assert room.hits("unclosed") == ["i/bad-yaml.md"]
    assert {fault.path for fault in room.index.state().faults} == set(faults)
    room.unreadable.clear()
    assert "i/secret.md" not in {fault.path for fault in room.sweep().faults}
    assert room.hits("secret") == ["i/secret.md"]


def test_a_huge_note_is_searched_in_its_first_part_and_named(room: Room) -> None:
    room.put("huge.md", "aardvark start\n" + "filler words of text\n" * 450_000 + "zebu tail\n")
    swept = room.sweep()
    assert [fault.path for fault in swept.faults] == ["huge.md"]
    assert room.hits("aardvark") == ["huge.md"]
    assert room.hits("zebu") == []


def test_a_nudged_write_is_seen_by_the_next_question(room: Room) -> None:
    room.sweep()
    path = room.put("a.md", "the quokka\n")
    room.index.nudge([path], room.look)
    assert room.hits("quokka") == ["a.md"]
    room.put("a.md", "the wombat [[filler/f1]]\n")
    room.index.nudge([path], room.look)
    assert room.hits("quokka") == []
    assert room.hits("wombat") == ["a.md"]
    assert [row.path for row in room.links("filler/f1.md").backlinks] == ["a.md"]
    room.put("a.md", "the wombat alone\n")
    room.index.nudge([path], room.look)
    assert room.links("filler/f1.md").backlinks == ()
    room.index.nudge([room.remove("a.md")], room.look)
    assert room.hits("wombat") == []
    assert room.links("filler/f1.md").backlinks == ()


def test_a_note_written_and_nudged_while_a_scan_runs_is_neither_lost_nor_set_back(room: Room) -> None:
    room.put("a.md", "old quokka\n")
    path = note_path("a.md")

    def walk(*, known: object) -> object:
        for entry in list(room.walk()):
            yield entry
            if entry.path == "a.md":
                room.put("a.md", "new wombat\n")
                room.put("late.md", "late numbat\n")
                room.index.nudge([path, note_path("late.md")], room.look)

    room.index.sweep(walk, room.look)  # type: ignore[arg-type]
    assert room.hits("wombat") == ["a.md"]
    assert room.hits("numbat") == ["late.md"]
    assert room.hits("quokka") == []


def test_a_nudge_never_raises_and_a_failed_one_is_made_good(room: Room) -> None:
    room.sweep()
    path = room.put("a.md", "quokka\n")

    def full(point: str, _path: str | None) -> None:
        if point == "index.write":
            raise OSError(28, "No space left on device")

    seams.arm(full)
    try:
        room.index.nudge([path], room.look)
        found = room.ask("quokka")
        assert [hit.path for hit in found.hits] == ["a.md"]
        assert found.degraded
        assert room.index.state().state == "broken"
        with pytest.raises(IndexBrokenError):
            room.sweep()
    finally:
        seams.arm(None)
    room.sweep()
    assert not room.ask("quokka").degraded
    room.gone = True
    room.index.nudge([path], room.look)


def test_private_notes_live_in_a_file_of_their_own(room: Room) -> None:
    room.put("private/secret.md", "---\ntitle: Ptarmigan\naliases: [grouse]\n---\nptarmigan [[filler/f1]]\n")
    room.put("private/snow.png", b"x")
    room.sweep()
    public = b"".join(file.read_bytes() for file in room.cache.glob("index.db*"))
    hidden = b"".join(file.read_bytes() for file in room.cache.glob("index-private.db*"))
    for word in (b"ptarmigan", b"Ptarmigan", b"grouse", b"secret.md", b"snow.png"):
        assert word not in public
    assert b"Ptarmigan" in hidden
    assert room.index.state(private=False).notes == 12
    assert room.index.state().notes == 13


def test_a_note_that_becomes_private_changes_its_file(room: Room) -> None:
    room.put("private/a.md", "quokka\n")
    open_index = Index(room.cache, lambda _path: False, room.settings)
    open_index.sweep(room.walk, room.look)
    open_index.close()
    closed = room.sweep()
    assert closed.changed == 1
    assert room.index.state(private=False).notes == 12
    assert room.hits("quokka", KEEPER) == ["private/a.md"]


def test_two_processes_scan_one_cache(room: Room) -> None:
    room.sweep()
    room.put("a.md", "quokka\n")
    code = (
        "import sys, pathlib; from tests.index.room import Room, PRIVATE; from index import Index\n"
        "room = Room.__new__(Room); room.root = pathlib.Path(sys.argv[1]); room.unreadable = set()\n"
        "room.elsewhere = set(); room.gone = False; room.read = []; room.stamps = {}\n"
        "index = Index(pathlib.Path(sys.argv[2]), PRIVATE.cover); print(index.sweep(room.walk, room.look).changed)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(room.root), str(room.cache)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "1"
    assert room.hits("quokka") == ["a.md"]
    assert room.sweep().changed == 0


def test_a_whole_new_index_answers_and_the_old_one_answers_meanwhile(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.sweep()
    during: list[bool] = []

    def walk(*, known: object) -> object:
        for entry in list(room.walk()):
            found = room.ask("quokka")
            during.append([hit.path for hit in found.hits] == ["a.md"] and not found.degraded)
            yield entry

    seen: list[int] = []
    room.index.rebuild(walk, room.look, seen.append)  # type: ignore[arg-type]
    assert during
    assert all(during)
    assert not room.ask("quokka").degraded
    assert not list(room.cache.glob("*.new*"))


def test_a_file_put_in_place_by_somebody_else_is_noticed(room: Room) -> None:
    room.sweep()
    assert room.hits("quokka") == []
    room.put("a.md", "quokka\n")
    other = Index(room.cache, PRIVATE.cover, room.settings)
    other.rebuild(room.walk, room.look)
    other.close()
    assert room.hits("quokka") == ["a.md"]


def test_a_nudged_private_note_goes_into_the_private_file(room: Room) -> None:
    room.sweep()
    room.index.nudge([room.put("private/a.md", "ptarmigan\n")], room.look)
    assert room.hits("ptarmigan", KEEPER) == ["private/a.md"]
    assert b"ptarmigan" not in b"".join(file.read_bytes() for file in room.cache.glob("index.db*"))


def test_a_change_beside_the_searched_text_leaves_the_words_and_follows_the_links(room: Room) -> None:
    page = "---\ntitle: Notes\n---\nquokka\n{}\n"
    block = "<!-- muninn:index -->\n- [[filler/f{}]]: text\n<!-- /muninn:index -->"
    path = room.put("filler/index.md", page.format(block.format(1)))
    room.sweep()
    before = room.index.hashes(private=False)
    room.put("filler/index.md", page.format(block.format(2)))
    room.index.nudge([path], room.look)
    assert room.hits("quokka") == ["filler/index.md"]
    assert room.index.hashes(private=False) != before
    room.put("filler/index.md", page.format("[[filler/f3]] [[filler/f3]]"))
    room.index.nudge([path], room.look)
    assert len(room.links("filler/f3.md").backlinks) == 1
    room.put("filler/index.md", "---\ntitle: Notes\naliases: [Register]\n---\nwombat [[filler/f3]] [[filler/f4]]\n")
    room.index.nudge([path], room.look)
    assert room.hits("wombat") == ["filler/index.md"]
    assert room.hits("quokka") == []
    assert [row.path for row in room.links("filler/f4.md").backlinks] == ["filler/index.md"]
    room.put("a.md", "[[Register]]\n")
    room.index.nudge([note_path("a.md")], room.look)
    assert [row.path for row in room.links("filler/index.md").backlinks] == ["a.md"]


def test_a_change_that_failed_leaves_no_word_for_known(room: Room) -> None:
    room.sweep()
    path = room.put("a.md", "quokka\n")
    taken = room.digest(path)

    def fail() -> None:
        with room.index._public.writing() as connection:
            rows.put(connection, taken, 0, room.index._public.words)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    room.index.nudge([path], room.look)
    assert room.hits("quokka") == ["a.md"]
    assert room.hits("quokkas") == ["a.md"]
    assert room.hits("quoka") == ["a.md"]  # only a word in the list of words is found past a typing error
