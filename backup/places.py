"""The files of the backup in the home: key, state, proof, lock, our own repository, and a folder for one run's work."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from muninn.model.moments import now as now

from .errors import BackupError

OVERDUE_H: Final = 36


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are. ``environment`` is what git's processes start from."""

    home: Path
    environment: Mapping[str, str]

    @property
    def folder(self) -> Path:
        return self.home / "backup"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def state(self) -> Path:
        return self.folder / "state.json"

    @property
    def proof(self) -> Path:
        return self.folder / "proof.json"

    @property
    def outcome(self) -> Path:
        return self.folder / "last-run.json"

    @property
    def repository(self) -> Path:
        return self.folder / "repository.git"

    @property
    def work(self) -> Path:
        return self.folder / "work"


@dataclass(frozen=True, slots=True)
class State:
    """What this machine knows of its remote.

    ``tip`` is the commit that was proven last, on whose sets the next one builds; before the first, what was there
    before us. ``expects`` is the commit that the remote's branch should be at, ``pending`` those that were on their way
    and were never proven. ``counter`` is the highest that any head was made with.
    """

    remote: str
    branch: str
    base: str | None
    fingerprint: str
    tip: str | None = None
    expects: str | None = None
    pending: tuple[str, ...] = ()
    counter: int = 0


@dataclass(frozen=True, slots=True)
class Proof:
    """What the gateway reads: when the backup was set up, and the last run that was proven. Times RFC 3339 in UTC."""

    set_up: str
    last_ok: str | None = None
    files: int | None = None
    set: str | None = None
    counter: int | None = None
    commit: str | None = None


def age_h(then: str) -> float:
    """Hours since a time; never below 0."""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(then)).total_seconds()
    return round(max(0.0, seconds / 3600), 2)


def is_overdue(then: str) -> bool:
    """Whether more than 36 hours have gone by since a time, or it lies ahead: then the clock cannot be believed."""
    hours = (datetime.now(UTC) - datetime.fromisoformat(then)).total_seconds() / 3600
    return not -1 <= hours <= OVERDUE_H


def read_state(places: Places) -> State:
    """The state. Raises BackupError where the backup is not set up."""
    try:
        found = _load(places.state)
        return State(**(found | {"pending": tuple(found["pending"])}))
    except FileNotFoundError:
        raise BackupError("the backup is not set up here: run `muninn backup init --remote URL` first") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackupError(
            f"{places.state} cannot be read ({type(error).__name__}): put it aside and run "
            "`muninn backup init --remote URL` again; the sets in the remote are found by it"
        ) from error


def write_state(places: Places, state: State) -> None:
    """Keep the state, whole or as it was."""
    _store(places.state, asdict(state))


def read_proof(places: Places) -> Proof | None:
    """The proof; None where there is none that can be read."""
    try:
        found = _load(places.proof)
        proof = Proof(**{name: found[name] for name in Proof.__slots__ if name in found})
        for time in filter(None, (proof.set_up, proof.last_ok)):
            age_h(time)
        return proof
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_proof(places: Places, proof: Proof) -> None:
    """Keep the proof, whole or as it was."""
    _store(places.proof, asdict(proof))


def write_outcome(places: Places, ok: bool, reason: str | None) -> None:
    """Keep how the last run ended, for ``status``."""
    _store(places.outcome, {"at": now(), "ok": ok, "reason": reason})


def read_outcome(places: Places) -> dict[str, Any] | None:
    """How the last run ended; None where it cannot be said."""
    try:
        return _load(places.outcome)
    except (OSError, ValueError):
        return None


def make(places: Places) -> None:
    """Make the folder, readable by its owner alone."""
    places.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    places.folder.mkdir(mode=0o700, exist_ok=True)
    places.folder.chmod(0o700)


def settled(state: State, commit: str) -> State:
    """The state after a commit was proven on the remote."""
    return replace(state, tip=commit, expects=commit, pending=())


@contextlib.contextmanager
def locked(places: Places) -> Iterator[Path]:
    """One run at a time, and an empty folder for its work. Raises BackupError at once where another run is at work.

    The lock goes with its process: what a dead run left is cleared away, and its place taken.
    """
    make(places)
    descriptor = os.open(places.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            raise BackupError(f"another backup command is at work (process {other}); wait for it to end") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        remove_tree(places.work)
        # A folder of its own: what a dead run had started may still be writing into the one it had.
        work = places.work / f"run-{token_hex(4)}"
        work.mkdir(mode=0o700, parents=True)
        try:
            yield work
        finally:
            remove_tree(places.work)
    finally:
        os.close(descriptor)


def remove_tree(folder: Path) -> None:
    """Remove a folder of ours with all that is in it, also folders that nobody may write to."""
    if not folder.exists():
        return
    for top, folders, _ in os.walk(os.fsencode(folder)):
        for name in folders:
            inner = os.path.join(top, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
    shutil.rmtree(os.fsencode(folder), ignore_errors=True)


def _load(file: Path) -> dict[str, Any]:
    found = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _store(file: Path, value: Mapping[str, Any]) -> None:
    draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as made:
            json.dump(value, made, indent=1)
            made.flush()
            os.fsync(made.fileno())
        draft.replace(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        draft.unlink(missing_ok=True)
