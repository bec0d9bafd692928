"""A gateway under load, killed at any moment and started again: what was acknowledged is there."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Final

from . import model
from .load import Worker
from .model import Finding
from .serving import Proved, made
from .table import Row

_WORKERS: Final = 4


def prove(folder: Path, notes: int, rounds: int, seed: int = 1) -> Row:
    """Kill and start ``rounds`` times, on one vault of ``notes`` small notes and its growing history."""
    row = Row("kill -9 under load")
    chance = random.Random(seed)
    with made(folder, notes) as place:
        place.begin()
        for number in range(rounds):
            _one(place, chance, row, f"round {number}")
        row.rounds = rounds
        row.acknowledged = len(place.said.acks)
        row.take(place.traceback())
        verified = place.muninn("ledger", "verify")
        if verified.returncode:
            row.take([Finding("ledger", verified.stderr[-300:])])
    return row


def _one(place: Proved, chance: random.Random, row: Row, about: str) -> None:
    stop = threading.Event()
    workers = [Worker(place, random.Random(chance.random()), stop) for _ in range(_WORKERS)]
    threads = [threading.Thread(target=worker.work) for worker in workers]
    for thread in threads:
        thread.start()
    # The clock of the kill runs from the first answer on: before it there is no load yet.
    acked, deadline = len(place.said.acks), time.monotonic() + 10
    while len(place.said.acks) == acked and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(chance.uniform(0.02, 0.8))
    place.kill()
    stop.set()
    for thread in threads:
        thread.join()
    start = place.begin()
    if start.fresh:
        row.slowest_start = max(row.slowest_start, start.seconds or 0.0)
    row.take(start.judged(), about)
    row.take(model.check(place.places, within=1.0), about)
    row.take([finding for worker in workers for finding in worker.odd], about)
