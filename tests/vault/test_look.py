"""One look at a path: whatever stands there is told apart, and no link is ever followed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from muninn.model.content import ContentHash
from muninn.model.sight import Absent, Blocked, Elsewhere, File
from muninn.vault import look as looking
from tests.conftest import Room, path

E_ACUTE = "\u00e9"
E_DECOMPOSED = "e\u0301"
AS_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")


def test_a_file_with_its_exact_bytes(room: Room) -> None:
    file = room.lay("a/b.md", b"\xef\xbb\xbfx\r\n")
    file.chmod(0o640)
    found = room.door.vault.look(path("a/b.md"))
    assert isinstance(found, File)
    assert (found.content, found.hash, found.mode) == (
        b"\xef\xbb\xbfx\r\n",
        ContentHash.of(b"\xef\xbb\xbfx\r\n"),
        0o640,
    )
    assert (found.stored, found.mtime_ns) == ("a/b.md", file.stat().st_mtime_ns)


@pytest.mark.parametrize(
    "name", ["none.md", "none/none.md", "a/none.md", "a/" + "x" * 252 + ".md", E_ACUTE * 126 + ".md"]
)
def test_nothing_is_there(room: Room, name: str) -> None:
    room.lay("a/b.md", b"x")
    assert room.door.vault.look(path(name)) == Absent(path(name))
    assert room.door.vault.look(path(name), twins=True) == Absent(path(name))


def test_a_folder_is_no_file(room: Room) -> None:
    (room.root / "a.md").mkdir()
    assert room.door.vault.look(path("a.md")) == Blocked(path("a.md"), "folder")


def test_a_file_on_the_way_is_no_folder(room: Room) -> None:
    room.lay("a.md", b"x")
    assert room.door.vault.look(path("a.md/b.md")) == Blocked(path("a.md/b.md"), "a file where a folder is needed")


def test_links_are_not_followed(room: Room, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_bytes(b"secret")
    room.lay("real/a.md", b"x")
    for name, to in (("out.md", tmp_path / "secret.md"), ("in.md", "real/a.md"), ("dangling.md", "nowhere")):
        (room.root / name).symlink_to(to)
        assert room.door.vault.look(path(name)) == Blocked(path(name), "symbolic link")
    (room.root / "way").symlink_to(room.root / "real")
    assert room.door.vault.look(path("way/a.md")) == Blocked(path("way/a.md"), "symbolic link")
    assert room.door.vault.look(path("way/none.md"), twins=True) == Blocked(path("way/none.md"), "symbolic link")


def test_a_link_swapped_in_after_the_check_is_not_followed(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_bytes(b"secret")
    file = room.lay("a.md", b"x")
    honest = looking._kind_of

    def overtaken(folder: int, name: str) -> object:
        kind = honest(folder, name)
        file.unlink()
        file.symlink_to(secret)
        return kind

    monkeypatch.setattr(looking, "_kind_of", overtaken)
    assert room.door.vault.look(path("a.md")) == Blocked(path("a.md"), "symbolic link")


def test_a_folder_swapped_for_a_link_is_not_followed(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "a.md").write_bytes(b"secret")
    room.lay("way/a.md", b"x")
    honest = looking.spelled

    def overtaken(folder: int, name: str) -> str | None:
        found = honest(folder, name)
        if name == "way":
            (room.root / "way").rename(room.root / "moved")
            (room.root / "way").symlink_to(tmp_path / "else")
        return found

    monkeypatch.setattr(looking, "spelled", overtaken)
    assert room.door.vault.look(path("way/a.md")) == Blocked(path("way/a.md"), "symbolic link")


def test_pipes_and_sockets_are_not_opened(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(room.root / "pipe.md")
    monkeypatch.chdir(room.root)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        for name in ("pipe.md", "socket.md"):
            assert room.door.vault.look(path(name)) == Blocked(path(name), "special file")


def test_a_pipe_swapped_in_after_the_check_does_not_hang(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(room.root / "pipe.md")
    monkeypatch.setattr(looking, "_kind_of", lambda folder, name: "file")
    assert room.door.vault.look(path("pipe.md")) == Blocked(path("pipe.md"), "special file")


@AS_ROOT
def test_an_unreadable_file_is_no_absent_one(room: Room) -> None:
    room.lay("a.md", b"x").chmod(0)
    with pytest.raises(PermissionError):
        room.door.vault.look(path("a.md"))


@AS_ROOT
def test_an_unreadable_folder_is_no_absent_one(room: Room) -> None:
    folder = room.lay("a/b.md", b"x").parent
    folder.chmod(0)
    with pytest.raises(PermissionError):
        room.door.vault.look(path("a/b.md"))
    folder.chmod(0o700)


def test_a_decomposed_name_is_found_and_stays_as_it_is(room: Room) -> None:
    room.lay(f"caf{E_DECOMPOSED}/th{E_DECOMPOSED}.md", b"x")
    found = room.door.vault.look(path(f"caf{E_ACUTE}/th{E_ACUTE}.md"), twins=True)
    assert isinstance(found, File)
    assert (found.path, found.stored) == (f"caf{E_ACUTE}/th{E_ACUTE}.md", f"caf{E_DECOMPOSED}/th{E_DECOMPOSED}.md")


def test_a_name_in_half_decomposed_form_is_found(room: Room) -> None:
    room.lay(f"{E_DECOMPOSED}{E_ACUTE}.md", b"x")
    assert isinstance(room.door.vault.look(path(f"{E_ACUTE}{E_ACUTE}.md")), File)


def test_a_cloud_placeholder_is_elsewhere(room: Room) -> None:
    room.lay("a/.b.md.icloud", b"x")
    assert room.door.vault.look(path("a/b.md")) == Elsewhere(path("a/b.md"))
    room.lay("a/b.md", b"here")
    assert isinstance(room.door.vault.look(path("a/b.md")), File)


@pytest.mark.parametrize(
    ("there", "asked", "twin"),
    [
        ("Plan.md", "plan.md", "Plan.md"),
        ("Docs/a.md", "docs/a.md", "Docs"),
        ("Docs/a.md", "docs/new/b.md", "Docs"),
        ("a/B/c.md", "a/b/c.md", "a/B"),
        ("STRASSE.md", "straße.md", "STRASSE.md"),
    ],
)
def test_a_twin_is_named(room: Room, there: str, asked: str, twin: str) -> None:
    room.lay(there, b"x")
    assert room.door.vault.look(path(asked), twins=True) == Absent(path(asked), twin)
    assert room.door.vault.look(path(asked)) == Absent(path(asked))


def test_what_is_there_itself_counts_before_its_twin(room: Room) -> None:
    room.lay("docs/a.md", b"x")
    room.lay("Docs/a.md", b"x")
    room.lay("docs/A.md", b"x")
    assert isinstance(room.door.vault.look(path("docs/a.md"), twins=True), File)
    assert room.door.vault.look(path("docs/b.md"), twins=True) == Absent(path("docs/b.md"))


def test_a_file_over_the_limit_is_not_read(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MAX_BYTES", 10)
    room.lay("a.md", b"x" * 11)
    assert isinstance(room.door.vault.look(path("a.md")), Blocked)


def test_several_looks_come_in_order(room: Room) -> None:
    room.lay("a.md", b"x")
    kinds = [type(sight) for sight in room.door.vault.look_at([path("b.md"), path("a.md")])]
    assert kinds == [Absent, File]


def test_looking_leaves_no_descriptor_open(room: Room) -> None:
    room.lay("a/b/c.md", b"x")
    (room.root / "link").symlink_to("a")
    before = len(os.listdir("/dev/fd"))
    for name in ("a/b/c.md", "a/none/c.md", "link/x.md", "a/b/c.md/d.md", "a/b/none.md"):
        room.door.vault.look(path(name), twins=True)
    assert len(os.listdir("/dev/fd")) == before
