"""Which sets stay, and the branch written anew without the others.

The newest set of each of so many days and months stays, every set of the newest day, and the newest two always. Days
and months are those that sets were made on: a clock that jumps makes nothing older than it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Final

from . import manifest
from .body import Sealed
from .errors import DamagedError
from .fetched import Holdings
from .head import Head, Object, Rewrite, SetRow
from .packs import Contents, Packer, Piece
from .scratch import Scratch

DAILY: Final = 30
MONTHLY: Final = 12
SMALL: Final = 1 << 20
MANY: Final = 32
"""So many packs smaller than 1 MiB are put together."""
_NEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Policy:
    """How many days and months keep a set."""

    daily: int = DAILY
    monthly: int = MONTHLY


def leaving(sets: Sequence[SetRow], policy: Policy) -> tuple[str, ...]:
    """The ids of the sets that may go, oldest first. ``sets`` are in the order they were made."""
    kept = {row.id for row in sets[-_NEWEST:]}
    days: dict[str, None] = {}
    months: dict[str, None] = {}
    for row in reversed(sets):
        day, month = row.at[:10], row.at[:7]
        if (day not in days and len(days) < policy.daily) or (days and day == next(iter(days))):
            kept.add(row.id)
        if month not in months and len(months) < policy.monthly:
            kept.add(row.id)
        days.setdefault(day)
        months.setdefault(month)
    return tuple(row.id for row in sets if row.id not in kept)


def is_due(head: Head, policy: Policy) -> bool:
    """Whether sets may go, or small packs have become many."""
    return bool(leaving(head.sets, policy)) or sum(pack.size < SMALL for pack in head.packs) > MANY


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A head that names fewer sets and packs, and the objects that are new to it."""

    head: Head
    new: tuple[Sealed, ...]


class Rewriting:
    """Makes the objects of a branch without some sets, out of those that it holds."""

    def __init__(self, holdings: Holdings, key: bytes, scratch: Scratch, work: Path) -> None:
        self._from, self._key, self._scratch, self._work = holdings, key, scratch, work
        self._new: list[Sealed] = []

    def make(self, dropped: tuple[str, ...], counter: int, at: str) -> Rewritten:
        """Seal what must be sealed anew. Raises DamagedError where something does not open."""
        old = self._from.head
        kept = [row for row in old.sets if row.id not in dropped]
        self._scratch.sql.execute("DROP TABLE IF EXISTS needed; DROP TABLE IF EXISTS placed")
        self._scratch.hashes("needed")
        self._scratch.hashes("placed")
        sets = []
        for before, row in zip([None, *kept], kept, strict=False):
            sets.append(self._rebased(row, before.id if before is not None else None))
        packs = self._packs()
        why = f"{len(dropped)} sets left" if dropped else "small packs were put together"
        rewrites = (*old.rewrites, Rewrite(counter, at, dropped, why))
        head = replace(old, counter=counter, sets=tuple(sets), packs=packs, rewrites=rewrites)
        return Rewritten(head, tuple(self._new))

    # --- sets -------------------------------------------------------------------------------------

    def _rebased(self, row: SetRow, base: str | None) -> SetRow:
        """A set that builds on another one than before, or as it is; notes the contents that it needs."""
        if row.base == base:
            with self._from.git.shelf() as shelf, self._from.opened(shelf, row.object) as reader:
                self._need(manifest.read(reader)[1])
            return row
        self._scratch.table("before")
        if base is not None:
            self._from.resolve(base, self._scratch, "before")
        header = replace(self._from.resolve(row.id, self._scratch, "after"), base=base)
        file = self._work / f"rebased-{row.id}"
        sealed = manifest.write(file, self._key, header, self._needing(self._scratch.difference("before", "after")))
        self._new.append(sealed)
        return replace(row, base=base, sha256=sealed.sha256, size=sealed.size)

    def _need(self, rows: Iterable[manifest.Row]) -> None:
        for _ in self._needing(rows):
            pass

    def _needing(self, rows: Iterable[manifest.Row]) -> Iterator[manifest.Row]:
        """Rows as they are; the contents that they need are noted."""
        for key, value in rows:
            found = None if value is None else manifest.content_of(key, value)
            if found is not None:
                self._scratch.note_content("needed", *found)
            yield key, value

    # --- packs ------------------------------------------------------------------------------------

    def _packs(self) -> tuple[Object, ...]:
        """The packs that stay, and after them those that were packed anew."""
        groups = list(self._groups())
        small = sum(group.is_small for group in groups) > MANY
        stay = [group for group in groups if group.live and not group.is_worth(small)]
        for group in stay:
            for piece in self._pieces(group.packs):
                self._scratch.note_content("placed", piece.hash, piece.total)
        packer = Packer(self._work, self._key)
        try:
            anew = Contents(packer, self._scratch, "placed")
            for group in groups:
                if group.live and group.is_worth(small):
                    self._repack(group.packs, anew)
            made = packer.close()
        except BaseException:
            packer.drop()
            raise
        self._new += made
        return (*(pack for group in stay for pack in group.packs), *map(Object.of, made))

    def _groups(self) -> Iterator[_Group]:
        """Packs, with those together that a content goes on from one to the next in."""
        packs: list[Object] = []
        live = total = 0
        with self._from.git.shelf() as shelf:
            for pack in self._from.head.packs:
                packs.append(pack)
                whole = True
                for piece in self._from.pack(shelf, pack):
                    total += len(piece.data)
                    live += len(piece.data) if self._scratch.has_content("needed", piece.hash) else 0
                    whole = piece.offset + len(piece.data) == piece.total
                    # A content of no bytes counts as well: it must not be lost.
                    live += not piece.total and self._scratch.has_content("needed", piece.hash)
                if whole:
                    yield _Group(tuple(packs), live, total)
                    packs, live, total = [], 0, 0
        if packs:
            raise DamagedError(f"{packs[-1].name}: a content in it breaks off")

    def _pieces(self, packs: Sequence[Object]) -> Iterator[Piece]:
        with self._from.git.shelf() as shelf:
            for pack in packs:
                yield from self._from.pack(shelf, pack)

    def _repack(self, packs: Sequence[Object], anew: Contents) -> None:
        for digest, same in groupby(self._pieces(packs), key=lambda piece: piece.hash):
            if self._scratch.has_content("needed", digest):
                first = next(same)
                anew.take(digest, first.total, partial(_data, chain([first], same)))  # noqa: B031 - used once


@dataclass(frozen=True, slots=True)
class _Group:
    """Packs that stay or go together, and how many bytes of theirs are needed."""

    packs: tuple[Object, ...]
    live: int
    total: int

    @property
    def is_small(self) -> bool:
        return sum(pack.size for pack in self.packs) < SMALL

    def is_worth(self, small: bool) -> bool:
        """Whether packing it anew is worth it: most of it is needed no more, or it is one of many small ones."""
        return self.live * 2 < self.total or (small and self.is_small)


def _data(pieces: Iterator[Piece]) -> Iterator[bytes]:
    for piece in pieces:
        if piece.total:
            yield piece.data
