"""``python -P -m tests.proofs.crash --rounds N``: no acknowledged write is lost, whatever breaks.

Exit status 1 where a promise does not hold.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from . import crash_disk, crash_kill, crash_points, crash_power, crash_trace
from .table import Row, show

_NOTES: Final = 5_000


def main() -> None:
    """Prove and print."""
    parser = argparse.ArgumentParser(prog="tests.proofs.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="how often a gateway under load is killed")
    parser.add_argument("--notes", type=int, default=_NOTES, metavar="N", help="notes of the vault under load")
    parser.add_argument("--only", metavar="KIND", help="one of: points kill trace disk power")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # what breaks on purpose is told in the table
    kinds: dict[str, Callable[[Path], list[Row]]] = {
        "points": lambda folder: [crash_points.prove(folder, asked.notes)],
        "kill": lambda folder: [crash_kill.prove(folder, asked.notes, asked.rounds)],
        "trace": crash_trace.prove,
        "disk": crash_disk.prove,
        "power": lambda folder: [crash_power.prove(folder, max(3, asked.rounds // 10))],
    }
    rows: list[Row] = []
    # Beside the checkout and not where temporary files lie: those may be in memory, where a sync means nothing.
    run = Path(".run").absolute()
    run.mkdir(exist_ok=True)
    for kind, prove in kinds.items():
        if asked.only in (None, kind):
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix=f"proof-{kind}-", dir=run) as folder:
                rows += prove(Path(folder))
            print(f"  {kind}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    sys.exit(0 if show(rows) else 1)


if __name__ == "__main__":
    main()
