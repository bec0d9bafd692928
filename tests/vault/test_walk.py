"""The walk names everything of the vault once, and what it leaves out it leaves out on purpose."""

from __future__ import annotations

import os
import resource

import pytest

from muninn.model.listing import Entry, Fault
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
