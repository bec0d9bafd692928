"""Looks at files and at `status`: values that can be compared later, when the files themselves have changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = "."


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a tree: what it is, its mode, and what tells its content (a file's hash, a link's target)."""

    kind: str
    mode: int
    content: str = ""


Tree = Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class FileLook:
    """What stands at one path; `data` are the bytes of a regular file, also of one behind a link."""

    kind: str
    mode: int
    data: bytes | None


@dataclass(frozen=True, slots=True)
class StatusLook:
    """What `status` said, and whether the ledger was disturbed on purpose then. None: it said nothing."""

    status: Mapping[str, Any] | None
    disturbed: bool

    def get(self, *keys: str) -> Any:
        value: Any = self.status
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


_KINDS = (
    (stat.S_ISLNK, "link"),
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
)


def _kind(mode: int) -> str:
    return next((name for fits, name in _KINDS if fits(mode)), "other")


def tree(root: Path) -> Tree:
    """Names, kinds, modes and contents of a folder and all below; the root itself may be a link and is followed."""
    top = os.path.realpath(root)
    found = {_ROOT: _entry(top)}
    if found[_ROOT].kind != "folder":
        return found
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            full = os.path.join(folder, name)
            entry = _entry(full)
            if entry.kind != "absent":
                found[os.path.relpath(full, top)] = entry
    return found


def _entry(path: str) -> Entry:
    try:
        found = os.lstat(path)
        kind = _kind(found.st_mode)
        content = os.readlink(path) if kind == "link" else ""
        if kind == "file":
            content = _digest(path, found)
    except FileNotFoundError:
        return Entry("absent", 0)
    return Entry(kind, stat.S_IMODE(found.st_mode), content)


def _digest(path: str, found: os.stat_result) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:
        return f"unreadable, {found.st_size} bytes of {found.st_mtime_ns}"


def without(seen: Tree, names: Sequence[str]) -> Tree:
    """The tree without what lies at or below some names."""
    return {
        name: entry
        for name, entry in seen.items()
        if not any(name == one or name.startswith(f"{one}/") for one in names)
    }


def regular_files(seen: Tree) -> Tree:
    """The regular files of a tree, those in .git folders left out."""
    return {name: entry for name, entry in seen.items() if entry.kind == "file" and ".git" not in name.split("/")[:-1]}


def difference(before: Tree, after: Tree, limit: int = 5) -> str:
    """What differs between two trees, in words; empty where nothing does."""
    said = [f"{name} is new" for name in after if name not in before]
    said += [f"{name} is gone" for name in before if name not in after]
    for name in before.keys() & after.keys():
        one, other = before[name], after[name]
        if one.kind != other.kind:
            said.append(f"{name} was a {one.kind}, is a {other.kind}")
        elif one.mode != other.mode:
            said.append(f"{name} had mode {one.mode:04o}, has {other.mode:04o}")
        elif one.content != other.content:
            said.append(f"{name} has other bytes")
    more = f" and {len(said) - limit} more" if len(said) > limit else ""
    return ", ".join(sorted(said)[:limit]) + more


def file_look(path: Path) -> FileLook:
    """What stands at a path; nothing but regular files is opened."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return FileLook("absent", 0, None)
    data = None
    try:
        if stat.S_ISREG(path.stat().st_mode):
            data = path.read_bytes()
    except OSError:
        data = None
    return FileLook(_kind(found.st_mode), stat.S_IMODE(found.st_mode), data)
