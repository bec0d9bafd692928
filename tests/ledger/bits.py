"""Flip one bit of every byte of a ledger: each flip is reported by ``verify``, or changes nothing that can be read.

``python -P -m tests.ledger.bits [--events N] [--from BYTE] [--to BYTE] [--seconds S] [--step K]`` ends with
``N bytes: X reported, Y identical, 0 silent``; exit status 1 where any flip was silent. What was not reached in
the time is said, with the ``--from`` to go on with: the ledger is the same in every run with the same --events.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from unittest import mock

from ledger import blobs, chain, first_fault, records
from muninn.model.errors import LedgerUnavailableError
from tests.ledger.filled import everything, make, outcome, rows_of

_PAGE: Final = 4096
_TREES: Final = {2: 12, 5: 12, 10: 8, 13: 8}
"""Kinds of pages that are part of a tree, by their first byte, and how long their header is."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One bit of one byte, and how it was taken. ``what`` says for a silent one what reads differently."""

    offset: int
    bit: int
    how: Literal["reported", "identical", "silent"]
    what: str | None = None


def same_ledger(folder: Path, events: int) -> Path:
    """A ledger whose bytes are the same in every run: its clock is not the machine's."""
    ticks = iter(range(1_000_000_000))

    def now() -> str:
        tick = next(ticks)
        return f"2026-05-{4 + tick // 86_400:02d}T{tick // 3600 % 24:02d}:{tick // 60 % 60:02d}:{tick % 60:02d}.000Z"

    with mock.patch("ledger.append.now", now):
        return make(folder, events)


def flips(file: Path, offsets: Iterable[int]) -> Iterator[Flip]:
    """Flip a bit of each of these bytes, one at a time, in a copy; which bit changes from byte to byte."""
    whole = file.read_bytes()
    expected, rows = everything(file), rows_of(file)
    unused = gaps(whole)
    copy = file.with_name("flipped.db")
    for offset in offsets:
        bit = (offset * 5 + offset // 7) % 8
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << bit
        _lay(copy, bytes(damaged))
        if _is_reported(copy):
            yield Flip(offset, bit, "reported")
        elif unused[offset] and offset % 101:
            yield _read(offset, bit, outcome(rows_of, copy, rows))
        else:
            yield _read(offset, bit, outcome(everything, copy, expected))


def _is_reported(copy: Path) -> bool:
    with remembering():
        try:
            return first_fault(copy) is not None
        except LedgerUnavailableError:
            return True


_link = functools.lru_cache(maxsize=100_000)(chain.link)
_body = functools.lru_cache(maxsize=100_000)(records.read_body)
_unpacked = functools.lru_cache(maxsize=100_000)(blobs.unpacked)


@contextmanager
def remembering() -> Iterator[None]:
    """``verify`` with its pure parts remembered by all they are given: of a million flips each spoils one row or two,
    and the others are hashed, read and unpacked alike every time."""

    def link(previous: bytes, row: Sequence[object], changes: Sequence[Sequence[object]]) -> bytes:
        return _link(previous, tuple(row), tuple(map(tuple, changes)))

    with (
        mock.patch("ledger.chain.link", link),
        mock.patch.object(sys.modules["ledger.verify"], "read_body", _body),
        mock.patch.object(sys.modules["ledger.verify"], "unpacked", _unpacked),
    ):
        yield


def gaps(whole: bytes) -> bytearray:
    """For each byte, whether it lies between the pointers and the cells of a page, where no row and no index is.

    There the rows alone are read back, and everything at each 101st byte only.
    """
    found = bytearray(len(whole))
    for start in range(0, len(whole), _PAGE):
        head = start + (100 if start == 0 else 0)
        if whole[head] in _TREES:
            cells = int.from_bytes(whole[head + 3 : head + 5], "big")
            begin = head + _TREES[whole[head]] + 2 * cells
            end = start + int.from_bytes(whole[head + 5 : head + 7], "big")
            found[begin:end] = b"\1" * (end - begin)
    return found


def _read(offset: int, bit: int, what: str | None) -> Flip:
    return Flip(offset, bit, "identical" if what is None else "silent", what)


def _lay(copy: Path, content: bytes) -> None:
    for company in ("-wal", "-shm", "-journal"):
        copy.with_name(copy.name + company).unlink(missing_ok=True)
    copy.write_bytes(content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it over a ledger of its own."""
    parser = argparse.ArgumentParser(prog="python -P -m tests.ledger.bits", description="Flip a bit of every byte.")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="BYTE")
    parser.add_argument("--to", dest="last", type=int, default=None, metavar="BYTE", help="not included")
    parser.add_argument("--step", type=int, default=1, help="every so many bytes")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file = same_ledger(Path(folder), asked.events)
        size = file.stat().st_size
        offsets = range(asked.first, size if asked.last is None else min(asked.last, size), asked.step)
        counted, reached = _run(file, offsets, asked.seconds)
    done = sum(counted.values())
    print(f"{done} bytes: {counted['reported']} reported, {counted['identical']} identical, {counted['silent']} silent")
    if reached < offsets.stop:
        print(f"not reached: {reached} to {offsets.stop}; go on with --from {reached}")
    return 1 if counted["silent"] else 0


def _run(file: Path, offsets: range, seconds: float) -> tuple[Counter[str], int]:
    counted: Counter[str] = Counter()
    begun = told = time.monotonic()
    for flip in flips(file, offsets):
        counted[flip.how] += 1
        if flip.how == "silent":
            print(f"silent: byte {flip.offset}, bit {flip.bit}: {flip.what}", flush=True)
        now = time.monotonic()
        if now - told > 10:
            told = now
            sys.stderr.write(f"byte {flip.offset} of {offsets.stop}: {dict(counted)}, {now - begun:.0f} s\n")
        if now - begun > seconds:
            return counted, flip.offset + offsets.step
    return counted, offsets.stop


if __name__ == "__main__":
    sys.exit(main())
