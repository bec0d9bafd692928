"""Open one path relative to the root's descriptor, and read what stands there."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from muninn.model import seams
from muninn.model.content import ContentHash, NotePath, same_name
from muninn.model.sight import Absent, Blocked, Elsewhere, File, Sight

MAX_BYTES: Final = 64 * 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Opened:
    """A folder that was reached without following a link. The caller closes the descriptor."""

    descriptor: int
    stored: str
    """The folder's path as it is spelled on disk, ``""`` for the root."""


def look(root: int, path: NotePath, twins: bool = False) -> Sight:
    """What stands at ``path`` below the root's descriptor."""
    seams.at("vault.read", path)
    folder = open_folder(root, path, twins)
    if not isinstance(folder, Opened):
        return folder
    try:
        return _look_in(folder, path, twins)
    finally:
        os.close(folder.descriptor)


def look_in(folder: Opened, path: NotePath, twins: bool = False) -> Sight:
    """The same for a path whose folder is open already; it is left open."""
    seams.at("vault.read", path)
    return _look_in(folder, path, twins)


def _look_in(folder: Opened, path: NotePath, twins: bool) -> Sight:
    name = path.name
    what = _kind_of(folder.descriptor, name)
    if what is None:
        other = _otherwise_spelled(folder.descriptor, name)
        if other is None:
            return _not_there(folder, path, twins)
        name, what = other, _kind_of(folder.descriptor, other)
    if what != "file":
        return Absent(path) if what is None else Blocked(path, what)
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder.descriptor)
    except FileNotFoundError:
        return Absent(path)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return Blocked(path, "symbolic link")
    try:
        return _read(descriptor, path, f"{folder.stored}/{name}" if folder.stored else name)
    finally:
        os.close(descriptor)


def _not_there(folder: Opened, path: NotePath, twins: bool) -> Absent | Elsewhere:
    """Why a name is not in its folder: only under another case, only as a placeholder, or not at all."""
    if twins and (twin := _twin(folder.descriptor, path.name)) is not None:
        return Absent(path, f"{folder.stored}/{twin}" if folder.stored else twin)
    placeholder = spelled(folder.descriptor, f".{path.name}.icloud") is not None
    return Elsewhere(path) if placeholder else Absent(path)


def open_folder(root: int, path: NotePath, twins: bool = False) -> Opened | Absent | Blocked:
    """Open the folder a path lies in, segment by segment, each no-follow."""
    descriptor = os.dup(root)
    stored: list[str] = []
    try:
        for segment in path.split("/")[:-1]:
            name = spelled(descriptor, segment)
            if twins and name is None and (twin := _twin(descriptor, segment)) is not None:
                os.close(descriptor)
                return Absent(path, "/".join([*stored, twin]))
            inner = _enter(descriptor, name or segment, path)
            os.close(descriptor)
            if not isinstance(inner, int):
                return inner
            descriptor = inner
            stored.append(name or segment)
    except OSError:
        os.close(descriptor)
        raise
    return Opened(descriptor, "/".join(stored))


def _enter(folder: int, name: str, path: NotePath) -> int | Absent | Blocked:
    """A folder inside a folder, never through a link."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return Absent(path)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        what = _kind_of(folder, name)
        return Blocked(path, "symbolic link" if what == "symbolic link" else "a file where a folder is needed")


def spelled(folder: int, name: str) -> str | None:
    """How a name is spelled in a folder: as asked, or in another Unicode form; None where it is not there."""
    return name if _is_there(folder, name) else _otherwise_spelled(folder, name)


def _otherwise_spelled(folder: int, name: str) -> str | None:
    """A name of the folder that is this one in another Unicode form."""
    if name.isascii():
        return None
    decomposed = unicodedata.normalize("NFD", name)
    if _is_there(folder, decomposed):
        return decomposed
    return next((found for found in os.listdir(folder) if unicodedata.normalize("NFC", found) == name), None)


def _read(descriptor: int, path: NotePath, stored: str) -> Sight:
    seen = os.fstat(descriptor)
    if not stat.S_ISREG(seen.st_mode):
        return Blocked(path, "special file")
    if seen.st_size > MAX_BYTES:
        return Blocked(path, "larger than 64 MiB")
    content = read_all(descriptor, seen.st_size)
    return File(path, stored, content, ContentHash.of(content), stat.S_IMODE(seen.st_mode), seen.st_mtime_ns)


def read_all(descriptor: int, size: int) -> bytes:
    """All bytes of an open file; one system call more than needed tells that the end was reached."""
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    pieces = [content]
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False
    return True


def _kind_of(folder: int, name: str) -> Literal["file", "folder", "symbolic link", "special file"] | None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return None
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symbolic link" if stat.S_ISLNK(mode) else "special file"


def _twin(folder: int, name: str) -> str | None:
    """Another name in the folder that only case or Unicode form tells apart from this one."""
    key = same_name(name)
    return next((found for found in os.listdir(folder) if found != name and same_name(found) == key), None)
