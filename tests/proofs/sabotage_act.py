"""One act of sabotage, and how something is done at a fault point of the run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from muninn.model import seams
from tests.backup.yard import Yard

Arm = Callable[[Yard], None]


@dataclass(frozen=True, slots=True)
class Act:
    """One act. ``arm`` is called in the run's own process; ``before`` changes the yard, ``mend`` takes that back.

    ``may_be_ok``: the run may end well, if what the remote holds then is whole.
    """

    name: str
    night: int
    arm: Arm = lambda yard: None
    before: Arm = lambda yard: None
    mend: Arm = lambda yard: None
    may_be_ok: bool = False
    after_s: float | None = None


def when(point: str, act: Callable[[Yard], None]) -> Arm:
    """Do something once, when a fault point is passed."""

    def arm(yard: Yard) -> None:
        done: list[bool] = []

        def hook(passed: str, path: str | None) -> None:
            if passed == point and not done:
                done.append(True)
                act(yard)

        seams.arm(hook)

    return arm


def failing(code: int) -> Arm:
    def act(yard: Yard) -> None:
        raise OSError(code, os.strerror(code))

    return act
