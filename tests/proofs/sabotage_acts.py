"""The acts of sabotage: every step of a run broken in turn, every object of the remote changed in every way."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from backup import places
from backup.key import new, text
from ledger.snapshot import Rebuilding
from tests.backup.yard import Yard

from .sabotage_act import Act, Arm, failing, when
from .sabotage_remote import at_branch, at_objects, at_push, at_store

_POINTS: Final = ("vault.root", "vault.read", "backup.seal", "backup.push", "backup.fetch", "backup.open")


def all_acts(nights: int) -> list[Act]:
    """Every act, for each night that it can be done in."""
    found: list[Act] = []
    for night in range(nights):
        for kind in (
            at_points,
            at_objects,
            at_branch,
            at_store,
            at_push,
            at_key,
            at_disk,
            at_clock,
            at_code,
            at_home,
            kills,
        ):
            found += kind(night)
    return found


def at_points(night: int) -> Iterator[Act]:
    """Each fault point: the disk fails, is full, the process ends."""
    for point in _POINTS:
        yield Act(f"{point} EIO", night, when(point, failing(errno.EIO)))
        yield Act(f"{point} ENOSPC", night, when(point, failing(errno.ENOSPC)))
        yield Act(f"{point} exit", night, when(point, lambda yard: os._exit(70)))


# --- this machine -----------------------------------------------------------------------------------


def at_key(night: int) -> Iterator[Act]:
    """A key that is another, short, mistyped, not private, not there."""

    def written(content: str, mode: int = 0o600) -> Arm:
        def act(yard: Yard) -> None:
            file = yard.places.key
            file.with_name("key.kept").write_text(file.read_text())
            file.write_text(content or file.read_text())
            file.chmod(mode)

        return act

    def mend(yard: Yard) -> None:
        file = yard.places.key
        file.write_text(file.with_name("key.kept").read_text())
        file.chmod(0o600)

    for name, content, mode in (
        ("another key", text(new()), 0o600),
        ("a short key", text(new())[:30], 0o600),
        ("no key in it", "\n", 0o600),
        ("a key that the world can read", "", 0o644),
        ("a key that the group can write", "", 0o620),
    ):
        yield Act(name, night, before=written(content, mode), mend=mend)
    yield Act("the key is gone", night, before=lambda y: _moved(y, "key"), mend=lambda y: _unmoved(y, "key"))


def _moved(yard: Yard, name: str) -> None:
    file = yard.places.folder / name
    file.rename(file.with_name(f"{name}.away"))


def _unmoved(yard: Yard, name: str) -> None:
    file = yard.places.folder / name
    file.with_name(f"{name}.away").rename(file)


def at_disk(night: int) -> Iterator[Act]:
    """No file may grow over a size: every step of this process and of git meets a full disk in its turn."""
    for size in (0, 1, 100, 2_000, 4_000, 8_000, 30_000, 100_000, 140_000):

        def arm(yard: Yard, size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        yield Act(f"no file over {size} bytes", night, arm, may_be_ok=night > 0 and size >= 30_000)


def at_clock(night: int) -> Iterator[Act]:
    """A clock that is wrong: the run may be ok, if it is whole."""
    for time in ("1970-01-01T00:00:00.000Z", "2025-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"):

        def arm(yard: Yard, time: str = time) -> None:
            places.now = lambda: time

        yield Act(f"clock at {time[:4]}", night, arm, may_be_ok=True)


def at_home(night: int) -> Iterator[Act]:
    """What lies in the home and the vault: gone, emptied, cut, put in place of another."""
    yield Act("the vault is gone", night, before=lambda y: _put_away(y, False), mend=_put_back)
    yield Act("the vault is empty", night, before=lambda y: _put_away(y, True), mend=_put_back)
    yield Act("the ledger is gone", night, before=_ledger_away, mend=_ledger_back)
    yield Act("the ledger is garbage", night, before=_ledger_garbage, mend=_ledger_back)
    yield Act(
        "the state is gone", night, before=lambda y: _moved(y, "state.json"), mend=lambda y: _unmoved(y, "state.json")
    )
    if night:
        yield Act("our repository is gone", night, before=lambda y: _moved(y, "repository.git"), may_be_ok=True)
        yield Act("the proof is gone", night, before=lambda y: _moved(y, "proof.json"), may_be_ok=True)


def _put_away(yard: Yard, replaced: bool) -> None:
    yard.vault.rename(yard.folder / "vault-away")
    if replaced:
        yard.vault.mkdir()


def _put_back(yard: Yard) -> None:
    if yard.vault.exists():
        yard.vault.rmdir()
    (yard.folder / "vault-away").rename(yard.vault)


def _ledger_away(yard: Yard) -> None:
    for file in yard.home.glob("ledger.db*"):
        file.rename(file.with_name("kept-" + file.name))


def _ledger_garbage(yard: Yard) -> None:
    whole = (yard.home / "ledger.db").read_bytes()
    _ledger_away(yard)
    (yard.home / "ledger.db").write_bytes(whole[: len(whole) // 2] + bytes(len(whole) // 2))


def _ledger_back(yard: Yard) -> None:
    for file in yard.home.glob("ledger.db*"):
        file.unlink()
    for file in yard.home.glob("kept-*"):
        file.rename(file.with_name(file.name.removeprefix("kept-")))


def kills(night: int) -> Iterator[Act]:
    """SIGKILL at some moment of the run."""
    for step in range(12):
        yield Act(f"killed after {step * 40} ms", night, after_s=step * 0.04, may_be_ok=True)


# --- the product itself -----------------------------------------------------------------------------


def at_code(night: int) -> Iterator[Act]:
    """Each step of the product does its work badly, without a word."""
    import backup.branch
    import backup.cut
    import backup.git
    import backup.manifest
    import backup.packs
    import backup.seal

    def swap(owner: Any, name: str, wrong: Callable[..., Any]) -> Arm:
        honest = getattr(owner, name)
        return lambda yard: setattr(owner, name, lambda *args, **more: wrong(honest, *args, **more))

    git, packs, manifest = backup.git.Git, backup.packs, backup.manifest
    acts: list[tuple[str, Arm]] = [
        ("seals other bytes", swap(backup.seal.Sealer, "write", _flipped)),
        ("pushes nothing", swap(git, "push", lambda honest, *args: None)),
        ("loses every piece", swap(packs.Packer, "_put", lambda honest, s, head, data: None)),
        ("packs other bytes", swap(packs.Packer, "_put", lambda honest, s, h, d: honest(s, h, d[::-1]))),
        ("forgets the contents", swap(packs.Packer, "close", lambda honest, self: honest(self)[1:])),
        ("forgets a row", swap(manifest, "write", lambda h, f, k, head, rows: h(f, k, head, list(rows)[1:]))),
        ("forgets the last row", swap(manifest, "write", lambda h, f, k, head, rows: h(f, k, head, list(rows)[:-2]))),
        (
            "notes another mode",
            swap(manifest, "write", lambda h, f, k, head, rows: h(f, k, head, map(_other_mode, rows))),
        ),
        ("reads other bytes", swap(backup.cut.Cut, "_copied", _misread)),
        ("restores another mode", swap(os, "fchmod", lambda honest, fd, mode: honest(fd, 0o600))),
        ("restores nothing of the ledger", swap(Rebuilding, "take", lambda honest, self, line: None)),
        ("keeps nothing in the ledger", swap(Rebuilding, "keep", lambda honest, *rest: None)),
        ("commits the tree of before", swap(backup.branch.Branch, "_tree", _stale_tree)),
    ]
    for name, arm in acts:
        yield Act(f"the product {name}", night, arm)


def _flipped(honest: Any, self: Any, data: bytes) -> Any:
    return honest(self, data[:-1] + bytes([data[-1] ^ 1]) if len(data) > 60 else data)


def _other_mode(row: tuple[bytes, bytes | None]) -> tuple[bytes, bytes | None]:
    key, value = row
    return key, value[:3] + bytes([value[3] ^ 1]) + value[4:] if key[:1] == b"f" and value else value


def _misread(honest: Any, self: Any, descriptor: int, seen: Any) -> Any:
    """What a disk would do that gives other bytes to the reader, whose hash is then of these: seen by nobody here, so
    the bytes are spoilt after they were hashed."""
    taken = honest(self, descriptor, seen)
    return replace(taken, data=taken.data[::-1]) if taken.data and len(set(taken.data)) > 1 else taken


def _stale_tree(honest: Any, self: Any, ids: dict[str, str], base: str | None) -> Any:
    newest = sorted(name for name in ids if name.startswith("sets/"))[-1]
    return honest(self, {name: digest for name, digest in ids.items() if name != newest}, base)
