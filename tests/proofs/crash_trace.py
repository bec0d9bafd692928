"""System calls that fail or kill, one at a time, under a small writer: ``strace`` plays the broken disk."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from .heard import begin, hear, start_again
from .model import Finding
from .said import Said
from .table import Row

_WRITES: Final = 7
INJECTIONS: Final = (
    "fsync:error=EIO",
    "fdatasync:error=EIO",
    "rename:error=EIO",
    "renameat2:error=EIO",
    "renameat2:signal=SIGKILL",
    "unlinkat:error=EIO",
    "pwrite64:error=ENOSPC",
    "fsync:signal=SIGKILL",
    "fdatasync:signal=SIGKILL",
)
IN_A_CROWD: Final = ("fsync:error=EIO", "fdatasync:error=EIO", "fsync:signal=SIGKILL", "fdatasync:signal=SIGKILL")
"""Played once more with a crowd, whose writes share their flushes."""


def prove(folder: Path, upto: int = 20, injections: tuple[str, ...] = INJECTIONS) -> list[Row]:
    """Each injection at the first, second … call of its kind, until the writer makes no more of them.

    Failing ones are played twice: the writer goes on, or it ends at the first refusal, so that what it was told to be
    refused must not land at the next start either.
    """
    if not _can_trace():
        return [Row("strace", skipped="strace is not here, or may not trace")]
    rows: list[Row] = []
    for injection, crowd in [*((one, False) for one in injections), *((one, True) for one in IN_A_CROWD)]:
        row = Row(f"strace {injection}{', in a crowd' if crowd else ''}")
        for dies in (False, True) if "error" in injection else (False,):
            for nth in range(1, upto + 1):
                place = folder / f"{len(rows)}-{nth}-{dies}"
                if not _one(place, injection, nth, row, dies=dies, crowd=crowd):
                    break
                shutil.rmtree(place)
        if not row.rounds:
            row.notes.append("the writer makes no such call")
        rows.append(row)
    return rows


def _can_trace() -> bool:
    tracer = shutil.which("strace")
    return (
        tracer is not None and subprocess.run([tracer, "-qq", "-e", "trace=none", "true"], check=False).returncode == 0
    )


def _one(place: Path, injection: str, nth: int, row: Row, *, dies: bool, crowd: bool) -> bool:
    """One writer with one broken call; False where it did not come to that call."""
    (place / "vault").mkdir(parents=True)
    said, log = Said(), place / "trace"
    begin(place, said)
    call = injection.partition(":")[0]
    tracing = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}"]
    tracing += ["-e", f"inject={injection}:when={nth}"]
    writer = [sys.executable, "-P", "-m", "tests.proofs.writer", str(place), str(_WRITES)]
    root = str(Path(__file__).parents[2])
    command = [*tracing, *writer, *(["--die-on-refusal"] if dies else []), *(["--crowd"] if crowd else [])]
    done = subprocess.run(command, cwd=root, env={"PYTHONPATH": root}, capture_output=True, text=True, check=False)
    if "INJECTED" not in log.read_text() and done.returncode != -signal.SIGKILL:
        return False
    about = f"at call {nth}{', then death' if dies else ''}"
    hear(done.stdout, said)
    row.rounds += 1
    row.acknowledged += len(said.acks)
    if "Traceback" in done.stderr and not said.tried:
        row.notes.append(f"{about}: the writer could not open its places ({done.stderr.splitlines()[-1][-100:]})")
    elif "Traceback" in done.stderr:
        row.take([Finding("answer", done.stderr.splitlines()[-1])], about)
    row.take(start_again(place, said), about)
    return True
