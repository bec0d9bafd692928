"""The power goes: what was acknowledged before is there when the disk is mounted again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from .heard import begin, hear, start_again
from .mounts import CannotMountError, Disk
from .said import Said
from .table import Row

_WRITES = 4000


def prove(folder: Path, rounds: int, seed: int = 1) -> Row:
    """Cut the power ``rounds`` times, at a random moment, under one writer and under a crowd in turn."""
    row = Row("power cut (ext4)")
    chance = random.Random(seed)
    for number in range(rounds):
        try:
            _one(folder / str(number), chance.uniform(0.0, 0.6), row, f"round {number}", crowd=number % 2 == 1)
        except (CannotMountError, OSError) as error:
            row.skipped = str(error)
            return row
    row.notes.append("the image lies in this machine's page cache: what the file system handed down counts as written")
    return row


def _one(folder: Path, moment: float, row: Row, about: str, *, crowd: bool) -> None:
    folder.mkdir()
    disk, said = Disk(folder / "image", folder / "disk"), Said()
    try:
        (disk.folder / "vault").mkdir()
        begin(disk.folder, said)
        root = str(Path(__file__).parents[2])
        command = [sys.executable, "-P", "-m", "tests.proofs.writer", str(disk.folder), str(_WRITES)]
        command += ["--crowd"] if crowd else []
        lines: list[str] = []
        with subprocess.Popen(
            command,
            cwd=root,
            env=os.environ | {"PYTHONPATH": root},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            reading = threading.Thread(target=lines.extend, args=(writer.stdout,))
            reading.start()
            deadline = time.monotonic() + 30
            while not _acked(lines) and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(moment)
            disk.cut_power()
            writer.kill()
            writer.wait()
            reading.join()
        hear("".join(lines), said)
    finally:
        disk.pull_out()
    disk.plug_in()
    try:
        row.take(start_again(disk.folder, said), about)
    finally:
        disk.pull_out()
        (folder / "image").unlink()
    row.rounds += 1
    row.acknowledged += len(said.acks)


def _acked(lines: list[str]) -> bool:
    return any('"committed"' in line for line in lines)
