"""Everything below the root, hidden names too: what a backup takes. Names are bytes, as the disk has them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self

from muninn.model import seams
from muninn.model.listing import Stamp

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OUR_TEMP = re.compile(rb"\.muninn-[0-9a-f]{16}\.tmp\Z")
_GIT: Final = b".git"


@dataclass(frozen=True, slots=True)
class Seen:
    """One name: ``path`` relative to the root (b"" is the root itself). ``why`` says why a ``left`` one is left out."""

    path: bytes
    kind: Literal["file", "folder", "left"]
    mode: int
    stamp: Stamp
    why: str = ""


def everything(root: int) -> Iterator[Seen]:
    """Each folder before what lies in it, names in the order of their bytes.

    Left out, and said: symbolic links, special files, ``.git``, and the temp files of a gateway. Raises OSError for a
    folder that cannot be listed: what lies in it is not left out without a word.
    """
    seen = os.fstat(root)
    yield Seen(b"", "folder", stat.S_IMODE(seen.st_mode), _stamp(seen))
    yield from _inside(os.dup(root), b"")


class Files:
    """Opens regular files below a root, folder by folder and through no link; the folder of the last one stays open."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._folder: tuple[bytes, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._leave()

    def open(self, path: bytes) -> int:
        """A descriptor of the file at a path. Raises OSError."""
        seams.at("vault.read", os.fsdecode(path))
        above, _, name = path.rpartition(b"/")
        return os.open(name, _FILE, dir_fd=self._enter(above))

    def _enter(self, path: bytes) -> int:
        if self._folder is not None and self._folder[0] == path:
            return self._folder[1]
        self._leave()
        descriptor = os.dup(self._root)
        try:
            for name in path.split(b"/") if path else ():
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        except OSError:
            os.close(descriptor)
            raise
        self._folder = (path, descriptor)
        return descriptor

    def _leave(self) -> None:
        if self._folder is not None:
            os.close(self._folder[1])
            self._folder = None


def _inside(folder: int, path: bytes) -> Iterator[Seen]:
    # A list of open folders in place of recursion: however deep the vault, Python's own stack stays flat.
    way = [(folder, path, _names(folder))]
    try:
        while way:
            descriptor, above, names = way[-1]
            name = next(names, None)
            if name is None:
                os.close(way.pop()[0])
                continue
            seen = _one(descriptor, above + b"/" + name if above else name, name)
            if seen is None:
                continue
            yield seen
            if seen.kind == "folder":
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
                way.append((inner, seen.path, _names(inner)))
    finally:
        for descriptor, _, _ in way:
            os.close(descriptor)


def _names(folder: int) -> Iterator[bytes]:
    return iter(sorted(map(os.fsencode, os.listdir(folder))))


def _one(folder: int, path: bytes, name: bytes) -> Seen | None:
    try:
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    mode, stamp = stat.S_IMODE(seen.st_mode), _stamp(seen)
    if name == _GIT:
        return Seen(path, "left", mode, stamp, "git's own")
    if stat.S_ISDIR(seen.st_mode):
        return Seen(path, "folder", mode, stamp)
    if stat.S_ISLNK(seen.st_mode):
        return Seen(path, "left", mode, stamp, "a symbolic link")
    if not stat.S_ISREG(seen.st_mode):
        return Seen(path, "left", mode, stamp, "a special file")
    if _OUR_TEMP.match(name):
        return Seen(path, "left", mode, stamp, "a temporary file of the gateway")
    return Seen(path, "file", mode, stamp)


def _stamp(seen: os.stat_result) -> Stamp:
    return Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
