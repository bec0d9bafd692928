"""Clocks and order: anchor and subject take turns in one run, so that whatever else the machine does hits both."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

Clock = Callable[[], int]
CPU: Final[Clock] = time.process_time_ns
WALL: Final[Clock] = time.perf_counter_ns


@dataclass(frozen=True, slots=True)
class Effort:
    """How often things are done. ``calls`` are requests of one round over HTTP, ``crowd`` writes of each of several
    clients at once, ``events`` those of the ledger that has lasted."""

    rounds: int
    questions: int
    reads: int
    writes: int
    calls: int
    crowd: int
    events: int


FULL: Final = Effort(rounds=5, questions=60, reads=300, writes=60, calls=100, crowd=30, events=1_000_000)
QUICK: Final = Effort(rounds=1, questions=10, reads=40, writes=10, calls=20, crowd=5, events=12_000)
"""For a look at whether everything is measured: the ratios mean nothing."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds of subject and anchor, in the order they were measured."""

    subject: tuple[float, ...]
    anchor: tuple[float, ...]

    def medians(self) -> tuple[float, float]:
        """The middle of each."""
        return statistics.median(self.subject), statistics.median(self.anchor)


def once(work: Callable[[], object], clock: Clock = CPU) -> float:
    """Seconds of one run."""
    began = clock()
    work()
    return (clock() - began) / 1e9


def in_turn(
    subject: Callable[[int], object],
    anchor: Callable[[int], object],
    rounds: int,
    clock: Clock = CPU,
    prepare: Callable[[int], object] = lambda _: None,
) -> Pair:
    """Anchor, subject, anchor, subject …; each is given the number of its round. One round ahead is not counted.

    ``prepare`` runs before each round, outside the clock.
    """
    subjects, anchors = [], []
    for number in range(rounds + 1):
        prepare(number)
        anchors.append(once(partial(anchor, number), clock))
        subjects.append(once(partial(subject, number), clock))
    return Pair(tuple(subjects[1:]), tuple(anchors[1:]))


def over(items: Sequence[str], subject: Callable[[str], object], anchor: Callable[[str], object], rounds: int) -> Pair:
    """The same for a list of inputs: per input the median of its rounds. All inputs once ahead, not counted."""
    subjects: list[list[float]] = [[] for _ in items]
    anchors: list[list[float]] = [[] for _ in items]
    for number in range(rounds + 1):
        for place, item in enumerate(items):
            bare, full = once(partial(anchor, item)), once(partial(subject, item))
            if number:
                anchors[place].append(bare)
                subjects[place].append(full)
    return Pair(tuple(map(statistics.median, subjects)), tuple(map(statistics.median, anchors)))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed.

    >>> percentile([4, 1, 3, 2], 0.95), percentile([4, 1, 3, 2], 0.5)
    (4, 2)
    """
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]
