"""What a walk over the vault sees: names and stamps, no bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .content import NotePath


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file looks like from outside. Equal stamps are taken as unchanged bytes between two scans."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def number(self) -> int:
        """All of it as one whole number, as 1 or more or below -9. Two stamps fall together about once in 2^61."""
        return stamp_number(self.size, self.mtime_ns, self.ctime_ns, self.inode)


ATTACHMENT: Final = -3
"""Stands for the stamp of a file whose bytes nobody reads: it is as known as long as it is there."""


def stamp_number(size: int, mtime_ns: int, ctime_ns: int, inode: int) -> int:
    """``Stamp.number`` without a stamp: a walk over many files makes none for those that are as known."""
    number = hash((size, mtime_ns, ctime_ns, inode))
    return number if number > 0 or number < -9 else 10 - number


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder. ``stamp`` is None for folders; ``stored`` is the path as it is spelled on disk."""

    path: NotePath
    kind: Literal["note", "attachment", "folder", "elsewhere"]
    stamp: Stamp | None
    stored: str


LINK: Final = "a symbolic link"
"""The reason of a fault that is one: nobody follows it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A path that could not be taken in, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a former walk met, for a walk that tells only what is no more so.

    ``of`` gives for a folder (``""`` is the root) its names with the numbers of their stamps. Files with a time from
    ``since_ns`` on (and no later than ``until_ns``) may have changed behind an equal stamp, so they are told again.
    """

    of: Callable[[str], Mapping[str, int]]
    since_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class Same:
    """The end of a folder: every name in it that was not told is as known, but for ``missing``, known and not met."""

    folder: str
    missing: tuple[str, ...]
