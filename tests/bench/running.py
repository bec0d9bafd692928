"""The measure of scripts: an empty one as a call of its tool, beside a bare Python that loads the engine."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from muninn.door import Door

from .gates import Row, row
from .place import Place, call
from .timing import WALL, Effort, in_turn

_BARE: Final = [sys.executable, "-c", "import quickjs"]


def measure(place: Place, door: Door, effort: Effort) -> Row:
    """P22. Script after script, so that what the pool makes good in the background is paid for in the same run."""
    rights = place.rights()
    times = effort.questions

    def script(_: int) -> None:
        if call(door, rights, "run_code", {"script": "return 1"}).value != 1:
            raise ValueError("the empty script gave something else than 1")

    def bare(_: int) -> None:
        subprocess.run(_BARE, check=True, env={})

    try:
        pair = in_turn(script, bare, times, WALL)
    finally:
        door.scripts.close()
    return row("P22", *pair.medians(), note="a child is warm for each")
