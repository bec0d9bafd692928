"""The vault's root: opened anew for every look, and known again by the id it carries."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, overload

from muninn.model import seams
from muninn.model.change import Change
from muninn.model.content import NotePath
from muninn.model.errors import VaultUnavailableError, reason
from muninn.model.listing import Entry, Fault, Known, Same
from muninn.model.sight import Sight, TooMuch

from . import apply as applying
from . import bounded, exchange, temps
from . import look as looking
from . import walk as walking

MARK: Final = ".muninn-vault"
"""The one file that serving adds to a vault: its id, and what the gateway's lock is held on."""

_ID = re.compile(rb"[0-9a-f]{32}\n?\Z")


class Vault:
    """A folder of Markdown files. It holds no descriptor open: a root that goes away is noticed at the next look.

    ``vault_id`` is what the root must carry; with None only the root's being there is asked for (commands
    that look at a vault which was never served).
    """

    def __init__(self, root: Path, vault_id: str | None) -> None:
        self.root: Final = root
        self.id: Final = vault_id
        self._known_mark: tuple[int, int, int] | None = None
        self._exchanges: bool | None = None
        self._walked = threading.local()

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the root for one piece of work.

        Raises VaultUnavailableError where the root is missing, unreadable, suddenly empty or another vault's.
        """
        try:
            seams.at("vault.root")
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise VaultUnavailableError(f"the vault's root cannot be opened ({reason(error)})") from error
        try:
            self._recognise(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)

    def look(self, path: NotePath, *, twins: bool = False) -> Sight:
        """What stands at a path now. ``twins`` also looks for a name that differs only in case or Unicode form.

        Raises VaultUnavailableError for the root, OSError for a file that is there but cannot be read.
        """
        here: walking.Here | None = getattr(self._walked, "here", None)
        if here is not None and here.opened is not None and here.shown == path.folder:
            return looking.look_in(here.opened, path, twins)
        with self.opened() as root:
            return looking.look(root, path, twins)

    def look_at(self, paths: list[NotePath], *, twins: bool = False) -> list[Sight]:
        """One look at several paths under one opening of the root."""
        with self.opened() as root:
            return [looking.look(root, path, twins) for path in paths]

    def look_within(self, path: NotePath, most: int) -> Sight | TooMuch:
        """As ``look``, but a file of more than ``most`` bytes is told as such and not read. Raises as ``look``."""
        with self.opened() as root:
            return bounded.look_within(root, path, most)

    @overload
    def walk(self, folder: str = "", depth: int | None = None, *, known: None = None) -> Iterator[Entry | Fault]: ...
    @overload
    def walk(self, folder: str = "", depth: int | None = None, *, known: Known) -> Iterator[Entry | Fault | Same]: ...
    def walk(
        self, folder: str = "", depth: int | None = None, *, known: Known | None = None
    ) -> Iterator[Entry | Fault | Same]:
        """Every folder, note and attachment below ``folder``, folder by folder, names only.

        ``depth`` 1 is the folder itself, None all of it. Links, special files and names that cannot be addressed
        come as faults; hidden and temporary files do not come at all. A missing folder gives nothing.
        With ``known`` only what is not as known comes, and a ``Same`` at the end of each folder. During such a walk
        a look of the same thread at a note of the folder it stands in goes through the folder that is open already.
        """
        here = walking.Here()
        if known is not None:
            self._walked.here = here
        with self.opened() as root:
            yield from walking.walk(root, folder, depth, known, here)

    def apply(self, change: Change, content: bytes | None, *, hold: bool = False) -> applying.Applied:
        """Bring one path from ``before`` to ``after``; the bytes of ``after`` come along, None for an archive.

        Compares at the moment of the exchange: a file that holds neither is left as it is (``Drifted``).
        The folder is flushed by ``flush``, once for all changes of a plan. Raises OSError, with no temp file left.
        ``hold`` leaves what was replaced under a temp name, for ``release`` to look at again.
        """
        with self.opened() as root:
            return applying.apply(root, change, content, hold)

    def release(self, aside: temps.Aside) -> bytes | None:
        """Look at a held file once more and remove it. Gives its bytes, and leaves it, where somebody wrote into it."""
        with self.opened() as root:
            return temps.release(root, aside)

    def flush(self, paths: list[NotePath]) -> None:
        """Make the names of these paths durable: flush each of their folders once."""
        with self.opened() as root:
            applying.flush_folders(root, paths)

    def can_exchange(self) -> bool:
        """Whether names can be exchanged in one step here; asked of the file system once."""
        if self._exchanges is None:
            with self.opened() as root:
                self._exchanges = exchange.supported(root)
        return self._exchanges

    def sweep_leftovers(self, folders: set[str]) -> list[tuple[str, bytes]]:
        """Find what a crash left of our own temp files in these folders: (name relative to the root, bytes)."""
        with self.opened() as root:
            return temps.leftovers(root, folders)

    def remove_leftover(self, name: str) -> None:
        """Remove one temp file of ours, named as ``sweep_leftovers`` gave it."""
        with self.opened() as root:
            temps.remove_leftover(root, name)

    def _recognise(self, root: int) -> None:
        if self.id is None:
            return
        try:
            seen = os.stat(MARK, dir_fd=root, follow_symlinks=False)
            key = (seen.st_dev, seen.st_ino, seen.st_ctime_ns)
            if key == self._known_mark:
                return
            found = read_mark(root)
        except OSError as error:
            raise VaultUnavailableError(
                f"the vault's root does not carry its {MARK} file: it is suddenly empty, or another folder"
            ) from error
        if found != self.id:
            raise VaultUnavailableError(f"the vault's root carries the id of another vault in {MARK}")
        self._known_mark = key


def read_mark(root: int) -> str:
    """The id a root carries. Raises OSError where there is none, VaultUnavailableError where it is no id."""
    descriptor = os.open(MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=root)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise VaultUnavailableError(f"{MARK} in the vault is no regular file")
        content = os.read(descriptor, 100)
    finally:
        os.close(descriptor)
    if not _ID.match(content):
        raise VaultUnavailableError(f"{MARK} in the vault holds no vault id (32 hex digits); it was changed by hand")
    return content.decode().strip()


def mark_of(root: Path) -> str | None:
    """The id a root carries, None where it carries none; nothing is made. Raises VaultUnavailableError where the root
    cannot be opened, or the mark holds no id."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise VaultUnavailableError(f"the vault's root cannot be opened ({reason(error)}): {root}") from error
    try:
        return _mark(descriptor)
    finally:
        os.close(descriptor)


def _mark(root: int) -> str | None:
    try:
        return read_mark(root)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise VaultUnavailableError(f"{MARK} in the vault cannot be read ({reason(error)})") from error


def adopt(root: Path, expected: str | None) -> Vault:
    """Open a vault for serving: check the id it carries against the one the home expects, or give it one.

    Raises VaultUnavailableError where the root is missing or unreadable, carries another id than ``expected``,
    or carries none although ``expected`` says that this home's vault has one.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise VaultUnavailableError(f"the vault's root cannot be opened ({reason(error)}): {root}") from error
    try:
        found = _mark(descriptor)
        if expected is not None and found is None:
            raise VaultUnavailableError(
                f"the vault at {root} carries no {MARK}, but this home belongs to the vault {expected}. If these are "
                "other notes, give them a home of their own (--home DIR, MUNINN_HOME; with make: HOME_DIR=DIR). If "
                f"they are that vault's: is the right folder mounted? Then write that id into {MARK} and start again"
            )
        if expected is not None and found != expected:
            raise VaultUnavailableError(
                f"the vault at {root} has the id {found}, but this home belongs to the vault {expected}: "
                "give each vault a home of its own (--home DIR, MUNINN_HOME; with make: HOME_DIR=DIR)"
            )
        return Vault(root, found or _give_id(root, descriptor))
    finally:
        os.close(descriptor)


def _give_id(root: Path, opened: int) -> str:
    vault_id = secrets.token_hex(16)
    try:
        descriptor = os.open(
            MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=opened
        )
        try:
            os.write(descriptor, vault_id.encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.fsync(opened)
    except OSError as error:
        raise VaultUnavailableError(
            f"the vault cannot be written to ({reason(error)}), so it did not get its id, {MARK}: let the user who "
            f"runs the gateway write to {root}"
        ) from error
    return vault_id
