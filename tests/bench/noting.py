"""Measures of single notes: read, and a committed write with the share of each of its steps."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from muninn.door import Door
from muninn.model.rights import Rights
from muninn.writing import committing

from . import bare, laying
from .gates import Row, row
from .place import Place, call
from .timing import WALL, Effort, in_turn, over, percentile

Steps = dict[str, list[float]]

_STEPS: Final = (
    ("look and judge", "", "_judge"),
    ("keep the plan (ledger, durable)", "ledger", "open_together"),
    ("look again, and read back", "vault", "look_at"),
    ("note and page (temp, sync, exchange)", "vault", "apply"),
    ("sync of the folder", "vault", "flush"),
    ("end the plan (ledger, durable)", "ledger", "settle_together"),
    ("index row", "index", "nudge"),
)


def reads(place: Place, door: Door, effort: Effort) -> Row:
    """P10. Notes as they come, each read in turn by both."""
    rights = place.rights()
    paths = random.Random(3).choices(place.notes, k=min(effort.reads, len(place.notes)))
    root = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        pair = over(
            paths,
            lambda path: call(door, rights, "read", {"path": path}),
            lambda path: bare.read(root, path),
            effort.rounds,
        )
    finally:
        os.close(root)
    return row("P10", percentile(pair.subject, 0.5), percentile(pair.anchor, 0.5))


def writes(place: Place, door: Door, effort: Effort) -> tuple[Row, Steps]:
    """P13, and the seconds of each step of each write. Every write changes the note, its line on the page, and both
    index rows."""
    rights = place.rights()
    writer = Writer(place, door, rights)
    writer.write(9_000)
    page = (place.root / laying.WRITES / "index.md").read_bytes()
    anchor = bare.BareWrite(place.folder / "bare-writes")

    def sequence(number: int) -> None:
        anchor.write(writer.content(number).encode(), page + str(number).encode())

    pair = in_turn(writer.write, sequence, effort.writes, WALL)
    anchor.close()
    with _timed(door) as steps:
        for number in range(effort.writes):
            began = time.perf_counter()
            writer.write(1_000 + number)
            steps.setdefault("all", []).append(time.perf_counter() - began)
    return row("P13", *pair.medians()), steps


def shares(steps: Steps) -> list[tuple[str, float, float]]:
    """Each step with the middle of its seconds a write and its share of the whole, the rest last."""
    whole = statistics.median(steps["all"])
    found = []
    for name, _, _ in _STEPS:
        times = steps[name]
        per_write = sum(times) / len(steps["all"])
        found.append((name, per_write))
    mean = sum(steps["all"]) / len(steps["all"])
    found.append(("the rest", mean - sum(seconds for _, seconds in found)))
    return [(name, seconds, seconds / mean) for name, seconds in found] + [("a write, p50", whole, 1.0)]


class Writer:
    """Overwrites the bench's own notes in turn, each time under another title; of them only every so many from one on
    with a ``share``."""

    def __init__(self, place: Place, door: Door, rights: Rights, share: tuple[int, int] = (0, 1)) -> None:
        self._door, self._rights = door, rights
        self._paths = place.own_notes()[share[0] :: share[1]]
        self._hashes: dict[str, str] = {}
        tongue = laying.Tongue(5)
        self._texts = [laying.note(tongue, path, [], title="TITLE") for path in self._paths]

    def content(self, number: int) -> str:
        """The text of the write with this number."""
        return self._texts[number % len(self._texts)].replace("title: TITLE", f"title: Change number {number}")

    def write(self, number: int) -> Any:
        """Make a committed write."""
        path = self._paths[number % len(self._paths)]
        expected = self._hashes.get(path) or call(self._door, self._rights, "read", {"path": path}).hash
        arguments = {"path": path, "content": self.content(number), "expected_hash": expected}
        answer = call(self._door, self._rights, "write", arguments)
        if answer.state != "committed" or len(answer.changes) != 2:
            raise ValueError(f"expected a committed write of note and page, found {answer.state} {answer.changes}")
        self._hashes[path] = answer.hash
        return answer

    def dry_run(self, number: int) -> Any:
        """Judge a write, and change nothing."""
        path = self._paths[number % len(self._paths)]
        expected = self._hashes.get(path) or call(self._door, self._rights, "read", {"path": path}).hash
        arguments = {"path": path, "content": self.content(number), "expected_hash": expected, "dry_run": True}
        return call(self._door, self._rights, "write", arguments)


@contextmanager
def _timed(door: Door) -> Iterator[Steps]:
    """Clocks around the steps of ``writing.commit`` for as long as the block lasts."""
    steps: Steps = {name: [] for name, _, _ in _STEPS}
    put_back: list[tuple[Any, str, Any]] = []
    for name, owner, method in _STEPS:
        holder: Any = getattr(door, owner) if owner else committing
        put_back.append((holder, method, vars(holder).get(method)))
        setattr(holder, method, _clocked(getattr(holder, method), steps[name]))
    try:
        yield steps
    finally:
        for holder, method, before in put_back:
            if before is None:
                delattr(holder, method)
            else:
                setattr(holder, method, before)


def _clocked(work: Callable[..., Any], times: list[float]) -> Callable[..., Any]:
    def clocked(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*args, **kwargs)
        finally:
            times.append(time.perf_counter() - began)

    return clocked
