"""Temp files: written beside their target, flushed and checked before they take its place; known again by name.

A temp file of ours may hold bytes that nobody else has: it is removed only where that is known not to be so.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import sys
from dataclasses import dataclass
from typing import Final

from muninn.model import seams
from muninn.model.change import Change
from muninn.model.content import ContentHash, NotePath

from .look import Opened, open_folder, read_all

_OUR_TEMP = re.compile(r"\.muninn-[0-9a-f]{16}\.tmp\Z")
_F_FULLFSYNC: Final = getattr(fcntl, "F_FULLFSYNC", None)
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Aside:
    """A file that was taken out of the way: its temp name relative to the root, and the hash it had then."""

    name: str
    hash: ContentHash | None


def write(folder: int, change: Change, content: bytes, like: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The bytes in a new file beside the target: all written, flushed, size and hash checked.

    ``like`` is the file it will replace: owner and extended attributes (so ACLs, too) are taken over from it. Gives
    the temp file's name, and what could not be taken over.
    """
    name = new_name()
    seams.at("vault.write", change.path)
    descriptor = os.open(name, _NEW_FILE, 0o666, dir_fd=folder)
    try:
        _write_all(descriptor, content)
        lost = () if like is None else _take_over(folder, like, descriptor)
        if change.mode is not None:
            os.fchmod(descriptor, change.mode)
        seams.at("vault.fsync", change.path)
        flush(descriptor)
        os.lseek(descriptor, 0, os.SEEK_SET)
        if ContentHash.of(read_all(descriptor, len(content))) != change.after:
            raise OSError(f"the bytes written for {change.path} do not read back the same")
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)
    return name, lost


def _take_over(folder: int, like: str, descriptor: int) -> tuple[str, ...]:
    """Owner and extended attributes of the file that will be replaced; gives what is lost."""
    try:
        model = os.open(like, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ()
    lost: list[str] = []
    try:
        seen, ours = os.fstat(model), os.fstat(descriptor)
        if (seen.st_uid, seen.st_gid) != (ours.st_uid, ours.st_gid):
            try:
                os.fchown(descriptor, seen.st_uid, seen.st_gid)
            except OSError:
                lost.append("owner")
        if seen.st_nlink > 1:
            lost.append("hard links")
        if sys.platform == "linux":
            lost += [name for name in os.listxattr(model) if not _copied(model, descriptor, name)]
    except OSError:
        lost.append("extended attributes")
    finally:
        os.close(model)
    return tuple(lost)


def _copied(model: int, descriptor: int, name: str) -> bool:
    try:
        os.setxattr(descriptor, name, os.getxattr(model, name))
    except OSError:
        return False
    return True


def _write_all(descriptor: int, content: bytes) -> None:
    # On a nearly full disk os.write returns short without an error, so it is asked again until it says so.
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def flush(descriptor: int) -> None:
    """Make a file or folder durable; on macOS down to the platter, which plain fsync does not promise there."""
    if _F_FULLFSYNC is not None:
        fcntl.fcntl(descriptor, _F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def leftovers(root: int, folders: set[str]) -> list[tuple[str, bytes]]:
    """Our own temp files in these folders, with their bytes."""
    found = []
    for folder in sorted(folders):
        inside = NotePath.parse(f"{folder}/x" if folder else "x")
        opened = open_folder(root, inside) if isinstance(inside, NotePath) else None
        if not isinstance(opened, Opened):
            continue
        try:
            for name in filter(_OUR_TEMP.match, os.listdir(opened.descriptor)):
                content = content_of(opened.descriptor, name)
                if content is not None:
                    found.append((f"{folder}/{name}" if folder else name, content))
        finally:
            os.close(opened.descriptor)
    return found


def release(root: int, aside: Aside) -> bytes | None:
    """Look at a held file once more and remove it. Gives its bytes, and leaves it, where somebody wrote into it."""
    folder, _, last = aside.name.rpartition("/")
    opened = _open_for_temp(root, folder, last)
    if opened is None:
        return None
    try:
        content = content_of(opened.descriptor, last)
        if content is not None and ContentHash.of(content) != aside.hash:
            return content
        discard(opened.descriptor, last)
        return None
    finally:
        os.close(opened.descriptor)


def _open_for_temp(root: int, folder: str, name: str) -> Opened | None:
    inside = NotePath.parse(f"{folder}/x" if folder else "x")
    opened = open_folder(root, inside) if isinstance(inside, NotePath) and _OUR_TEMP.match(name) else None
    return opened if isinstance(opened, Opened) else None


def remove_leftover(root: int, name: str) -> None:
    """Remove one temp file that ``leftovers`` named."""
    folder, _, last = name.rpartition("/")
    opened = _open_for_temp(root, folder, last)
    if opened is not None:
        try:
            discard(opened.descriptor, last)
        finally:
            os.close(opened.descriptor)


def new_name() -> str:
    """A name that no other writer takes."""
    return f".muninn-{secrets.token_hex(8)}.tmp"


def hash_of(folder: int, name: str) -> ContentHash | None:
    """The hash of a regular file, None for anything else."""
    content = content_of(folder, name)
    return None if content is None else ContentHash.of(content)


def content_of(folder: int, name: str) -> bytes | None:
    """The bytes of a regular file, None for anything else that was put there."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        seen = os.fstat(descriptor)
        return read_all(descriptor, seen.st_size) if stat.S_ISREG(seen.st_mode) else None
    finally:
        os.close(descriptor)


def discard(folder: int, temp: str) -> None:
    """Remove a temp file. One that cannot be removed now stays for the sweep of the next start: the names are
    exchanged by then, and a write that has landed must not be told as failed."""
    with contextlib.suppress(OSError):
        os.unlink(temp, dir_fd=folder)
