"""Fault points for the test build: read from the file that MUNINN_TEST_FAULTS names, afresh at every point.

Loaded only when MUNINN_TEST=1. Kinds: raise, enospc, slow, exit, do, return.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from muninn.model import seams

_lock = threading.Lock()
_used: dict[str, int] = {}


def arm(file: Path) -> None:
    """Obey the faults in ``file`` from now on, and append each point that is passed to ``file`` + ``.trace``."""
    trace = Path(f"{file}.trace")

    def pass_point(point: str, path: str | None) -> object:
        with _lock, trace.open("a", encoding="utf-8") as lines:
            lines.write(point + "\n")
        for fault in _due(file, point, path):
            value = _happen(fault)
            if value is not None:
                return value
        return None

    seams.arm(pass_point)


def _due(file: Path, point: str, path: str | None) -> list[dict[str, Any]]:
    """The armed faults of this point, each counted against its ``times`` in this process."""
    due = []
    with _lock:
        armed = _read(file)
        keys = [json.dumps(fault, sort_keys=True) for fault in armed]
        for gone in set(_used) - set(keys):
            del _used[gone]
        for fault, key in zip(armed, keys, strict=True):
            if fault["point"] != point or fault.get("path") not in (None, path):
                continue
            if fault.get("times") is not None and _used.get(key, 0) >= fault["times"]:
                continue
            _used[key] = _used.get(key, 0) + 1
            due.append(fault)
    return due


def _read(file: Path) -> list[dict[str, Any]]:
    # A writer that does not replace the file by rename can be met half-way: ask again before giving up.
    for _ in range(50):
        try:
            faults: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8") or "[]")
            return faults
        except FileNotFoundError:
            return []
        except ValueError:
            time.sleep(0.01)
    raise RuntimeError(f"the faults file {file.name} holds no JSON list")


def _happen(fault: dict[str, Any]) -> object:
    match fault["kind"]:
        case "raise":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        case "enospc":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        case "slow":
            time.sleep(float(fault["s"]))
        case "exit":
            sys.stderr.flush()
            os._exit(70)
        case "do":
            run = fault["run"]
            subprocess.run(run if isinstance(run, list) else shlex.split(run), check=True)
        case "return":
            return fault["value"]
        case other:
            raise RuntimeError(f"unknown kind of fault: {other}")
    return None
