"""The head: the one object that says what belongs to a backup, with a counter that only grows.

It is sealed as all objects are, so nobody without the key can make one, or one that says something else. It names every
object with its hash: what is missing, too much, exchanged or old is found by it. The counter stands in the home, too:
an older head is noticed by whoever has seen a newer one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from .body import Reader, Sealed, Writer
from .errors import DamagedError

NAME: Final = "head"
FOLDER: Final = "muninn-backup"
"""Where all of it lies in the repository."""
_MOST: Final = 1 << 26
_REWRITES: Final = 100


@dataclass(frozen=True, slots=True)
class Object:
    """A sealed object: its name below the folder, the SHA-256 (hex) of its bytes, and its size."""

    name: str
    sha256: str
    size: int

    @classmethod
    def of(cls, sealed: Sealed) -> Object:
        """The object that a file holds."""
        return cls(sealed.name, sealed.sha256, sealed.size)


@dataclass(frozen=True, slots=True)
class SetRow:
    """A set as the head lists it."""

    id: str
    number: int
    at: str
    base: str | None
    files: int
    bytes: int
    sha256: str
    size: int

    @property
    def object(self) -> Object:
        return Object(f"sets/{self.id}", self.sha256, self.size)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """That the branch was written anew, by which counter, and which sets left it."""

    counter: int
    at: str
    dropped: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Head:
    """All that belongs together. ``base`` is the commit that was there before the first set, None where none was."""

    vault: str
    counter: int
    base: str | None
    sets: tuple[SetRow, ...]
    packs: tuple[Object, ...]
    rewrites: tuple[Rewrite, ...]

    @property
    def newest(self) -> SetRow:
        """The newest set."""
        return self.sets[-1]

    @property
    def objects(self) -> tuple[Object, ...]:
        """Every object but the head itself."""
        return (*(row.object for row in self.sets), *self.packs)

    def chain(self, identity: str) -> list[SetRow]:
        """A set and those it builds on, the first of them first. Raises DamagedError where one is missing."""
        by = {row.id: row for row in self.sets}
        way: list[SetRow] = []
        wanted: str | None = identity
        while wanted is not None:
            if wanted not in by or len(way) > len(by):
                raise DamagedError(f"set {identity}: the set {wanted} that it builds on is not there")
            way.append(by[wanted])
            wanted = by[wanted].base
        return way[::-1]


def write(file: Path, key: bytes, head: Head) -> Sealed:
    """Seal a head."""
    told = asdict(head) | {"format": 1, "rewrites": [asdict(one) for one in head.rewrites[-_REWRITES:]]}
    writer = Writer(file, key, NAME)
    try:
        writer.write(json.dumps(told, sort_keys=True, separators=(",", ":")).encode())
        writer.close()
    except BaseException:
        writer.drop()
        raise
    return Sealed(NAME, file, writer.digest, writer.size)


def read(source: Callable[[int], bytes], key: bytes) -> Head:
    """Open a head. Raises DamagedError or KeyFaultError."""
    with Reader(source, key, NAME) as opened:
        told = opened.read(_MOST)
        opened.ended()
    try:
        return _parsed(json.loads(told))
    except (ValueError, TypeError, KeyError, IndexError):
        raise DamagedError(f"{NAME}: it opens, but cannot be read") from None


def _parsed(told: dict[str, Any]) -> Head:
    if told.pop("format") != 1:
        raise DamagedError(f"{NAME}: it is of a later format: update Muninn")
    head = Head(
        told["vault"],
        told["counter"],
        told["base"],
        tuple(SetRow(**row) for row in told["sets"]),
        tuple(Object(**row) for row in told["packs"]),
        tuple(Rewrite(**(row | {"dropped": tuple(row["dropped"])})) for row in told["rewrites"]),
    )
    _ = head.newest
    return head
