"""Look at a path and read no more bytes than allowed: for questions that may touch many files within a budget."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from muninn.model import seams
from muninn.model.content import ContentHash, NotePath
from muninn.model.sight import Absent, File, Sight, TooMuch

from .look import Opened, look, open_folder, spelled

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_AT_ONCE: Final = 1 << 20


def look_within(root: int, path: NotePath, most: int) -> Sight | TooMuch:
    """What stands at ``path`` below the root's descriptor; ``TooMuch`` for a file of more than ``most`` bytes.

    Not a byte beyond ``most`` is read, also where the file grows meanwhile.
    """
    folder = open_folder(root, path)
    if not isinstance(folder, Opened):
        return folder
    try:
        name = spelled(folder.descriptor, path.name)
        descriptor = None if name is None else _open(folder.descriptor, name)
        if name is None or descriptor is None:
            # Nothing that could be read: why is told as by every look.
            return look(root, path)
        try:
            return _read(descriptor, path, f"{folder.stored}/{name}" if folder.stored else name, most)
        finally:
            os.close(descriptor)
    finally:
        os.close(folder.descriptor)


def _open(folder: int, name: str) -> int | None:
    """A regular file's descriptor, None for anything else."""
    try:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return None
        return os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        return None


def _read(descriptor: int, path: NotePath, stored: str, most: int) -> Sight | TooMuch:
    seams.at("vault.read", path)
    seen = os.fstat(descriptor)
    if not stat.S_ISREG(seen.st_mode):
        return Absent(path)
    if seen.st_size > most:
        return TooMuch(path, seen.st_size)
    content = os.read(descriptor, min(seen.st_size + 1, most))
    if len(content) != seen.st_size:
        content = _rest(descriptor, content, most)
    if len(content) == most and (now := os.fstat(descriptor).st_size) > most:
        return TooMuch(path, now)
    return File(path, stored, content, ContentHash.of(content), stat.S_IMODE(seen.st_mode), seen.st_mtime_ns)


def _rest(descriptor: int, content: bytes, most: int) -> bytes:
    """What a file has grown by since it was opened, up to ``most`` bytes in all."""
    pieces, left = [content], most - len(content)
    while left and (piece := os.read(descriptor, min(left, _AT_ONCE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
