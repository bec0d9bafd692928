"""What a walk over the vault sees: names and stamps, no bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .content import NotePath


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file looks like from outside. Equal stamps are taken as unchanged bytes between two scans."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder. ``stamp`` is None for folders; ``stored`` is the path as it is spelled on disk."""

    path: NotePath
    kind: Literal["note", "attachment", "folder", "elsewhere"]
    stamp: Stamp | None
    stored: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A path that could not be taken in, and the reason."""

    path: str
    reason: str
