"""``python -P -m tests.proofs.race --rounds N``: of many writers one wins, and no outsider's byte is lost.

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

from . import race_http, race_outside, race_undo
from .table import Row, show

_MEETINGS: Final = {"rename": 7_000, "swap": 3_000, "inplace": 500, "append": 500}


def main() -> None:
    """Prove and print."""
    parser = argparse.ArgumentParser(prog="tests.proofs.race", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="rounds of fifty writers on one hash")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most so long against each outsider")
    parser.add_argument("--only", metavar="KIND", help=f"one of: http {' '.join(_MEETINGS)} undo")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # what breaks on purpose is told in the table

    def outside(manner: str) -> Callable[[Path], Row]:
        return lambda folder: race_outside.prove(folder, _MEETINGS[manner], manner, seconds=asked.seconds)

    kinds: dict[str, Callable[[Path], Row]] = {
        "http": lambda folder: race_http.prove(folder, asked.rounds),
        **{manner: outside(manner) for manner in _MEETINGS},
        "undo": lambda folder: race_undo.prove(folder, max(5, asked.rounds // 10)),
    }
    rows: list[Row] = []
    run = Path(".run").absolute()
    run.mkdir(exist_ok=True)
    for kind, prove in kinds.items():
        if asked.only in (None, kind):
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix=f"proof-{kind}-", dir=run) as folder:
                rows.append(prove(Path(folder)))
            print(f"  {kind}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    sys.exit(0 if show(rows) else 1)


if __name__ == "__main__":
    main()
