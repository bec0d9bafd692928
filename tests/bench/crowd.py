"""Eight clients that write different notes at once, each from its own thread, beside one that writes alone."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Final

from muninn.door import Door

from .gates import Row, row
from .noting import Writer
from .place import Place
from .timing import Effort, Pair

CLIENTS: Final = 8


def writes(place: Place, door: Door, effort: Effort) -> Row:
    """P16, as seconds a write: alone, then together, in turn; the first round is not counted."""
    writers = crew(place, door)
    alone, together = [], []
    for turn in range(effort.rounds + 1):
        first = 200_000 + turn * 10_000
        alone.append(_seconds_a_write(writers[:1], effort.crowd, first))
        together.append(_seconds_a_write(writers, effort.crowd, first + 5_000))
    found, anchor = Pair(tuple(together[1:]), tuple(alone[1:])).medians()
    return row("P16", found, anchor, f"{anchor / found:.2f} x the writes a second of one client")


def crew(place: Place, door: Door) -> list[Writer]:
    """A writer for each client, each with notes that no other writes; all notes lie in one folder."""
    rights = place.rights()
    return [Writer(place, door, replace(rights, client=f"bench-{n}"), share=(n, CLIENTS)) for n in range(CLIENTS)]


def at_once(writers: list[Writer], count: int, first: int) -> None:
    """Each writes so often, all from one moment on. Raises what one of them met."""
    barrier, met = threading.Barrier(len(writers)), list[Exception]()

    def work(writer: Writer) -> None:
        try:
            barrier.wait()
            for number in range(count):
                writer.write(first + number)
        except Exception as error:
            met.append(error)

    threads = [threading.Thread(target=work, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if met:
        raise met[0]


def _seconds_a_write(writers: list[Writer], count: int, first: int) -> float:
    began = time.perf_counter()
    at_once(writers, count, first)
    return (time.perf_counter() - began) / (len(writers) * count)
