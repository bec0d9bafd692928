"""Counts by strace: the syncs of a committed write, and every write and sync of a dry run. No clock is involved."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

from .counted import MARK
from .crowd import CLIENTS
from .gates import BY_NUMBER, Row, Skipped, row
from .place import Place

_COUNT: Final = 20
_LIMIT_S: Final = 120
_SYNCS: Final = ("fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range")
_BYTES: Final = """
    write pwrite64 writev pwritev pwritev2 ftruncate fallocate fchmod fchown copy_file_range sendfile
"""
_ENTRIES: Final = """
    rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link linkat symlink symlinkat truncate chmod fchmodat
    utimensat creat mknod mknodat setxattr fsetxattr
"""
_FILLS: Final = frozenset(_BYTES.split())
_NAMES: Final = frozenset(_ENTRIES.split())
_OPENS: Final = ("open", "openat", "openat2")
_ASKS: Final = ("access", "faccessat", "faccessat2")
_CALL: Final = re.compile(r"(?:\[pid +\d+\] |\d+ +)?(\w+)\(")


def measure(place: Place) -> list[Row | Skipped]:
    """P14, alone and in a crowd, and P15, or why they could not be counted here."""
    why = _why_not()
    if why:
        return [Skipped(BY_NUMBER[number], why) for number in ("P14", "P14/8", "P15")]
    syncs = [sum(name in _SYNCS for name, _ in part) for part in _traced(place, "commit")]
    (crowded,) = _traced(place, "crowd")
    per_write = sum(name in _SYNCS for name, _ in crowded) / (CLIENTS * _COUNT)
    touches = [_touches(place, part) for part in _traced(place, "dry_run")]
    seen = sorted({line for part in touches for line in part})
    note = f"mean {statistics.mean(syncs):.2f}, most {max(syncs)} (with a checkpoint)"
    return [
        row("P14", statistics.median(syncs), None, note),
        row("P14/8", round(per_write, 3), None, "traced, notes of one folder, checkpoints included"),
        row("P15", max(len(part) for part in touches), None, "; ".join(seen[:4])),
    ]


def _why_not() -> str:
    """Why strace cannot count here; "" where it can."""
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed"
    tried = subprocess.run([strace, "-f", "-o", "/dev/null", "true"], capture_output=True, check=False, timeout=20)
    return "" if tried.returncode == 0 else "strace may not trace here"


def _traced(place: Place, what: str) -> list[list[tuple[str, str]]]:
    """The system calls of each of the writes, as (name, line)."""
    log = place.folder / f"trace-{what}"
    names = (*_SYNCS, *_FILLS, *_NAMES, *_OPENS, *_ASKS)
    command = [
        "strace",
        "-f",
        "-y",
        "-s",
        "300",
        "-o",
        str(log),
        "-e",
        "trace=" + ",".join(f"?{name}" for name in names),
    ]
    command += [sys.executable, "-P", "-m", "tests.bench.counted", what, str(place.folder), str(_COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the counted process ended with status {done.returncode}: {done.stderr[-400:]}")
    parts: list[list[tuple[str, str]]] = []
    for line in log.read_text(errors="replace").splitlines():
        found = _CALL.match(line)
        if found is None:
            continue
        if MARK in line and found[1] in _ASKS:
            parts.append([])
        elif parts and found[1] not in _ASKS:
            parts[-1].append((found[1], line))
    expected = (1 if what == "crowd" else _COUNT) + 1
    if len(parts) != expected:
        raise RuntimeError(f"expected {expected} marks in the trace, found {len(parts)}")
    return parts[:-1]


def _touches(place: Place, part: list[tuple[str, str]]) -> list[str]:
    """Calls that change anything below vault, home or cache: its bytes, names or modes; and every sync."""
    found = []
    for name, line in part:
        below = any(str(place.folder / own) in line for own in ("vault", "home", "cache"))
        makes = name in _OPENS and ("O_CREAT" in line or "O_TRUNC" in line)
        if name in _SYNCS or (below and (name in _FILLS or name in _NAMES or makes)):
            found.append(_short(line, place.folder))
    return found


def _short(line: str, folder: Path) -> str:
    return re.sub(r"^\d+ +", "", line).replace(str(folder), "…")[:120]
