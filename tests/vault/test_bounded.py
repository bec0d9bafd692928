"""A look within bounds: the same as any look, and never a byte more than allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muninn.model.content import ContentHash
from muninn.model.sight import Absent, Blocked, Elsewhere, File, TooMuch
from tests.conftest import Room, at, path


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What every ``os.read`` gave, in bytes."""
    found: list[int] = []
    real = os.read

    def counted(descriptor: int, size: int) -> bytes:
        content = real(descriptor, size)
        found.append(len(content))
        return content

    monkeypatch.setattr("muninn.vault.bounded.os.read", counted)
    return found


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_within_the_bound_is_seen_as_by_any_look(room: Room, size: int) -> None:
    room.lay("d/a.md", b"x" * size)
    found = room.door.vault.look_within(path("d/a.md"), 100)
    assert found == room.door.vault.look(path("d/a.md"))
    assert isinstance(found, File)
    assert found.hash == ContentHash.of(b"x" * size)


@pytest.mark.parametrize("size", [101, 5000])
def test_a_larger_one_is_not_read(room: Room, read_bytes: list[int], size: int) -> None:
    room.lay("a.md", b"x" * size)
    read_bytes.clear()
    assert room.door.vault.look_within(path("a.md"), 100) == TooMuch(path("a.md"), size)
    assert sum(read_bytes) <= 40  # the vault's id


def test_a_file_that_grows_in_this_instant_is_not_read_beyond_the_bound(room: Room, read_bytes: list[int]) -> None:
    file = room.lay("a.md", b"x" * 50)
    room.door.vault.look(path("a.md"))
    read_bytes.clear()
    real = os.fstat
    grown = False

    def grow(descriptor: int) -> os.stat_result:
        nonlocal grown
        seen = real(descriptor)
        if seen.st_size == 50 and not grown:
            grown = True
            file.write_bytes(b"x" * 5000)
        return seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("muninn.vault.bounded.os.fstat", grow)
        assert room.door.vault.look_within(path("a.md"), 100) == TooMuch(path("a.md"), 5000)
    assert sum(read_bytes) <= 100


def test_what_is_no_file_is_told_as_by_any_look(room: Room) -> None:
    room.lay("d/b.md", b"b")
    (room.root / "link.md").symlink_to("d/b.md")
    (room.root / "folder.md").mkdir()
    room.lay(".gone.md.icloud", b"")
    expected = {"none.md": Absent, "x/none.md": Absent, "link.md": Blocked, "folder.md": Blocked, "gone.md": Elsewhere}
    for name, kind in expected.items():
        found = room.door.vault.look_within(path(name), 100)
        assert isinstance(found, kind)
        assert found == room.door.vault.look(path(name))


def test_an_outside_swap_to_a_link_is_not_followed(room: Room, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    file = room.lay("a.md", b"a")

    def swap() -> None:
        file.unlink()
        file.symlink_to(tmp_path / "secret")

    real = os.open

    def opening(name: str, flags: int, *rest: int, **more: int) -> int:
        if name == "a.md":
            swap()
        return real(name, flags, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("muninn.vault.bounded.os.open", opening)
        found = room.door.vault.look_within(path("a.md"), 100)
    assert isinstance(found, Blocked)


def test_it_passes_the_fault_point_of_a_read(room: Room) -> None:
    room.lay("a.md", b"a")
    passed: list[str] = []
    at("vault.read", lambda: passed.append("read"), where="a.md")
    room.door.vault.look_within(path("a.md"), 100)
    assert passed == ["read"]
