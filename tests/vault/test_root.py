"""The root: a vault that is gone, empty or another one is an error, never an empty success."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from muninn.model import seams
from muninn.model.errors import VaultUnavailableError
from muninn.model.sight import File
from muninn.vault import MARK, Vault, adopt
from tests.conftest import Room, path


def ask_everything(vault: Vault) -> None:
    """Every way to use a vault must refuse."""
    for use in (
        lambda: vault.look(path("a.md")),
        lambda: vault.look_at([path("a.md")]),
        lambda: list(vault.walk()),
        lambda: vault.flush([path("a.md")]),
        lambda: vault.sweep_leftovers({""}),
    ):
        with pytest.raises(VaultUnavailableError):
            use()


def test_a_root_that_is_gone(room: Room) -> None:
    shutil.rmtree(room.root)
    ask_everything(room.door.vault)
    assert not room.root.exists()


def test_a_root_that_is_suddenly_empty(room: Room) -> None:
    room.lay("a.md", b"x")
    room.door.vault.look(path("a.md"))
    shutil.rmtree(room.root)
    room.root.mkdir()
    ask_everything(room.door.vault)


def test_a_root_with_another_id(room: Room) -> None:
    room.door.vault.look(path("a.md"))
    (room.root / MARK).write_text("0" * 32 + "\n")
    ask_everything(room.door.vault)


@pytest.mark.parametrize("content", [b"", b"words\n", b"A" * 32, b"0" * 33])
def test_a_root_whose_mark_is_no_id(room: Room, content: bytes) -> None:
    (room.root / MARK).write_bytes(content)
    ask_everything(room.door.vault)


def test_a_mark_that_is_a_link_is_no_mark(room: Room, tmp_path: Path) -> None:
    mark = room.root / MARK
    (tmp_path / "mark").write_bytes(mark.read_bytes())
    mark.unlink()
    mark.symlink_to(tmp_path / "mark")
    ask_everything(room.door.vault)


def test_a_root_that_cannot_be_read(room: Room) -> None:
    def fail(point: str, where: str | None) -> None:
        if point == "vault.root":
            raise PermissionError(13, "Permission denied")

    seams.arm(fail)
    ask_everything(room.door.vault)


def test_a_root_that_comes_back_is_there_again(room: Room, tmp_path: Path) -> None:
    room.lay("a.md", b"x")
    room.root.rename(tmp_path / "away")
    ask_everything(room.door.vault)
    (tmp_path / "away").rename(room.root)
    assert isinstance(room.door.vault.look(path("a.md")), File)


def test_the_root_itself_may_be_a_link(room: Room, tmp_path: Path) -> None:
    room.lay("a.md", b"x")
    (tmp_path / "link").symlink_to(room.root)
    linked = adopt(tmp_path / "link", room.door.vault.id)
    assert linked.look(path("a.md")) == room.door.vault.look(path("a.md"))


def test_messages_name_no_place_of_the_machine(room: Room) -> None:
    shutil.rmtree(room.root)
    with pytest.raises(VaultUnavailableError) as caught:
        room.door.vault.look(path("a.md"))
    assert str(room.root) not in str(caught.value)


def test_adopting_gives_an_id_once(tmp_path: Path) -> None:
    first = adopt(tmp_path, None)
    assert os.listdir(tmp_path) == [MARK]
    assert adopt(tmp_path, None).id == first.id
    assert adopt(tmp_path, first.id).id == first.id


def test_adopting_makes_no_root(tmp_path: Path) -> None:
    with pytest.raises(VaultUnavailableError):
        adopt(tmp_path / "none", None)
    assert not (tmp_path / "none").exists()


def test_adopting_a_file_or_a_vault_without_the_expected_id(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(VaultUnavailableError):
        adopt(tmp_path / "file", None)
    with pytest.raises(VaultUnavailableError, match="carries no"):
        adopt(tmp_path, "0" * 32)
    assert not (tmp_path / MARK).exists()
    adopt(tmp_path, None)
    with pytest.raises(VaultUnavailableError, match="belongs to the vault"):
        adopt(tmp_path, "0" * 32)


def test_adopting_a_vault_with_a_broken_mark_leaves_it_and_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / MARK).write_text("words")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(VaultUnavailableError):
        adopt(tmp_path, None)
    assert (tmp_path / MARK).read_text() == "words"
    assert len(os.listdir("/dev/fd")) == before
