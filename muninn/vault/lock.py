"""Two locks: one gateway a vault, and one writer at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muninn.model.errors import VaultUnavailableError

from .root import MARK

_here = threading.Lock()


@dataclass(frozen=True, slots=True)
class Lease:
    """Who serves a vault: kept in the home, so that a second gateway can name the first."""

    process: int
    port: int


class GatewayLock:
    """Held by a gateway on the vault's mark as long as it lives; a killed one lets go by itself."""

    def __init__(self, root: Path, note: Path) -> None:
        self._root = root
        self._file = note
        self._descriptor: int | None = None

    def take(self, port: int) -> None:
        """Take the lock and say so in the home. Raises VaultUnavailableError that names the gateway that has it."""
        descriptor = os.open(self._root / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise VaultUnavailableError(f"the vault is served already by {self._first()}; stop it first") from error
        self._descriptor = descriptor
        self.note(port)

    def note(self, port: int) -> None:
        """Write down who serves, and on which port."""
        temp = self._file.with_suffix(".tmp")
        temp.write_text(json.dumps({"process": os.getpid(), "port": port}))
        temp.chmod(0o600)
        temp.replace(self._file)

    def release(self) -> None:
        """Let go, and take the note out of the home."""
        if self._descriptor is not None:
            self._file.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def _first(self) -> str:
        lease = read_lease(self._file)
        return f"process {lease.process} on port {lease.port}" if lease else "another process (from another home)"


def read_lease(note: Path) -> Lease | None:
    """Who serves the vault, as the home says; None where nobody does or the note cannot be read."""
    try:
        found = json.loads(note.read_text())
        return Lease(int(found["process"]), int(found["port"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_served(root: Path) -> bool:
    """Whether a gateway holds the vault now. Asked by trying the lock for an instant, shared; a vault without a mark
    is served by nobody. Raises OSError where it cannot be asked."""
    try:
        descriptor = os.open(root / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def write_lock(home: Path) -> Iterator[None]:
    """One writer at a time: among the threads of this process and the processes that share this home."""
    with _here:
        descriptor = os.open(home / "write.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
