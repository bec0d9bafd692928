"""Apply: a path goes from its bytes before to its bytes after, or stays as somebody else made it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from muninn.model.change import Change
from muninn.model.content import MISSING, ContentHash
from muninn.vault import Applied, Drifted, Placed, exchange, temps
from tests.conftest import Room, at, breaking, path

OLD, NEW, FOREIGN = b"old bytes\n", b"new bytes\n", b"foreign bytes\n"
STEPS = ["vault.write", "vault.fsync", "vault.exchange"]
BROKEN = [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS]


@pytest.fixture(params=["exchange", "no exchange"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the system's exchange, and as where there is none."""
    if request.param == "no exchange":
        monkeypatch.setattr(exchange, "_call", lambda: None)
    return str(request.param)


def put(room: Room, name: str, before: bytes | None, after: bytes, mode: int | None = None) -> Applied:
    was = MISSING if before is None else ContentHash.of(before)
    return room.door.vault.apply(Change(path(name), was, ContentHash.of(after), mode), after)


def take(room: Room, name: str, before: bytes) -> Applied:
    return room.door.vault.apply(Change(path(name), ContentHash.of(before), MISSING), None)


def replaced_by(file: Path, content: bytes = FOREIGN) -> Callable[[], None]:
    """An outsider who replaces a file by rename, as sync tools do."""

    def act() -> None:
        new = file.with_name("outside")
        new.write_bytes(content)
        new.replace(file)

    return act


def names(room: Room) -> set[str]:
    return {str(found.relative_to(room.root)) for found in room.root.rglob("*")} - {".muninn-vault"}


@pytest.mark.usefixtures("way")
def test_create(room: Room) -> None:
    assert put(room, "a/b/c.md", None, NEW) == Placed()
    assert room.bytes_of("a/b/c.md") == NEW
    assert names(room) == {"a", "a/b", "a/b/c.md"}


@pytest.mark.usefixtures("way")
def test_overwrite_keeps_the_mode_it_is_told(room: Room) -> None:
    room.lay("a.md", OLD).chmod(0o604)
    assert put(room, "a.md", OLD, NEW, 0o604) == Placed()
    assert room.bytes_of("a.md") == NEW
    assert stat.S_IMODE((room.root / "a.md").stat().st_mode) == 0o604
    assert names(room) == {"a.md"}


@pytest.mark.usefixtures("way")
def test_a_new_note_has_the_mode_of_the_platform(room: Room) -> None:
    (room.root / "by hand").write_bytes(b"")
    put(room, "a.md", None, NEW)
    assert (room.root / "a.md").stat().st_mode == (room.root / "by hand").stat().st_mode


@pytest.mark.usefixtures("way")
def test_archive(room: Room) -> None:
    room.lay("a.md", OLD)
    assert take(room, "a.md", OLD) == Placed()
    assert names(room) == set()


def test_an_archive_of_what_is_gone_is_done(room: Room) -> None:
    assert take(room, "a.md", OLD) == Placed()
    assert take(room, "none/a.md", OLD) == Placed()
    assert names(room) == set()


@pytest.mark.usefixtures("way")
def test_a_decomposed_name_stays_as_it_is_stored(room: Room) -> None:
    room.lay("e\u0301.md", OLD)
    assert put(room, "\u00e9.md", OLD, NEW) == Placed()
    assert os.listdir(room.root).count("e\u0301.md") == 1
    assert take(room, "\u00e9.md", NEW) == Placed()
    assert names(room) == set()


def test_who_overwrites_in_the_instant_of_the_exchange_stays(room: Room) -> None:
    file = room.lay("a.md", OLD)
    at("vault.exchange", replaced_by(file))
    assert put(room, "a.md", OLD, NEW) == Drifted(ContentHash.of(FOREIGN), FOREIGN)
    assert room.bytes_of("a.md") == FOREIGN
    assert names(room) == {"a.md"}


def test_without_exchange_the_look_before_the_rename_finds_the_outsider(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_call", lambda: None)
    file = room.lay("a.md", OLD)
    at("vault.exchange", replaced_by(file))
    assert put(room, "a.md", OLD, NEW) == Drifted(ContentHash.of(FOREIGN), FOREIGN)
    assert room.bytes_of("a.md") == FOREIGN
    assert names(room) == {"a.md"}


@pytest.mark.usefixtures("way")
def test_who_creates_in_the_instant_of_a_creation_stays(room: Room) -> None:
    at("vault.exchange", lambda: room.lay("a.md", FOREIGN))
    assert put(room, "a.md", None, NEW) == Drifted(ContentHash.of(FOREIGN), FOREIGN)
    assert room.bytes_of("a.md") == FOREIGN
    assert names(room) == {"a.md"}


@pytest.mark.usefixtures("way")
def test_who_removes_in_the_instant_of_an_overwrite_is_noticed(room: Room) -> None:
    file = room.lay("a.md", OLD)
    at("vault.exchange", file.unlink)
    assert put(room, "a.md", OLD, NEW) == Drifted(MISSING)
    assert names(room) == set()


@pytest.mark.usefixtures("way")
def test_who_overwrites_in_the_instant_of_an_archive_stays(room: Room) -> None:
    file = room.lay("a.md", OLD)
    at("vault.exchange", replaced_by(file))
    drifted = take(room, "a.md", OLD)
    assert isinstance(drifted, Drifted)
    assert (drifted.found, drifted.content) == (ContentHash.of(FOREIGN), FOREIGN)
    assert room.bytes_of("a.md") == FOREIGN
    assert names(room) == {"a.md"}


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
@pytest.mark.parametrize("verb", ["overwrite", "archive"])
def test_whatever_else_an_outsider_puts_there_stays(room: Room, kind: str, verb: str) -> None:
    file = room.lay("a.md", OLD)

    def act() -> None:
        file.unlink()
        if kind == "link":
            file.symlink_to("nowhere")
        elif kind == "folder":
            file.mkdir()
            (file / "inner.md").write_bytes(FOREIGN)
        else:
            os.mkfifo(file)

    at("vault.exchange", act)
    assert (put(room, "a.md", OLD, NEW) if verb == "overwrite" else take(room, "a.md", OLD)) == Drifted(None)
    kinds = {"link": file.is_symlink(), "folder": (file / "inner.md").exists(), "pipe": file.is_fifo()}
    assert kinds[kind]
    assert not room.temps()


def test_both_survive_when_an_archive_finds_a_new_file(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """One outsider replaces the note in the instant of the archive, a second one fills the empty place."""
    file = room.lay("a.md", OLD)
    honest = temps.hash_of

    def slow_look(folder: int, name: str) -> ContentHash | None:
        file.write_bytes(b"second\n")
        return honest(folder, name)

    monkeypatch.setattr(temps, "hash_of", slow_look)
    at("vault.exchange", replaced_by(file))
    drifted = take(room, "a.md", OLD)
    assert isinstance(drifted, Drifted)
    assert (drifted.found, drifted.content) == (ContentHash.of(FOREIGN), FOREIGN)
    assert room.bytes_of("a.md") == b"second\n"
    assert [Path(temp).read_bytes() for temp in room.temps()] == [FOREIGN]


def test_a_second_outsider_after_the_exchange_stays_too(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    file = room.lay("a.md", OLD)
    honest, seen = temps.hash_of, 0

    def slow_look(folder: int, name: str) -> ContentHash | None:
        nonlocal seen
        found, seen = honest(folder, name), seen + 1
        if seen == 1:
            replaced_by(file, b"second\n")()
        return found

    monkeypatch.setattr(temps, "hash_of", slow_look)
    at("vault.exchange", replaced_by(file))
    applied = put(room, "a.md", OLD, NEW)
    assert isinstance(applied, Drifted)
    left = {room.bytes_of("a.md"), *(Path(temp).read_bytes() for temp in room.temps())}
    assert {FOREIGN, b"second\n"} <= left
    assert applied.content in left


@pytest.mark.parametrize("code", BROKEN)
@pytest.mark.parametrize("point", STEPS)
@pytest.mark.usefixtures("way")
def test_a_disk_that_fails_leaves_the_old_bytes(room: Room, point: str, code: int) -> None:
    room.lay("a.md", OLD)
    at(point, breaking(code))
    with pytest.raises(OSError, match=r".") as caught:
        put(room, "a.md", OLD, NEW)
    assert caught.value.errno == code
    assert room.bytes_of("a.md") == OLD
    assert names(room) == {"a.md"}


@pytest.mark.parametrize("point", STEPS)
@pytest.mark.usefixtures("way")
def test_a_creation_that_fails_leaves_no_folder(room: Room, point: str) -> None:
    room.lay("a/old.md", OLD)
    at(point, breaking())
    with pytest.raises(OSError, match=r"."):
        put(room, "a/b/c/new.md", None, NEW)
    assert names(room) == {"a", "a/old.md"}


def test_a_creation_that_fails_leaves_the_folders_that_somebody_uses(room: Room) -> None:
    at("vault.exchange", lambda: (room.lay("a/b/other.md", FOREIGN), breaking()()))
    with pytest.raises(OSError, match=r"."):
        put(room, "a/b/c/new.md", None, NEW)
    assert names(room) == {"a", "a/b", "a/b/other.md"}


def test_an_archive_that_fails_leaves_the_note(room: Room) -> None:
    room.lay("a.md", OLD)
    at("vault.exchange", breaking())
    with pytest.raises(OSError, match=r"."):
        take(room, "a.md", OLD)
    assert names(room) == {"a.md"}


def test_short_writes_are_carried_on(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, view: honest(descriptor, view[:3]))
    assert put(room, "a.md", None, NEW) == Placed()
    assert room.bytes_of("a.md") == NEW


def test_a_disk_that_fills_up_half_way_leaves_the_old_bytes(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = os.write, 0

    def filling(descriptor: int, view: memoryview) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            breaking(errno.ENOSPC)()
        return honest(descriptor, view[:3])

    room.lay("a.md", OLD)
    monkeypatch.setattr(os, "write", filling)
    with pytest.raises(OSError, match="space"):
        put(room, "a.md", OLD, NEW)
    assert room.bytes_of("a.md") == OLD
    assert names(room) == {"a.md"}


def test_bytes_that_do_not_read_back_are_not_put_in_place(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.lay("a.md", OLD)
    monkeypatch.setattr(temps, "read_all", lambda descriptor, size: b"rot")
    with pytest.raises(OSError, match="read back"):
        put(room, "a.md", OLD, NEW)
    assert room.bytes_of("a.md") == OLD
    assert names(room) == {"a.md"}


@pytest.mark.parametrize("name", ["way/a.md", "way/deep/a.md"])
def test_nothing_is_written_through_a_link(room: Room, tmp_path: Path, name: str) -> None:
    (tmp_path / "else").mkdir()
    (room.root / "way").symlink_to(tmp_path / "else")
    assert put(room, name, None, NEW) == Drifted(None)
    assert os.listdir(tmp_path / "else") == []


def test_a_link_at_the_target_is_neither_followed_nor_replaced(room: Room, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_bytes(OLD)
    (room.root / "a.md").symlink_to(tmp_path / "secret.md")
    assert put(room, "a.md", OLD, NEW) == Drifted(None)
    assert put(room, "a.md", None, NEW) == Drifted(None)
    assert take(room, "a.md", OLD) == Drifted(None)
    assert (room.root / "a.md").is_symlink()
    assert (tmp_path / "secret.md").read_bytes() == OLD


def test_leftovers_are_ours_alone_and_are_named_with_their_bytes(room: Room) -> None:
    room.lay("a/.muninn-0123456789abcdef.tmp", OLD)
    for name in ("a/.muninn-xyz.tmp", "a/.muninn-0123456789abcdef.tmp.md", "a/x.tmp", "b/.muninn-fedcba9876543210.tmp"):
        room.lay(name, FOREIGN)
    vault = room.door.vault
    assert vault.sweep_leftovers({"a", "none"}) == [("a/.muninn-0123456789abcdef.tmp", OLD)]
    vault.remove_leftover("a/.muninn-0123456789abcdef.tmp")
    vault.remove_leftover("a/.muninn-0123456789abcdef.tmp")
    vault.remove_leftover("a/x.tmp")
    assert vault.sweep_leftovers({"a"}) == []
    assert room.bytes_of("a/x.tmp") == FOREIGN


def test_exchange_is_told_from_what_the_file_system_can(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    with room.door.vault.opened() as root:
        monkeypatch.setattr(exchange, "_call", lambda: None)
        assert not exchange.supported(root)
        room.lay("a.md", OLD)
        room.lay("b.md", NEW)
        with pytest.raises(FileExistsError):
            exchange.rename_into_nothing(root, "a.md", "b.md")
    assert (room.bytes_of("a.md"), room.bytes_of("b.md")) == (OLD, NEW)


def test_folders_are_flushed_once_each(room: Room) -> None:
    for name in ("a/b.md", "a/c.md", "d.md"):
        room.lay(name, OLD)
    flushed = 0

    def count() -> None:
        nonlocal flushed
        flushed += 1

    at("vault.fsync_folder", count, times=10)
    room.door.vault.flush([path("a/b.md"), path("a/c.md"), path("d.md"), path("none/e.md")])
    assert flushed == 2


def test_applying_leaves_no_descriptor_open(room: Room) -> None:
    before = len(os.listdir("/dev/fd"))
    put(room, "a/b.md", None, NEW)
    put(room, "a/b.md", OLD, NEW)
    take(room, "a/b.md", NEW)
    at("vault.fsync", breaking())
    with pytest.raises(OSError, match=r"."):
        put(room, "a/b/c.md", None, NEW)
    assert len(os.listdir("/dev/fd")) == before


def test_owner_and_attributes_of_the_replaced_file_are_taken_over(room: Room) -> None:
    file = room.lay("a.md", OLD)
    try:
        os.setxattr(file, "user.colour", b"blue")
    except (OSError, AttributeError):
        pytest.skip("NOT RUN: no extended attributes on this file system")
    if os.geteuid() == 0:
        os.chown(file, 12345, 12346)
    assert put(room, "a.md", OLD, NEW) == Placed()
    assert os.getxattr(file, "user.colour") == b"blue"
    if os.geteuid() == 0:
        assert (file.stat().st_uid, file.stat().st_gid) == (12345, 12346)


def test_a_hard_link_is_named_as_lost(room: Room) -> None:
    file = room.lay("a.md", OLD)
    os.link(file, room.root / "b.md")
    assert put(room, "a.md", OLD, NEW) == Placed(lost=("hard links",))
    assert room.bytes_of("b.md") == OLD


def test_a_replaced_file_is_held_until_it_is_released(room: Room) -> None:
    room.lay("a.md", OLD)
    change = Change(path("a.md"), ContentHash.of(OLD), ContentHash.of(NEW))
    applied = room.door.vault.apply(change, NEW, hold=True)
    assert isinstance(applied, Placed)
    assert applied.aside is not None
    assert (room.root / applied.aside.name).read_bytes() == OLD
    assert room.door.vault.release(applied.aside) is None
    assert names(room) == {"a.md"}


def test_who_writes_into_a_held_file_is_heard(room: Room) -> None:
    room.lay("d/a.md", OLD)
    with open(room.root / "d/a.md", "r+b") as editor:
        change = Change(path("d/a.md"), ContentHash.of(OLD), MISSING)
        applied = room.door.vault.apply(change, None, hold=True)
        editor.write(FOREIGN)
        editor.truncate()
    assert isinstance(applied, Placed)
    assert applied.aside is not None
    assert room.door.vault.release(applied.aside) == FOREIGN
    assert room.temps() != []
