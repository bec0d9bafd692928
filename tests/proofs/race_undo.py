"""The command ``muninn undo`` beside a running gateway under load: two processes that write, one history."""

from __future__ import annotations

import json
import random
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from . import model
from .load import Worker
from .model import Finding
from .said import Ack
from .serving import Proved, made
from .table import Row


def prove(folder: Path, rounds: int, seed: int = 1) -> Row:
    """Undo what one of two clients did in the last moments, ``rounds`` times, while both go on."""
    row = Row("undo beside a gateway")
    chance, stop = random.Random(seed), threading.Event()
    with made(folder, 50) as place:
        place.begin()
        place.add("b")
        workers = [Worker(place, random.Random(chance.random()), stop, client) for client in ("a", "b")]
        threads = [threading.Thread(target=worker.work) for worker in workers]
        for thread in threads:
            thread.start()
        undone = 0
        for number in range(rounds):
            since = datetime.now(UTC).isoformat(timespec="milliseconds")
            time.sleep(chance.uniform(0.2, 0.6))
            undone += _undo(place, since, row, f"round {number}")
        stop.set()
        for thread in threads:
            thread.join()
        row.take(model.check(place.places, within=5.0))
        row.take([finding for worker in workers for finding in worker.odd])
        row.take(place.traceback())
        row.acknowledged = len(place.said.acks)
    row.rounds = rounds
    row.notes.append(f"{undone} notes undone")
    return row


def _undo(place: Proved, since: str, row: Row, about: str) -> int:
    done = place.muninn("undo", "--client", "a", "--since", since, "--json")
    if done.returncode not in (0, 1) or not done.stdout:
        row.take([Finding("answer", f"undo ended with {done.returncode}: {done.stderr[-300:]}")], about)
        return 0
    undone = [one for one in json.loads(done.stdout)["reversals"] if one["state"] == "undone"]
    with place.said.lock:
        place.said.acks += [Ack(one["path"], one["now"], one["back_to"], None) for one in undone]
    return len(undone)
