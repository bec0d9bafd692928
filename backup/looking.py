"""What can be asked of a backup: its sets, its state, whether it holds; and a set brought back into an empty folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import apsw

from . import drill
from . import key as keys
from . import places as placing
from .branch import Branch
from .errors import BackupError, DamagedError
from .fetched import Holdings, Progress
from .head import Head
from .places import Places
from .restoring import refuse_place
from .running import right_key
from .scratch import Scratch
from .setting_up import hidden

Stage = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of the remote found: the sets that were restored, with their files; and what is at fault."""

    sets: tuple[tuple[str, int], ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """A set that was brought back, and where to."""

    set: str
    at: str
    files: int
    vault: Path
    ledger: Path
    damaged: tuple[str, ...]
    """What else of the remote does not open; this set did not need it."""


def known_head(places: Places) -> Head | None:
    """The head as this machine knows it; None before the first set."""
    state = placing.read_state(places)
    branch = Branch(places)
    with _as_backup_errors():
        branch.git.make()
        if not branch.is_whole(state):
            state = branch.fetch_again(state)
        held = branch.holdings(state, right_key(places, state))
    return None if held is None else held.head


def status(places: Places) -> dict[str, Any]:
    """Whether and when the backup was proven, without asking the remote."""
    if not places.state.exists():
        return {"set_up": False, "last_ok": None, "age_h": None, "files": None, "overdue": False}
    state, proof = placing.read_state(places), placing.read_proof(places)
    last_ok = proof.last_ok if proof else None
    since = last_ok or (proof.set_up if proof else None)
    key_fault = _key_fault(places)
    return {
        "set_up": True,
        "remote": hidden(state.remote),
        "branch": state.branch,
        "fingerprint": state.fingerprint,
        "key_fault": key_fault,
        "last_ok": last_ok,
        "age_h": placing.age_h(last_ok) if last_ok else None,
        "files": proof.files if proof else None,
        "set": proof.set if proof else None,
        "counter": state.counter,
        "overdue": since is None or placing.is_overdue(since),
        "last_run": placing.read_outcome(places),
    }


def _key_fault(places: Places) -> str | None:
    try:
        right_key(places, placing.read_state(places))
    except BackupError as error:
        return str(error)
    return None


def verify(places: Places, every: bool, stage: Stage) -> Verified:
    """Fetch what the remote holds, open all of it, and restore the newest set, or each of them (``every``).

    Raises RemoteError where it cannot be fetched, DamagedError where its head does not open.
    """
    state = placing.read_state(places)
    key = right_key(places, state)
    with _as_backup_errors(), placing.locked(places) as work:
        with stage("fetch"):
            fetched = drill.fetch(state, work / "fetched.git", places.environment)
        holdings = Holdings(fetched.git, fetched.commit, key)
        faults = _out_of_place(places, state, holdings)
        done: list[tuple[str, int]] = []
        rows = holdings.head.sets if every else (holdings.head.newest,)
        for row in reversed(rows):
            scratch = Scratch(work / f"scratch-{row.id}.db")
            try:
                with stage(f"set {row.id}") as bar:
                    done.append((row.id, drill.examine(holdings, row.id, scratch, work, bar)))
            except DamagedError as error:
                faults.append(str(error))
            finally:
                scratch.close()
    return Verified(tuple(done), tuple(dict.fromkeys(faults)))


def _out_of_place(places: Places, state: placing.State, holdings: Holdings) -> list[str]:
    branch = Branch(places)
    branch.git.make()
    faults = []
    if holdings.head.counter < state.counter and holdings.commit != state.expects:
        faults.append(
            f"AN OLDER STATE WAS PUT BACK: its counter is {holdings.head.counter}, {state.counter} was reached"
        )
    if not branch.is_whole(replace(state, tip=None)):
        state = branch.fetch_again(state)
    return faults + holdings.out_of_place(branch.base_items(state))


def restore(places: Places, target: Path, at: str | None, apart_from: list[Path], stage: Stage) -> Restored:
    """Bring a set back into an empty or new folder: ``vault`` and ``ledger.db``. Raises BackupError.

    The set is fetched from the remote. It is written under another name beside, and gets its names when it is whole.
    """
    refuse_place(target, apart_from=apart_from)
    state = placing.read_state(places)
    key = right_key(places, state)
    with _as_backup_errors():
        was_there = target.is_dir()
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        work = Path(mkdtemp(prefix=".muninn-restore-", dir=target))
        try:
            with stage("fetch"):
                fetched = drill.fetch(state, work / "fetched.git", places.environment)
            return _brought_back(Holdings(fetched.git, fetched.commit, key), at, target, work, stage)
        finally:
            placing.remove_tree(work)
            if not was_there and not any(target.iterdir()):
                target.rmdir()


def _brought_back(holdings: Holdings, at: str | None, target: Path, work: Path, stage: Stage) -> Restored:
    row = _chosen(holdings.head, at)
    place = drill.place_in(work / "restored")
    scratch = Scratch(work / "scratch.db")
    try:
        with stage("restore") as bar:
            elsewhere, faults = drill.restore(holdings, row.id, scratch, place, bar)
        with stage("compare"):
            faults = faults or drill.checked(scratch, place)
        told = f"set {row.id} was not restored (`muninn backup list` names others, for --at)"
        drill.refuse([*faults, *elsewhere] if faults else [], told)
    finally:
        scratch.close()
    mode = place.vault.stat().st_mode & 0o7777
    place.vault.chmod(mode | 0o700)
    os.rename(place.vault, target / "vault")
    (target / "vault").chmod(mode)
    os.rename(place.ledger, target / "ledger.db")
    return Restored(row.id, row.at, row.files, target / "vault", target / "ledger.db", tuple(elsewhere))


def _chosen(head: Head, at: str | None) -> Any:
    if at is None:
        return head.newest
    found = [row for row in head.sets if row.id == at or str(row.number) == at]
    if not found:
        raise BackupError(f"there is no set {at}; `muninn backup list` names them")
    return found[0]


@contextmanager
def _as_backup_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        name = f": {error.filename}" if error.filename else ""
        raise BackupError(f"it broke off ({error.strerror or type(error).__name__}){name}") from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.CorruptError, apsw.ReadOnlyError) as error:
        raise BackupError(f"it broke off in its own tables ({type(error).__name__}); is there room?") from error


def key_text(places: Places) -> str:
    """The key in the home as text, to be written down once more."""
    return keys.text(right_key(places, placing.read_state(places)))
