"""The process that is counted by strace: writes or dry runs, each between two marks that the trace shows.

``python -P -m tests.bench.counted commit|dry_run|crowd FOLDER COUNT``, in a folder that ``place.make`` has made. A
``crowd`` is eight clients that make so many writes each, all of them between two marks.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import bare, crowd
from .noting import Writer
from .place import Place, call

MARK = "/muninn-bench-mark"
"""A name that is nowhere; asking for it shows in the trace where one write ends and the next begins."""


def main(what: str, folder: Path, count: int) -> None:
    """Warm up, then the work between marks."""
    root = folder / "vault"
    place = Place(folder, tuple(bare.notes_below(root)), 0, "")
    door = place.door()
    writer = Writer(place, door, place.rights())
    door.index.sweep(door.vault.walk, door.vault.look)
    call(door, place.rights(), "search", {"query": "change"})
    if what != "dry_run":
        writer.write(10_000)
    if what == "crowd":
        writers = crowd.crew(place, door)
        crowd.at_once(writers, 2, 10_000)
        os.access(MARK, os.F_OK)
        crowd.at_once(writers, count, 20_000)
        count = 0
    work = writer.write if what == "commit" else writer.dry_run
    for number in range(count):
        os.access(MARK, os.F_OK)
        work(20_000 + number)
    os.access(MARK, os.F_OK)
    door.index.close()
    door.ledger.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
