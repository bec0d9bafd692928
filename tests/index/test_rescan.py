"""A scan that reads only what differs leaves the index that a new one would be, whatever was done to the files."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from index import Filters, Index
from muninn.model.content import NotePath
from muninn.vault.root import Vault

from .room import KEEPER, PRIVATE

_NAMES = ("a.md", "b.md", "\u00e9.md", "e\u0301.md", "pic.png", ".hidden.md", "x.tmp", "A (conflicted copy).md")
_FOLDERS = ("", "d", "d/e", "private", "e\u0301f")


class Place:
    """A vault and an index, and hands that do to its files whatever may be done."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.root = folder / "vault"
        self.root.mkdir()
        self.vault = Vault(self.root, None)
        self.index = Index(folder / "cache", PRIVATE.cover)
        self.cache = folder
        self.pick = random.Random(seed)

    def state(self, index: Index) -> object:
        """All that an index knows, in a form to compare."""
        found = index.ask(index.read("quokka wombat"), _ALL, lambda _: True, 100, private=True)
        links = []
        with index.names(private=True) as names:
            for key in ("a", "b", "pic.png", "\u00e9"):
                links.append((sorted(names.files(key)), sorted(map(str, names.pointing(key)))))
        hits = sorted(row.path for answer in found for row in answer.rows)
        return sorted(index.hashes(private=True)), index.state().faults, links, hits

    def afresh(self, number: int) -> object:
        """What a whole new index knows."""
        index = Index(self.cache / f"new{number}", PRIVATE.cover)
        index.sweep(self.vault.walk, self.vault.look)
        found = self.state(index)
        index.close()
        return found

    def change(self) -> None:
        folder, name = self.pick.choice(_FOLDERS), self.pick.choice(_NAMES)
        file = self.root / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        what = self.pick.choice(
            ("write", "write", "write", "remove", "link", "pipe", "folder", "move", "nudge", "tree")
        )
        if what == "tree":
            if folder:
                self._clear(self.root / folder)
        elif what == "move":
            if file.is_file() and not file.is_symlink():
                (self.root / "d").mkdir(exist_ok=True)
                file.rename(self.root / self.pick.choice(("moved.md", "d/moved.md")))
        else:
            self._clear(file)
            if what in ("write", "nudge"):
                file.write_text(f"quokka {self.pick.random()} [[{self.pick.choice(_NAMES)}]]\n")
            elif what == "link":
                file.symlink_to(self.root / "a.md")
            elif what == "pipe":
                os.mkfifo(file)
            elif what == "folder":
                file.mkdir()
            if what == "nudge" and not name.startswith(".") and not name.endswith(".tmp"):
                path = NotePath.parse(f"{folder}/{name}" if folder else name)
                assert isinstance(path, NotePath)
                self.index.nudge([path], self.vault.look)

    def _clear(self, file: Path) -> None:
        if file.is_dir() and not file.is_symlink():
            for inner in file.iterdir():
                self._clear(inner)
            file.rmdir()
        elif file.is_symlink() or file.exists():
            file.unlink()


_ALL = Filters(with_retired=True)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("young", [True, False])
def test_many_small_scans_come_to_what_one_whole_scan_finds(
    tmp_path: Path, seed: int, young: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not young:  # as if every scan came long after the changes: stamps alone tell what is new
        monkeypatch.setattr("index.scan._SLACK_NS", -(10**15))
    place = Place(tmp_path, seed)
    place.index.sweep(place.vault.walk, place.vault.look)
    for number in range(12):
        for _ in range(place.pick.randint(1, 8)):
            place.change()
        if place.pick.random() < 0.3:
            place.index.close()  # the stamps are read again from the file
        place.index.sweep(place.vault.walk, place.vault.look)
        assert place.state(place.index) == place.afresh(number)
    place.index.close()


def test_of_two_unicode_forms_of_a_name_the_other_is_read_when_one_goes(tmp_path: Path) -> None:
    place = Place(tmp_path, 1)
    one, other = place.root / "\u00e9.md", place.root / "e\u0301.md"
    one.write_text("quokka\n")
    other.write_text("wombat and more\n")
    for file in (one, other):
        os.utime(file, (1_600_000_000, 1_600_000_000))
    time.sleep(2.1)
    for _ in range(2):
        assert place.index.sweep(place.vault.walk, place.vault.look).notes == 1
    before = place.index.hashes(private=False)
    one.unlink()
    place.index.sweep(place.vault.walk, place.vault.look)
    assert place.index.hashes(private=False) != before
    assert place.state(place.index) == place.afresh(1)
    place.index.close()


def test_an_unchanged_vault_is_walked_without_a_look(tmp_path: Path) -> None:
    place = Place(tmp_path, 1)
    for number in range(40):
        file = place.root / f"d{number % 3}" / f"n{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text("quokka\n")
    looked: list[str] = []

    def look(path: NotePath) -> object:
        looked.append(path)
        return place.vault.look(path)

    time.sleep(2.1)
    assert place.index.sweep(place.vault.walk, look).changed == 40  # type: ignore[arg-type]
    looked.clear()
    assert place.index.sweep(place.vault.walk, look).notes == 40  # type: ignore[arg-type]
    assert looked == []
    place.index.close()


def test_who_is_private_is_asked_again_when_the_stamps_are_read(tmp_path: Path) -> None:
    place = Place(tmp_path, 1)
    (place.root / "a.md").write_text("quokka\n")
    place.index.sweep(place.vault.walk, place.vault.look)
    place.index.close()
    closed = Index(tmp_path / "cache", lambda path: path == "a.md")
    closed.sweep(place.vault.walk, place.vault.look)
    assert closed.state(private=False).notes == 0
    assert closed.state().notes == 1
    assert KEEPER.sees_private
    closed.close()
