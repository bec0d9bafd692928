"""Files of the home are written whole, for their owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from muninn import home


def test_a_file_is_put_in_place_of_an_older_one(tmp_path: Path) -> None:
    file = tmp_path / "made" / "state.json"
    home.put(file, "one")
    home.put(file, "zwei, größer")
    assert file.read_text(encoding="utf-8") == "zwei, größer"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in file.parent.iterdir()] == ["state.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_fails_leaves_the_older_one_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "state.json"
    home.put(file, "one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        home.put(file, "two")
    monkeypatch.undo()
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("state.json", "one")]


def test_what_lies_where_the_new_file_is_made_is_neither_followed_nor_in_the_way(tmp_path: Path) -> None:
    file, other = tmp_path / "state.json", tmp_path / "other"
    other.write_text("another's")
    (tmp_path / f".state.json.{os.getpid()}.tmp").symlink_to(other)
    home.replace(file, b"one", 0o640)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode), other.read_text()) == (b"one", 0o640, "another's")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "state.json"]
