"""An editor around the door, in a process of its own: ``python -P -m tests.proofs.outsider MANNER FOLDER NAME SEED``.

It is told by a byte on its standard input, waits a random instant, puts its next version in place, and says on its
standard output when that was, with the version's bytes. Manners: ``rename`` replaces by rename, ``swap`` exchanges
(and so sees what it took out), ``inplace`` truncates and writes, ``append`` adds at the end.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from muninn.model.content import ContentHash

from .mounts import exchange
from .said import fresh_note


def main() -> None:
    """Serve one order a byte until the input ends."""
    manner, folder, name, seed = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    chance, longest = random.Random(seed), 0.0
    while order := sys.stdin.buffer.readline():
        longest = float(order)
        until = time.monotonic() + chance.uniform(0.0, longest)
        done = put(manner, folder, name, f"outside {seed}", until)
        os.write(1, (json.dumps(done) + "\n").encode())


def put(manner: str, folder: Path, name: str, about: str, until: float) -> dict[str, Any]:
    """Put a new version in place not before ``until``; says its hash, its moments, and what was taken out."""
    content = fresh_note(about).encode()
    if manner in ("rename", "swap"):
        return _replace(manner, folder, name, content, until)
    target = folder / name
    try:
        descriptor = os.open(target, os.O_RDWR if manner == "inplace" else os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return {"hash": None}
    try:
        _wait(until)
        if manner == "append":
            content = b"One more line of an outsider.\n"
        before = time.monotonic()
        if manner == "inplace":
            os.ftruncate(descriptor, 0)
        os.write(descriptor, content)
        whole = os.pread(descriptor, 1 << 22, 0)
        return {"hash": ContentHash.of(whole), "began": before, "ended": time.monotonic(), "text": whole.decode()}
    finally:
        os.close(descriptor)


def _replace(manner: str, folder: Path, name: str, content: bytes, until: float) -> dict[str, Any]:
    """Rename or exchange a finished file over the note."""
    new = folder / f"{name}.outside~"
    new.write_bytes(content)
    _wait(until)
    began = time.monotonic()
    swapped = manner == "swap" and _swapped(folder, new.name, name)
    if not swapped:
        new.replace(folder / name)
    ended = time.monotonic()
    took = ContentHash.of(new.read_bytes()) if swapped else None
    return {"hash": ContentHash.of(content), "began": began, "ended": ended, "took": took, "text": content.decode()}


def _swapped(folder: Path, new: str, name: str) -> bool:
    """Exchange the two names; False where the note is not there."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        exchange(descriptor, new, name)
    except FileNotFoundError:
        return False
    finally:
        os.close(descriptor)
    return True


def _wait(until: float) -> None:
    while time.monotonic() < until:
        pass


if __name__ == "__main__":
    main()
