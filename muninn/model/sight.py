"""What a look at one path of the vault finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from .content import MISSING, Basis, ContentHash, NotePath


@dataclass(frozen=True, slots=True)
class File:
    """A regular file at its exact bytes. ``stored`` is the name on disk, maybe in another Unicode form."""

    path: NotePath
    stored: str
    content: bytes = field(repr=False)
    hash: ContentHash
    mode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing is there. ``twin`` names an existing path that differs only in case or Unicode form."""

    path: NotePath
    twin: str | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something is there that is no regular file, or a folder on the way is none."""

    path: NotePath
    what: Literal["folder", "symbolic link", "special file", "a file where a folder is needed", "larger than 64 MiB"]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A cloud placeholder: the file exists, but not here and now."""

    path: NotePath


@dataclass(frozen=True, slots=True)
class TooMuch:
    """A regular file of more bytes than the look was allowed to read; none of them was read."""

    path: NotePath
    size: int


Sight = File | Absent | Blocked | Elsewhere


OTHER: Final = ContentHash("")
"""Stands for bytes that were not read, and that are not those which are asked about."""


def basis_of(sight: Sight) -> Basis | None:
    """The basis that a look found; None where what is there has none."""
    match sight:
        case File():
            return sight.hash
        case Absent():
            return MISSING
        case Blocked() | Elsewhere():
            return None


def told(basis: Basis | None) -> str | None:
    """A basis as clients are told it: a hash or ``missing``; None where no bytes were read."""
    return None if basis is None else str(basis) or None
