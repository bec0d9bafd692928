"""A page of the time line as a drawing: a lane for each name, time from left to right. Numbers only; the page draws.

The same is told by the list beside it, so that nothing is known from the drawing alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from .activity import Actor, Step, actors

WIDTH: Final = 980
LANE: Final = 30
TOP: Final = 26
LEFT: Final = 130
RIGHT: Final = 14
MOST_LANES: Final = 12
_NAME: Final = 17
"""Characters of a name beside its lane."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One step: where it stands (units of the drawing), its kind, and what it is in words."""

    x: float
    y: int
    kind: str
    told: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One name with its line."""

    name: str
    shown: str
    y: int


@dataclass(frozen=True, slots=True)
class Lanes:
    """A drawing of ``WIDTH`` by ``height``. ``first`` and ``last`` are times; ``left_out`` names without a lane."""

    lanes: tuple[Lane, ...]
    dots: tuple[Dot, ...]
    first: str
    last: str
    height: int
    left_out: int


def drawn(steps: Sequence[Step]) -> Lanes | None:
    """The lanes of these steps; None where there are none."""
    if not steps:
        return None
    names = actors(steps)
    lanes = tuple(_lane(actor, row) for row, actor in enumerate(names[:MOST_LANES]))
    begin, end = _seconds(steps[-1]), _seconds(steps[0])
    heights = {lane.name: lane.y for lane in lanes}
    span = max(end - begin, 1.0)
    room = WIDTH - LEFT - RIGHT
    dots = tuple(
        Dot(round(LEFT + room * (_seconds(step) - begin) / span, 1), heights[step.who], step.kind, _told(step))
        for step in steps
        if step.who in heights
    )
    height = TOP + LANE * len(lanes) + 8
    return Lanes(lanes, dots, steps[-1].at, steps[0].at, height, len(names) - len(lanes))


def _lane(actor: Actor, row: int) -> Lane:
    name = actor.name
    shown = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    return Lane(name, shown, TOP + LANE * row + LANE // 2)


def _seconds(step: Step) -> float:
    return datetime.fromisoformat(step.at).timestamp()


def _told(step: Step) -> str:
    return f"{step.at[:19].replace('T', ' ')}: {step.who} {step.did} {step.path}"
