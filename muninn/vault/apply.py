"""Bring one path from its bytes before to its bytes after, and look at what came out.

The new bytes go into a temp file beside the target and are flushed first. Then the two names are
exchanged, and what came out must be the revision the plan was made for; if somebody wrote around the door
in that instant the names are exchanged back and nothing is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from typing import Final

from muninn.model import seams
from muninn.model.change import Absent, Blocked, Change
from muninn.model.content import MISSING, Basis, ContentHash, NotePath

from . import exchange
from .look import Opened, look, open_folder, read_all, spelled

_OUR_TEMP = re.compile(r"\.muninn-[0-9a-f]{16}\.tmp\Z")
_F_FULLFSYNC: Final = getattr(fcntl, "F_FULLFSYNC", None)
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Placed:
    """The path holds the bytes of ``after``. ``swept`` are bytes that came in around the door and were moved aside."""


@dataclass(frozen=True, slots=True)
class Drifted:
    """The path held neither ``before`` nor ``after``: it was left alone. ``content`` is what was found there."""

    found: Basis | None
    content: bytes | None = field(default=None, repr=False)


Applied = Placed | Drifted


def apply(root: int, change: Change, content: bytes | None) -> Applied:
    """Carry out one change below the root's descriptor. Raises OSError with the path as it was before."""
    folder = open_folder(root, change.path)
    if not isinstance(folder, Absent) or change.after is MISSING:
        return _apply_in(root, folder, change, content)
    made: list[str] = []
    try:
        applied = _apply_in(root, _make_folders(root, change.path, made), change, content)
    except OSError:
        _unmake_folders(root, made)
        raise
    if isinstance(applied, Drifted):
        _unmake_folders(root, made)
    return applied


def _apply_in(root: int, folder: Opened | Absent | Blocked, change: Change, content: bytes | None) -> Applied:
    match folder:
        case Opened():
            pass
        case Absent():
            return Placed() if change.after is MISSING else Drifted(MISSING)
        case Blocked():
            return Drifted(None)
    try:
        name = spelled(folder.descriptor, change.path.name) or change.path.name
        if change.after is MISSING:
            return _take_away(root, folder.descriptor, name, change)
        if content is None:
            raise ValueError(f"no bytes came along for {change.path}")
        return _put(root, folder.descriptor, name, change, content)
    finally:
        os.close(folder.descriptor)


def _put(root: int, folder: int, name: str, change: Change, content: bytes) -> Applied:
    temp = _write_temp(folder, change, content)
    try:
        seams.at("vault.exchange", change.path)
        if change.before is MISSING:
            exchange.rename_into_nothing(folder, temp, name)
            return Placed()
        exchanged = exchange.exchange(folder, temp, name) or _check_then_rename(root, folder, temp, name, change)
    except FileExistsError:
        _discard(folder, temp)
        return _drift(root, change.path)
    except FileNotFoundError:
        _discard(folder, temp)
        return Drifted(MISSING)
    except OSError:
        _discard(folder, temp)
        raise
    return _look_at_what_came_out(root, folder, temp, name, change) if exchanged else _drift(root, change.path)


def _look_at_what_came_out(root: int, folder: int, temp: str, name: str, change: Change) -> Applied:
    """After the exchange the temp name holds what the path held: the plan's ``before``, or an outsider's bytes."""
    if _hash_of(folder, temp) == change.before or spelled(folder, temp) is None:
        _discard(folder, temp)
        return Placed()
    # From here on the temp file may hold bytes nobody else has: it is removed only once it is known to be ours.
    with contextlib.suppress(FileNotFoundError):
        exchange.exchange(folder, temp, name)
    if _hash_of(folder, temp) == change.after:
        _discard(folder, temp)
        return _drift(root, change.path)
    content = _content_of(folder, temp)
    return Drifted(None if content is None else ContentHash.of(content), content)


def _check_then_rename(root: int, folder: int, temp: str, name: str, change: Change) -> bool:
    """Where nothing can exchange: look, then rename. Leaves no temp file; False where the path has drifted."""
    if getattr(look(root, change.path), "hash", None) != change.before:
        _discard(folder, temp)
        return False
    os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _discard(folder: int, temp: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temp, dir_fd=folder)


def _take_away(root: int, folder: int, name: str, change: Change) -> Applied:
    """Rename to a temp name, look, and remove; or rename back where the bytes are not those that were kept."""
    temp = _temp_name()
    seams.at("vault.exchange", change.path)
    try:
        exchange.rename_into_nothing(folder, name, temp)
    except FileNotFoundError:
        return Placed()
    if _hash_of(folder, temp) == change.before:
        os.unlink(temp, dir_fd=folder)
        return Placed()
    try:
        exchange.rename_into_nothing(folder, temp, name)
    except FileExistsError:
        # Something new stands there by now. Both survive: the old bytes go back to the caller to be kept.
        content = _content_of(folder, temp)
        return Drifted(None if content is None else ContentHash.of(content), content)
    return _drift(root, change.path)


def _drift(root: int, path: NotePath) -> Drifted:
    found = look(root, path)
    match found:
        case Absent():
            return Drifted(MISSING)
        case _:
            content = getattr(found, "content", None)
            return Drifted(getattr(found, "hash", None), content)


def _write_temp(folder: int, change: Change, content: bytes) -> str:
    """The bytes in a new file beside the target: all written, flushed, size and hash checked."""
    name = _temp_name()
    seams.at("vault.write", change.path)
    descriptor = os.open(name, _NEW_FILE, 0o666, dir_fd=folder)
    try:
        _write_all(descriptor, content)
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
    return name


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


def flush_folders(root: int, paths: list[NotePath]) -> None:
    """Flush the folder of each path, and the folders above it, each once: a new folder's name is durable, too."""
    flushed: set[str] = set()
    for path in paths:
        folder = open_folder(root, path)
        if not isinstance(folder, Opened):
            continue
        try:
            if folder.stored not in flushed:
                flushed.add(folder.stored)
                seams.at("vault.fsync_folder", path)
                flush(folder.descriptor)
        finally:
            os.close(folder.descriptor)


def _make_folders(root: int, path: NotePath, made: list[str]) -> Opened | Absent | Blocked:
    """Make the folders that are missing on the way, and flush the ones that got a new name. ``made`` is told each."""
    descriptor = os.dup(root)
    try:
        for way, segment in zip(path.folders, path.split("/")[:-1], strict=True):
            name = spelled(descriptor, segment)
            if name is None:
                name = segment
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o777, dir_fd=descriptor)
                    made.append(way)
                    flush(descriptor)
            try:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except NotADirectoryError:
                break
            os.close(descriptor)
            descriptor = inner
    finally:
        os.close(descriptor)
    return open_folder(root, path)


def _unmake_folders(root: int, made: list[str]) -> None:
    """Take the folders that a failed creation made out again, innermost first, as far as nobody put something in."""
    for folder in reversed(made):
        path = NotePath(folder)
        above = open_folder(root, path)
        if isinstance(above, Opened):
            try:
                with contextlib.suppress(OSError):
                    os.rmdir(path.name, dir_fd=above.descriptor)
            finally:
                os.close(above.descriptor)


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
                content = _content_of(opened.descriptor, name)
                if content is not None:
                    found.append((f"{folder}/{name}" if folder else name, content))
        finally:
            os.close(opened.descriptor)
    return found


def remove_leftover(root: int, name: str) -> None:
    """Remove one temp file that ``leftovers`` named."""
    folder, _, last = name.rpartition("/")
    inside = NotePath.parse(f"{folder}/x" if folder else "x")
    opened = open_folder(root, inside) if isinstance(inside, NotePath) and _OUR_TEMP.match(last) else None
    if isinstance(opened, Opened):
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(last, dir_fd=opened.descriptor)
        finally:
            os.close(opened.descriptor)


def _temp_name() -> str:
    return f".muninn-{secrets.token_hex(8)}.tmp"


def _hash_of(folder: int, name: str) -> ContentHash | None:
    content = _content_of(folder, name)
    return None if content is None else ContentHash.of(content)


def _content_of(folder: int, name: str) -> bytes | None:
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
