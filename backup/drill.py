"""The drill: fetch what the remote really holds into a fresh place, open all of it, restore, and compare.

Nothing of this machine's own repository is used. Only a drill that finds nothing makes a run ok.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ledger import snapshot
from muninn.model import seams

from .errors import BackupError, DamagedError
from .fetched import Holdings, Progress
from .git import Git, Item
from .places import State, remove_tree
from .restoring import Restoring, different, look
from .scratch import Scratch

_NAMED = 8
"""How many faults a message names."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fresh repository with the newest commit of the remote."""

    git: Git
    commit: str


def fetch(state: State, folder: Path, environment: Mapping[str, str]) -> Fetched:
    """Fetch the remote's branch into a new repository. Raises RemoteError."""
    remove_tree(folder)
    git = Git(folder, environment)
    git.make()
    git.fetch(state.remote, state.branch, "refs/heads/fetched")
    return Fetched(git, git.word("rev-parse", "--verify", "refs/heads/fetched^{commit}"))


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come back: the commit and counter that were pushed, the files that were there before us, the cut."""

    commit: str
    counter: int
    base: list[Item]
    table: str
    ledger: snapshot.Copy


def prove(
    state: State,
    key: bytes,
    expected: Expected,
    scratch: Scratch,
    work: Path,
    environment: Mapping[str, str],
    bar: Progress,
) -> None:
    """Fetch, open, restore and compare. Raises BackupError that names what did not hold."""
    seams.at("backup.fetch")
    fetched = fetch(state, work / "fetched.git", environment)
    faults = [] if fetched.commit == expected.commit else [_moved(fetched.commit, expected.commit)]
    holdings = _held(fetched, key, faults)
    if holdings.head.counter != expected.counter:
        faults.append(f"the head that came back has the counter {holdings.head.counter}, not {expected.counter}")
    faults += holdings.out_of_place(expected.base)
    place = _place(work)
    for found in _restored(holdings, holdings.head.newest.id, scratch, place, bar):
        faults += [fault for fault in found if fault not in faults]
    if not faults:
        look(scratch, place.vault)
        faults += different(scratch, expected.table)
        unlike = snapshot.unlike(expected.ledger, place.ledger)
        faults += [f"the ledger that came back is not the one that was sealed: {unlike}"] if unlike else []
    refuse(faults, "what the remote holds is not what was sealed")
    remove_tree(place.folder)


def fetched_before(work: Path, environment: Mapping[str, str]) -> Git:
    """The repository of the last drill."""
    return Git(work / "fetched.git", environment)


def examine(holdings: Holdings, identity: str, scratch: Scratch, work: Path, bar: Progress) -> int:
    """Restore one set and see that it holds what it says. Gives how many files. Raises BackupError."""
    place = _place(work)
    damaged, missing = _restored(holdings, identity, scratch, place, bar)
    faults = list(dict.fromkeys([*damaged, *missing]))
    if not faults:
        faults = checked(scratch, place)
    refuse(faults, f"set {identity} does not hold")
    files = scratch.count("restored", b"f")
    remove_tree(place.folder)
    return files


@dataclass(frozen=True, slots=True)
class Place:
    """Where a set is restored: a folder with the vault and the ledger in it, and one for what waits."""

    folder: Path
    vault: Path
    ledger: Path
    waiting: Path


def place_in(folder: Path) -> Place:
    """Make the folders."""
    place = Place(folder, folder / "vault", folder / "ledger.db", folder / "waiting")
    for made in (place.folder, place.vault, place.waiting):
        made.mkdir(mode=0o700)
    return place


def checked(scratch: Scratch, place: Place) -> list[str]:
    """What of a restored set is not as the set says it."""
    look(scratch, place.vault)
    fault = snapshot.first_fault(place.ledger)
    return different(scratch, "restored") + ([f"the ledger: {fault}"] if fault else [])


def restore(
    holdings: Holdings, identity: str, scratch: Scratch, place: Place, bar: Progress
) -> tuple[list[str], list[str]]:
    """Write a set out. Gives what of the repository does not open, and what of the set is therefore missing."""
    return _restored(holdings, identity, scratch, place, bar)


def _place(work: Path) -> Place:
    remove_tree(work / "restored")
    return place_in(work / "restored")


def _held(fetched: Fetched, key: bytes, faults: list[str]) -> Holdings:
    try:
        return Holdings(fetched.git, fetched.commit, key)
    except BackupError as error:
        refuse([*faults, str(error)], "what the remote holds is not what was sealed")
        raise


def _restored(
    holdings: Holdings, identity: str, scratch: Scratch, place: Place, bar: Progress
) -> tuple[list[str], list[str]]:
    try:
        holdings.resolve(identity, scratch, "restored")
        restoring = Restoring(scratch, "restored", place.vault, place.ledger, place.waiting)
    except DamagedError as error:
        return holdings.damaged(bar, None), [str(error)]
    damaged = holdings.damaged(bar, restoring)
    try:
        restoring.finish()
    except DamagedError as error:
        return damaged, [str(error)]
    return damaged, []


def _moved(found: str, pushed: str) -> str:
    return f"the remote's branch is at {found[:12]}, not at {pushed[:12]} that was pushed"


def refuse(faults: list[str], told: str) -> None:
    """Raise a DamagedError that names the faults, where there are any."""
    if faults:
        more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
        raise DamagedError(f"{told}: {'; '.join(faults[:_NAMED])}{more}")
