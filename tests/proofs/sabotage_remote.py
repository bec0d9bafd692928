"""Acts of sabotage on what the remote holds: its objects, its branch, the files of its git, the way there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from tests.backup.yard import Yard
from tests.cases import remote

from .sabotage_act import Act, Arm, when

FOLDER: Final = "muninn-backup/"


def _objects(yard: Yard) -> list[tuple[str, bytes]]:
    repository = remote.Repository(yard.remote)
    names = repository.word("ls-tree", "-r", "--name-only", str(repository.tip())).split("\n")
    return [(name, repository.git("cat-file", "blob", f"{repository.tip()}:{name}")) for name in names]


def _replaced(change: Callable[[list[tuple[str, bytes]]], dict[str, bytes | None]], mode: str = "100644") -> Arm:
    """Replace the newest commit by one with other files, as somebody would who can push."""

    def act(yard: Yard) -> None:
        repository = remote.Repository(yard.remote)
        tip = repository.tip()
        assert tip is not None
        files = [
            (remote.File(os.fsencode(name), mode, "0" * 40), data) for name, data in change(_objects(yard)).items()
        ]
        repository.move(repository.commit(tip, files, tip))

    return act


def _ways(data: bytes) -> dict[str, bytes | None]:
    """One object, changed."""

    def flip(place: int) -> bytes:
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

    return {
        "bit of the version": flip(7),
        "bit of the fingerprint": flip(8),
        "bit of the salt": flip(24),
        "bit of the first chunk": flip(40),
        "bit in the middle": flip(len(data) // 2),
        "bit of the last tag": flip(len(data) - 1),
        "last byte cut": data[:-1],
        "header alone": data[:40],
        "first chunk alone": data[: 40 + 65_552] if len(data) > 40 + 65_552 else data[:60],
        "byte added": data + b"\0",
        "emptied": b"",
        "gone": None,
    }


def at_objects(night: int) -> Iterator[Act]:
    """Every object, changed in every way, cut, gone, in another's place."""
    # The run adds a pack and a set to those of the nights before, and makes the head anew.
    for which in range(3 + 2 * night):
        for way in _ways(bytes(200)):
            yield Act(f"object {which}: {way}", night, when("backup.fetch", _replaced(_one(which, way))))
        yield Act(f"object {which}: in the next one's place", night, when("backup.fetch", _replaced(_swapped(which))))


def _one(which: int, way: str) -> Callable[[list[tuple[str, bytes]]], dict[str, bytes | None]]:
    def change(objects: list[tuple[str, bytes]]) -> dict[str, bytes | None]:
        name, data = objects[which]
        return {name: _ways(data)[way]}

    return change


def _swapped(which: int) -> Callable[[list[tuple[str, bytes]]], dict[str, bytes | None]]:
    def change(objects: list[tuple[str, bytes]]) -> dict[str, bytes | None]:
        (one, first), (other, second) = objects[which], objects[(which + 1) % len(objects)]
        return {one: second, other: first}

    return change


def at_branch(night: int) -> Iterator[Act]:
    """The branch itself: moved, replayed, added to, deleted, mixed."""
    for name in (f"{FOLDER}packs/0123456789abcdef", f"{FOLDER}zz", "zz-extra-file"):
        yield Act(f"extra {name}", night, when("backup.fetch", _replaced(partial(_extra, name))))
    link = _replaced(lambda objects: {objects[-1][0]: b"/etc/passwd"}, "120000")
    yield Act("an object that is a link", night, when("backup.fetch", link))
    program = _replaced(lambda objects: {objects[0][0]: objects[0][1]}, "100755")
    yield Act("an object that is a program", night, when("backup.fetch", program))
    everything = _replaced(lambda objects: dict.fromkeys([name for name, _ in objects], None))
    yield Act("an empty tree", night, when("backup.fetch", everything))
    yield Act("foreign commit", night, when("backup.fetch", lambda yard: remote.edit(yard.remote, "foreign_commit")))
    yield Act("branch deleted", night, when("backup.fetch", _deleted))
    yield Act("foreign commit before", night, before=lambda yard: remote.edit(yard.remote, "foreign_commit"))
    if night:
        yield Act("rolled back", night, when("backup.fetch", lambda yard: remote.edit(yard.remote, "rollback")))
        yield Act("branch deleted before", night, before=_deleted)
        yield Act("old set replayed on top", night, when("backup.fetch", _replay))
        yield Act("old head among new objects", night, when("backup.fetch", _old_head))
    if night > 1:
        yield Act("rolled back before", night, before=lambda yard: remote.edit(yard.remote, "rollback"))
        yield Act("old set replayed on top before", night, before=_replay)


def _extra(name: str, _: list[tuple[str, bytes]]) -> dict[str, bytes | None]:
    return {name: b"nobody asked for this\n"}


def _deleted(yard: Yard) -> None:
    yard.git("update-ref", "-d", "refs/heads/main")


def _replay(yard: Yard) -> None:
    """A commit on top of the newest that holds what the one before held."""
    repository = remote.Repository(yard.remote)
    tip = repository.tip()
    assert tip is not None
    before = repository.parents(tip)[0]
    made = repository.word(
        "commit-tree", f"{before}^{{tree}}", "-p", tip, stdin=b"muninn backup\n", env=remote._identity()
    )
    repository.move(made)


def _old_head(yard: Yard) -> None:
    repository = remote.Repository(yard.remote)
    tip = repository.tip()
    assert tip is not None
    old = repository.git("cat-file", "blob", f"{repository.parents(tip)[0]}:{FOLDER}head")
    _replaced(lambda _: {f"{FOLDER}head": old})(yard)


def at_store(night: int) -> Iterator[Act]:
    """The files that the remote's git itself keeps: one bit, the end, the whole of one."""
    for which in range(3):
        for way in ("bit", "cut", "gone"):
            yield Act(f"file {which} of the store: {way}", night, when("backup.fetch", _stored(which, way)))


def _stored(which: int, way: str) -> Arm:
    def act(yard: Yard) -> None:
        # Those that the newest commit needs: its largest objects.
        repository = remote.Repository(yard.remote)
        tree_of = f"{repository.tip()}"
        lines = repository.word("ls-tree", "-r", "-l", tree_of).split("\n")
        largest = sorted(lines, key=lambda line: -int(line.split()[3]))[which % len(lines)].split()[2]
        file = yard.remote / "objects" / largest[:2] / largest[2:]
        if not file.exists():
            file = max((yard.remote / "objects/pack").glob("*.pack"), key=lambda pack: pack.stat().st_size)
        data = bytearray(file.read_bytes())
        file.chmod(0o600)
        if way == "gone":
            file.unlink()
        else:
            data[len(data) // 2] ^= 16
            file.write_bytes(bytes(data if way == "bit" else data[: len(data) // 2]))

    return act


def at_push(night: int) -> Iterator[Act]:
    """A push that does not arrive."""
    yield Act("hook refuses", night, before=_hook("pre-receive", "echo refused by rule >&2; exit 1"), mend=_unhook)
    yield Act(
        "hook says yes and drops it",
        night,
        before=_hook("post-receive", "git update-ref -d refs/heads/main"),
        mend=_unhook,
    )
    yield Act("too large", night, before=_limit, mend=_unlimit)
    yield Act("remote away", night, before=_away, mend=_back)
    yield Act("remote away before the push", night, when("backup.push", _away), mend=_back)
    yield Act("remote away before the fetch", night, when("backup.fetch", _away), mend=_back)
    yield Act("another push in between", night, when("backup.push", lambda y: remote.edit(y.remote, "foreign_commit")))


def _hook(name: str, does: str) -> Arm:
    def act(yard: Yard) -> None:
        file = yard.remote / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{does}\n")
        file.chmod(0o755)

    return act


def _unhook(yard: Yard) -> None:
    for file in (yard.remote / "hooks").glob("*-receive"):
        file.unlink()


def _limit(yard: Yard) -> None:
    with (yard.remote / "config").open("a") as config:
        config.write("[receive]\n\tmaxInputSize = 1000\n")


def _unlimit(yard: Yard) -> None:
    file = yard.remote / "config"
    file.write_text(file.read_text().replace("maxInputSize = 1000", "maxInputSize = 0"))


def _away(yard: Yard) -> None:
    yard.remote.rename(yard.folder / "away.git")


def _back(yard: Yard) -> None:
    (yard.folder / "away.git").rename(yard.remote)
