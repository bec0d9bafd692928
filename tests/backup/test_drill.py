"""Each comparison of the drill by itself: made-up remotes in which just one thing is wrong, and everything opens."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backup import drill
from backup import head as heads
from backup import key as keys
from backup.errors import BackupError
from backup.fetched import Holdings
from backup.git import Git, Item
from backup.places import read_state
from ledger import snapshot
from tests.backup.yard import Yard


def told(yard: Yard) -> str:
    """What the run says that it should not have been ok for."""
    with pytest.raises(BackupError) as raised:
        yard.run()
    return str(raised.value)


def test_a_head_of_another_counter_is_noticed(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealed with our key, all in order, but not the head that was pushed."""
    yard.run()
    honest = heads.write
    monkeypatch.setattr(heads, "write", lambda file, key, head: honest(file, key, replace(head, counter=1)))
    assert "has the counter 1, not 2" in told(yard)


def test_an_object_that_the_head_does_not_mean_is_noticed(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every object opens under its own name, but one has another hash than the head says."""
    honest = heads.write

    def write(file: Path, key: bytes, head: heads.Head) -> Any:
        packs = (replace(head.packs[0], sha256="0" * 64), *head.packs[1:])
        return honest(file, key, replace(head, packs=packs))

    monkeypatch.setattr(heads, "write", write)
    assert "it opens, but is not the one that the head names" in told(yard)


def test_an_object_that_does_not_belong_is_noticed_and_named(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Git.tree

    def tree(self: Git, items: list[Item]) -> str:
        extra = [replace(items[0], name=b"ffffffffffffffff")] if len(items[0].name) == 16 else []
        return honest(self, [*items, *extra])

    monkeypatch.setattr(Git, "tree", tree)
    said = told(yard)
    assert "packs/ffffffffffffffff: it does not belong to the backup" in said


def test_another_commit_with_the_same_files_is_noticed(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can push could leave everything as it is but the history."""
    honest = drill.fetch

    def fetch(*rest: Any) -> Any:
        found = honest(*rest)
        same = found.git.word("rev-parse", f"{found.commit}^{{tree}}")
        return replace(found, commit=found.git.commit(same, found.commit))

    monkeypatch.setattr(drill, "fetch", fetch)
    assert "the remote's branch is at" in told(yard)


def test_a_ledger_that_came_back_otherwise_is_noticed(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = snapshot.Copy.lines

    def lines(self: snapshot.Copy, since: int) -> Any:
        return (line for line in honest(self, since) if '"external"' not in line and '"end"' not in line[:40])

    monkeypatch.setattr(snapshot.Copy, "lines", lines)
    assert "the ledger that came back is not the one that was sealed" in told(yard)


def test_a_content_of_another_hash_is_noticed(yard: Yard, tmp_path: Path) -> None:
    """The seal holds, the bytes do not have the hash they stand under; the set would restore them."""
    from backup import packs

    honest = packs.Packer.add

    def add(self: Any, digest: bytes, total: int, blocks: Any) -> None:
        data = b"".join(blocks)
        honest(self, digest, total, [data[::-1]] if data else [])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packs.Packer, "add", add)
        assert "it does not have this hash" in told(yard)


def test_every_object_that_is_damaged_is_named(yard: Yard, tmp_path: Path) -> None:
    yard.run()
    yard.room.lay("more.md", os.urandom(5000))
    yard.run()
    fetched = drill.fetch(read_state(yard.places), tmp_path / "f.git", os.environ)
    holdings = Holdings(fetched.git, fetched.commit, keys.parse(yard.key))
    torn = {name: item for name, item in holdings.items.items() if name.startswith("packs/")}
    for name, item in torn.items():
        data = bytearray(fetched.git.run("cat-file", "blob", item.id))
        data[len(data) // 2] ^= 1
        made = fetched.git.word("hash-object", "-w", "--stdin", stdin=bytes(data))
        holdings.items[name] = replace(item, id=made)
    faults = holdings.damaged(lambda done, total: None, None)
    assert [fault.partition(":")[0] for fault in faults] == [one.name for one in holdings.head.packs]
