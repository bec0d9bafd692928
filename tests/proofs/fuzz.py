"""``python -P -m tests.proofs.fuzz --n N``: nothing that is sent brings the gateway down or an inner error up.

Held: no status from 500 on, no internal error, no restart, no Traceback in the log, no growth of memory, and every
body is JSON-RPC or a short JSON error. Exit status 1, with the smallest request that does it, where that fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .asking import Asker, Shot
from .drawing import Known
from .judging import fault, shown, smallest
from .serving import Proved, made
from .wire import Reply, Wire

_THREADS: Final = 4
_GROWTH_MB: Final = 20.0
_WARM: Final = 0.25
"""The share of the run after which memory is expected to stand."""
_FEW: Final = 20_000
"""Below so many requests growth says nothing: the caches are still filling."""


@dataclass(slots=True)
class Run:
    """What a run has seen so far."""

    n: int
    sent: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failed: list[tuple[str, Shot]] = field(default_factory=list)
    latest: deque[Shot] = field(default_factory=lambda: deque(maxlen=400))
    memory: list[tuple[float, int, float]] = field(default_factory=list)
    """(seconds, requests so far, resident MB)"""
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)


def main() -> None:
    """Send, and tell."""
    parser = argparse.ArgumentParser(prog="tests.proofs.fuzz", description=__doc__)
    parser.add_argument("--n", type=int, default=200_000, metavar="N", help="how many requests")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proof-fuzz-") as folder:
        sys.exit(0 if prove(Path(folder), asked.n, asked.seed) else 1)


def prove(folder: Path, n: int, seed: int) -> bool:
    """Send ``n`` requests from four threads. Prints what was found; gives whether all held."""
    with made(folder, 50) as place:
        place.begin()
        run, began = Run(n), time.monotonic()
        threads = [
            threading.Thread(target=_fire, args=(place, run, seed * 1000 + number)) for number in range(_THREADS)
        ]
        for thread in threads:
            thread.start()
        _watch(place, run, began, threads)
        took = time.monotonic() - began
        print(f"{run.sent} requests in {took:.0f} s, {run.sent / took:.0f} a second, seed {seed}")
        print(
            "statuses:", ", ".join(f"{status or 'hung up'}: {count}" for status, count in sorted(run.statuses.items()))
        )
        return all([_memory_held(run), _nothing_failed(place, run)])


def _fire(place: Proved, run: Run, seed: int) -> None:
    known, wire = Known(), Wire(place.port)
    asker = Asker(random.Random(seed), known, place.port, place.tokens["a"])
    while not run.stop.is_set():
        shot = asker.draw()
        reply = wire.send(shot.bytes(), shot.method, lawful=shot.lawful)
        why = fault(shot, reply)
        with run.lock:
            run.sent += 1
            run.statuses[reply.status] += 1
            run.latest.append(shot)
            if why is not None:
                run.failed.append((why, shot))
                run.stop.set()
            if run.sent >= run.n:
                run.stop.set()
        _learn(known, reply)
    wire.close()


def _learn(known: Known, reply: Reply) -> None:
    if reply.status == 200 and b"structuredContent" in reply.body[:200_000]:
        found = json.loads(reply.body)
        known.learn(found["result"].get("structuredContent") if isinstance(found, dict) else None)


def _watch(place: Proved, run: Run, began: float, threads: list[threading.Thread]) -> None:
    """Note memory and watch the log while the threads fire."""
    assert place.process is not None
    log, seen = place.folder / "log", 0
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.5)
        with log.open("rb") as lines:
            lines.seek(seen)
            new = lines.read()
        seen += len(new)
        if b"Traceback" in new or place.died(0.0):
            with run.lock:
                what = "a Traceback in the log" if b"Traceback" in new else "the gateway is gone"
                run.failed.extend((what, shot) for shot in reversed(run.latest))
                run.stop.set()
        try:
            run.memory.append((time.monotonic() - began, run.sent, _resident_mb(place.process.pid)))
        except OSError:
            run.stop.set()


def _resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _memory_held(run: Run) -> bool:
    """Compare the mean of the last tenth with that right after the warm-up."""
    warm = [mb for _, sent, mb in run.memory if _WARM * run.n <= sent <= (_WARM + 0.1) * run.n]
    last = [mb for _, sent, mb in run.memory if sent >= 0.9 * run.n]
    if not warm or not last:
        print("memory: not judged, the run was too short")
        return True
    growth = sum(last) / len(last) - sum(warm) / len(warm)
    slope = growth / (0.65 * run.n) * 10_000
    print(f"memory: {warm[0]:.0f} MB warm, {last[-1]:.0f} MB at the end, {slope:+.2f} MB per 10,000 requests")
    if growth > _GROWTH_MB and run.n >= _FEW:
        print(f"BROKEN memory grew by {growth:.1f} MB after the warm-up; {_GROWTH_MB:.0f} are allowed")
        return False
    return True


def _nothing_failed(place: Proved, run: Run) -> bool:
    if not run.failed:
        return True
    print(f"BROKEN {run.failed[0][0]}; looking for the smallest request that does it")
    for _, shot in run.failed:
        why = _why(place, shot)
        if why is not None:
            print(f"  {why}: {shown(_smallest(place, shot, why))}")
            print(f"  the log ends: {place.log()[-1500:]}")
            return False
    print(f"  none of the latest does it alone; the first was {shown(run.failed[0][1])}")
    print(f"  the log ends: {place.log()[-1500:]}")
    return False


def _smallest(place: Proved, shot: Shot, why: str) -> Shot:
    return smallest(shot, lambda smaller: _why(place, smaller) == why)


def _why(place: Proved, shot: Shot) -> str | None:
    """What a request brings about when it is sent alone."""
    if place.died(0.0):
        place.begin()
    before = place.log().count("Traceback")
    wire = Wire(place.port)
    reply = wire.send(shot.bytes(), shot.method, lawful=shot.lawful)
    wire.close()
    if place.died(0.05):
        return "the gateway is gone"
    if place.log().count("Traceback") > before:
        return "a Traceback in the log"
    return fault(shot, reply)


if __name__ == "__main__":
    main()
