"""The walk names everything of the vault once, and what it leaves out it leaves out on purpose."""

from __future__ import annotations

import os
import resource

import pytest

from muninn.model.listing import ATTACHMENT, Entry, Fault, Known, Same
from muninn.model.sight import File
from tests.conftest import Room, path


def walked(room: Room, folder: str = "", depth: int | None = None) -> dict[str, str]:
    """Path → kind, faults with their reason."""
    found = list(room.door.vault.walk(folder, depth))
    shown = {entry.path: entry.kind if isinstance(entry, Entry) else f"fault: {entry.reason}" for entry in found}
    assert len(shown) == len(found)
    return dict(shown)


def test_notes_attachments_and_folders(room: Room) -> None:
    room.lay("a.md", b"x")
    room.lay("pic.png", b"x")
    room.lay("d/e/f.md", b"x")
    assert walked(room) == {
        "a.md": "note",
        "pic.png": "attachment",
        "d": "folder",
        "d/e": "folder",
        "d/e/f.md": "note",
    }


def test_hidden_and_temporary_files_do_not_come(room: Room) -> None:
    for name in (".hidden.md", ".obsidian/app.json", "a.tmp", "~$b.md", ".muninn-0123456789abcdef.tmp"):
        room.lay(name, b"x")
    assert walked(room) == {}


def test_a_placeholder_is_elsewhere(room: Room) -> None:
    room.lay("d/.a.md.icloud", b"x")
    assert walked(room)["d/a.md"] == "elsewhere"


def test_links_and_special_files_are_faults_and_not_entered(room: Room) -> None:
    room.lay("d/a.md", b"x")
    (room.root / "to_folder").symlink_to("d")
    (room.root / "to_file.md").symlink_to("d/a.md")
    (room.root / "dangling.md").symlink_to("none")
    os.mkfifo(room.root / "pipe.md")
    found = walked(room)
    for name in ("to_folder", "to_file.md", "dangling.md"):
        assert found[name] == "fault: a symbolic link"
    assert "special file" in found["pipe.md"]
    assert "to_folder/a.md" not in found


@pytest.mark.parametrize("name", [b"a\\b.md", b"bad\xff.md", b" lead.md", "r\u202el.md".encode()])
def test_names_that_cannot_be_addressed_are_faults(room: Room, name: bytes) -> None:
    with open(os.path.join(os.fsencode(room.root), name), "wb") as file:
        file.write(b"x")
    (fault,) = room.door.vault.walk()
    assert isinstance(fault, Fault)
    fault.path.encode()


def test_depth_counts_folders(room: Room) -> None:
    room.lay("d/e/f.md", b"x")
    assert set(walked(room, depth=1)) == {"d"}
    assert set(walked(room, depth=2)) == {"d", "d/e"}
    assert set(walked(room, "d", 1)) == {"d/e"}
    assert set(walked(room, "d/e")) == {"d/e/f.md"}


@pytest.mark.parametrize("folder", ["none", "a.md", "link", "..", "/", ".git"])
def test_what_is_no_folder_gives_nothing(room: Room, folder: str) -> None:
    room.lay("a.md", b"x")
    room.lay("d/a.md", b"x")
    room.lay(".git/a.md", b"x")
    (room.root / "link").symlink_to("d")
    assert walked(room, folder) == {}


def test_a_folder_comes_before_what_lies_in_it(room: Room) -> None:
    for name in ("a/b/c.md", "a/d.md", "e/f.md"):
        room.lay(name, b"x")
    order = [entry.path for entry in room.door.vault.walk()]
    for entry in order:
        assert all(order.index(path(folder)) < order.index(entry) for folder in path(entry).folders)


def test_stored_names_and_stamps(room: Room) -> None:
    file = room.lay("e\u0301/a.md", b"xyz")
    entry = next(found for found in room.door.vault.walk() if found.path.endswith("a.md"))
    assert isinstance(entry, Entry)
    assert (entry.path, entry.stored) == ("\u00e9/a.md", "e\u0301/a.md")
    assert entry.stamp is not None
    seen = file.stat()
    assert (entry.stamp.size, entry.stamp.mtime_ns, entry.stamp.inode) == (3, seen.st_mtime_ns, seen.st_ino)


def test_many_folders_side_by_side_need_few_descriptors(room: Room) -> None:
    for number in range(300):
        room.lay(f"d{number}/a.md", b"x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = max(int(name) for name in os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 50, hard))
    try:
        found = walked(room)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sum(kind == "note" for kind in found.values()) == 300
    assert not any(kind.startswith("fault") for kind in found.values())


def test_a_walk_left_early_closes_what_it_opened(room: Room) -> None:
    room.lay("a/b/c/d.md", b"x")
    before = len(os.listdir("/dev/fd"))
    walk = room.door.vault.walk()
    for _ in range(3):
        next(walk)
    walk.close()  # type: ignore[attr-defined]
    assert len(os.listdir("/dev/fd")) == before


def numbers(room: Room) -> dict[str, dict[str, int]]:
    """What a whole walk meets, by folder and name, as a later walk is told."""
    found: dict[str, dict[str, int]] = {}
    for entry in room.door.vault.walk():
        if isinstance(entry, Entry) and entry.kind in ("note", "attachment"):
            number = ATTACHMENT if entry.kind == "attachment" or entry.stamp is None else entry.stamp.number
            found.setdefault(entry.path.folder, {})[entry.path.name] = number
    return found


def told(
    room: Room, before: dict[str, dict[str, int]], since_ns: int = 1 << 63
) -> tuple[set[str], dict[str, set[str]]]:
    """The paths that a walk tells which knows what was before, and what it misses in each folder."""
    paths: set[str] = set()
    missing: dict[str, set[str]] = {}
    for found in room.door.vault.walk(known=Known(lambda folder: before.get(folder, {}), since_ns, 1 << 63)):
        if isinstance(found, Same):
            missing[found.folder] = set(found.missing)
        elif isinstance(found, Fault) or found.kind != "folder":
            paths.add(found.path)
    return paths, missing


def test_a_walk_that_knows_tells_only_what_is_not_as_known(room: Room) -> None:
    for name in ("a.md", "d/b.md", "d/c.md", "d/pic.png", "d/e/f.md"):
        room.lay(name, b"x")
    before = numbers(room)
    assert told(room, before) == (set(), {"": set(), "d": set(), "d/e": set()})
    room.lay("d/b.md", b"longer")
    (room.root / "d/c.md").unlink()
    room.lay("d/new.md", b"x")
    room.lay("d/.hidden.md", b"x")
    assert told(room, before) == ({"d/b.md", "d/new.md"}, {"": set(), "d": {"c.md"}, "d/e": set()})


def test_a_walk_that_knows_tells_files_of_a_young_time_again(room: Room) -> None:
    file = room.lay("a.md", b"x")
    before = numbers(room)
    changed = file.stat().st_ctime_ns
    assert told(room, before, changed) == ({"a.md"}, {"": set()})
    assert told(room, before, changed + 1) == (set(), {"": set()})


def test_a_known_name_that_is_no_file_any_more_is_missing(room: Room) -> None:
    for name in ("link.md", "pipe.md", "pipe.png", "folder.md", "cloud.md", "good.md"):
        room.lay(name, b"x")
    before = numbers(room)
    for name in ("link.md", "pipe.md", "pipe.png", "folder.md", "cloud.md"):
        (room.root / name).unlink()
    (room.root / "link.md").symlink_to("good.md")
    os.mkfifo(room.root / "pipe.md")
    os.mkfifo(room.root / "pipe.png")
    (room.root / "folder.md").mkdir()
    room.lay(".cloud.md.icloud", b"x")
    paths, missing = told(room, before)
    assert paths == {"link.md", "pipe.md", "pipe.png", "cloud.md"}
    assert missing[""] == {"link.md", "pipe.md", "pipe.png", "folder.md"}


def test_a_name_in_another_unicode_form_is_told_and_not_missing(room: Room) -> None:
    room.lay("e\u0301.md", b"x")
    before = numbers(room)
    assert before == {"": {"\u00e9.md": before[""]["\u00e9.md"]}}
    assert told(room, before) == ({"\u00e9.md"}, {"": set()})


def test_a_look_during_a_walk_goes_through_the_folder_it_has_open(room: Room) -> None:
    room.lay("d/a.md", b"here")
    vault = room.door.vault
    seen = {}
    walk = vault.walk(known=Known(lambda _: {}, 0, 0))
    for found in walk:
        if isinstance(found, Entry) and found.kind == "note":
            (room.root / "d").rename(room.root / "moved")
            room.lay("d/a.md", b"another")
            seen[found.path] = vault.look(found.path)
    assert [sight.content for sight in seen.values() if isinstance(sight, File)] == [b"here"]
    sight = vault.look(path("d/a.md"))
    assert isinstance(sight, File)
    assert sight.content == b"another"
