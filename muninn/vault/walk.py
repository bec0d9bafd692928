"""Walk the vault's names, folder by folder, without reading a byte of a note."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muninn.model.content import BadPath, NotePath, is_temporary
from muninn.model.errors import VaultUnavailableError
from muninn.model.listing import ATTACHMENT, LINK, Entry, Fault, Known, Same, Stamp, stamp_number

from .look import Opened, open_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACEHOLDER = re.compile(r"\.(.+)\.icloud\Z")


Told = Entry | Fault | Same


@dataclass(slots=True)
class Here:
    """The folder that a walk stands in: its descriptor, good for as long as ``opened`` is not None, and its path."""

    opened: Opened | None = None
    shown: str = ""


def walk(root: int, folder: str, depth: int | None, known: Known | None, here: Here) -> Iterator[Told]:
    """Entries below ``folder`` (``""`` is the root), each folder before what lies in it.

    With ``known`` names that are as known are left out, and each folder ends with what is missing in it.
    """
    start = _open(root, folder)
    if start is None:
        return
    # One descriptor a level, however many folders lie beside one another.
    way = [_Level(start.descriptor, start.stored, folder)]
    try:
        here.opened, here.shown = start, folder
        yield from _one_folder(way[-1], known)
        while way:
            here.opened = None
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
            here.opened, here.shown = Opened(descriptor, inner.stored), inner.path
            yield from _one_folder(way[-1], known)
    finally:
        here.opened = None
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


def _one_folder(level: _Level, known: Known | None) -> Iterator[Told]:
    try:
        names = os.listdir(level.descriptor)
    except OSError as error:
        if not level.shown:
            raise VaultUnavailableError(
                f"the vault's root cannot be listed ({os.strerror(error.errno or 0)})"
            ) from error
        yield Fault(level.shown, f"the folder cannot be listed ({os.strerror(error.errno or 0)})")
        return
    before = None if known is None else known.of(level.shown)
    met: set[str] = set()
    for name in names if known is None or not before else _changed(level.descriptor, names, before, known, met):
        found = _entry(level.descriptor, name, level.stored, level.shown)
        if found is None:
            continue
        if isinstance(found, Entry):
            if found.kind == "folder":
                level.folders.append((name, found))
            elif before is not None:
                met.add(found.path.name)
        yield found
    if before is not None:
        # A copy of the names, since the reader may learn of others at any time.
        yield Same(level.shown, tuple(name for name in list(before) if name not in met))


def _changed(
    descriptor: int, names: list[str], before: Mapping[str, int], known: Known, met: set[str]
) -> Iterator[str]:
    """The names of a folder that are not as known; the others are put into ``met``. Nothing is decided about a name
    here but whether it looks as it did when everything was: the rules of names do not change."""
    get, stat_of, since, until = before.get, os.stat, known.since_ns, known.until_ns
    for name in names:
        number = get(name)
        if number is None:
            yield name
            continue
        try:
            seen = stat_of(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError:
            yield name
            continue
        if number == ATTACHMENT:
            same = stat.S_ISREG(seen.st_mode)
        else:
            mtime, ctime = seen.st_mtime_ns, seen.st_ctime_ns
            same = (
                number == stamp_number(seen.st_size, mtime, ctime, seen.st_ino)
                and ctime < since
                and not since <= mtime <= until
            )
        if same:
            met.add(name)
        else:
            yield name


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
        return Fault(path, LINK if stat.S_ISLNK(seen.st_mode) else "a special file, not a regular one")
    stamp = Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
    return Entry(path, "note" if path.is_note else "attachment", stamp, full_stored)
