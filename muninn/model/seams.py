"""Named fault points: where a test may make a step fail, wait or be overtaken.

In a normal start nothing is armed and a point costs one comparison. ``arm`` is called by the test
build alone (``muninn.faults``); the kinds stand there.
"""

from __future__ import annotations

from collections.abc import Callable

_armed: Callable[[str, str | None], object] | None = None


def arm(hook: Callable[[str, str | None], object] | None) -> None:
    """Call ``hook`` at every fault point from now on; None disarms."""
    global _armed
    _armed = hook


def at(point: str, path: str | None = None) -> object:
    """Pass a fault point. Gives None, or the value that an armed fault puts in the step's place."""
    if _armed is None:
        return None
    return _armed(point, path)
