"""Vaults that people really keep: served, every file is readable with its hash and findable, and none is touched."""

import hashlib
import os
import tarfile
from pathlib import Path

import pytest

from tests.door.gateway import Gateway, places, served, until_ready
from tests.shared import shared

EVERY = int(os.environ.get("MUNINN_EVERY", "25"))
"""Every so many notes one is searched for by its own words; 1 looks for all of them."""


def look(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Names, bytes, modes and times of everything below a vault, but the mark that serving adds."""
    return {
        str(path.relative_to(root)): (
            path.read_bytes() if path.is_file() else b"",
            path.lstat().st_mode,
            path.lstat().st_mtime_ns if path.is_file() else 0,
        )
        for path in sorted(root.rglob("*"))
        if path.name != ".muninn-vault"
    }


def is_named_plainly(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)


def words_of(path: Path, text: str) -> str:
    """Words that this note should be found by: its name and the longest words of its text."""
    words = sorted({word for word in text.split() if word.isalnum()}, key=len, reverse=True)[:12]
    return " ".join([path.stem, *words])


@pytest.mark.parametrize("name", ["kepano", "logseq-docs", "handbook"])
def test_every_note_is_readable_and_findable_and_nothing_is_touched(tmp_path: Path, name: str) -> None:
    archive = shared(f"vaults/{name}.tar.gz")
    made = places(tmp_path)
    made.vault.rmdir()
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / name).rename(made.vault)
    before = look(made.vault)
    with served(made):
        until_ready(made)
        check(made)
    assert look(made.vault) == before


def check(made: Gateway) -> None:
    notes = [path.relative_to(made.vault) for path in sorted(made.vault.rglob("*.md"))]
    notes = [path for path in notes if is_named_plainly(path)]
    assert made.call("status", {})["vault"]["notes"] == len(notes)
    for number, path in enumerate(notes):
        raw = (made.vault / path).read_bytes()
        read = made.call("read", {"path": path.as_posix()})
        assert read.get("hash") or read["source_hash"] == hashlib.sha256(raw).hexdigest(), path
        if read["hash"] is not None:
            assert read["hash"] == hashlib.sha256(raw).hexdigest(), path
            assert read["content"].encode() == raw, path
        if number % EVERY == 0:
            folder = {} if path.parent == Path() else {"folder": path.parent.as_posix()}
            asked = {"query": words_of(path, raw.decode(errors="replace")), "limit": 20, "status": None} | folder
            hits = [hit["path"] for hit in made.call("search", asked)["hits"]]
            assert path.as_posix() in hits, path
