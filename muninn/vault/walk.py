"""Walk the vault's names, folder by folder, without reading a byte of a note."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from muninn.model.content import BadPath, NotePath, is_temporary
from muninn.model.errors import VaultUnavailableError
from muninn.model.listing import Entry, Fault, Stamp

from .look import Opened, open_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACEHOLDER = re.compile(r"\.(.+)\.icloud\Z")


def walk(root: int, folder: str, depth: int | None) -> Iterator[Entry | Fault]:
    """Entries below ``folder`` (``""`` is the root), each folder before what lies in it."""
    start = _open(root, folder)
    if start is None:
        return
    # One descriptor a level, however many folders lie beside one another.
    way = [_Level(start.descriptor, start.stored, folder)]
    try:
        yield from _one_folder(way[-1])
        while way:
            level = way[-1]
            if not level.folders or (depth is not None and len(way) >= depth):
                os.close(way.pop().descriptor)
                continue
            name, inner = level.folders.pop()
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=level.descriptor)
            except OSError as error:
                yield Fault(inner.path, f"the folder cannot be opened ({os.strerror(error.errno or 0)})")
                continue
            way.append(_Level(descriptor, inner.stored, inner.path))
            yield from _one_folder(way[-1])
    finally:
        for level in way:
            os.close(level.descriptor)


@dataclass(slots=True)
class _Level:
    """A folder on the way down, and the folders in it that are still to be walked."""

    descriptor: int
    stored: str
    shown: str
    folders: list[tuple[str, Entry]] = field(default_factory=list)


def _open(root: int, folder: str) -> Opened | None:
    if not folder:
        return Opened(os.dup(root), "")
    inside = NotePath.parse(f"{folder}/x")
    opened = None if isinstance(inside, BadPath) else open_folder(root, inside)
    return opened if isinstance(opened, Opened) else None


def _one_folder(level: _Level) -> Iterator[Entry | Fault]:
    try:
        names = os.listdir(level.descriptor)
    except OSError as error:
        if not level.shown:
            raise VaultUnavailableError(
                f"the vault's root cannot be listed ({os.strerror(error.errno or 0)})"
            ) from error
        yield Fault(level.shown, f"the folder cannot be listed ({os.strerror(error.errno or 0)})")
        return
    for name in names:
        found = _entry(level.descriptor, name, level.stored, level.shown)
        if found is None:
            continue
        if isinstance(found, Entry) and found.kind == "folder":
            level.folders.append((name, found))
        yield found


def _entry(descriptor: int, name: str, stored: str, shown: str) -> Entry | Fault | None:
    """What one name is: an entry, a fault, or None for what is neither note nor attachment."""
    full_stored = f"{stored}/{name}" if stored else name
    if name.startswith("."):
        placeholder = _PLACEHOLDER.match(name)
        path = NotePath.parse(f"{shown}/{placeholder[1]}" if shown else placeholder[1]) if placeholder else None
        return Entry(path, "elsewhere", None, full_stored) if isinstance(path, NotePath) else None
    if is_temporary(name):
        return None
    full = f"{shown}/{name}" if shown else name
    path = NotePath.below(shown, name)
    if isinstance(path, BadPath):
        shown_name = full.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return Fault(shown_name, f"the name cannot be used through the door: {path.why}")
    try:
        seen = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Fault(path, f"it cannot be looked at ({os.strerror(error.errno or 0)})")
    if stat.S_ISDIR(seen.st_mode):
        return Entry(path, "folder", None, full_stored)
    if not stat.S_ISREG(seen.st_mode):
        return Fault(path, "a symbolic link" if stat.S_ISLNK(seen.st_mode) else "a special file, not a regular one")
    stamp = Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
    return Entry(path, "note" if path.is_note else "attachment", stamp, full_stored)
