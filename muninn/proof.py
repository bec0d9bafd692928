"""What the gateway knows of the backup: one small file that a proven run leaves in the home. It reads nothing else."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from muninn.model.refusal import Refusal, Warn

OVERDUE_H: Final = 36
_Answer = TypeVar("_Answer")
_lock = threading.Lock()
_read: dict[Path, tuple[tuple[int, int, int], Proof | None]] = {}


@dataclass(frozen=True, slots=True)
class Proof:
    """When the backup was set up, and when one was last proven, with how many files. None: never."""

    set_up: datetime
    last_ok: datetime | None
    shown: str | None
    files: int | None


def of(home: Path) -> Proof | None:
    """The proof in a home; None where no backup was set up, or the file cannot be understood."""
    file = home / "backup" / "proof.json"
    try:
        seen = file.stat()
    except OSError:
        return None
    key = (seen.st_mtime_ns, seen.st_ino, seen.st_size)
    with _lock:
        known = _read.get(file)
    if known is not None and known[0] == key:
        return known[1]
    found = _parsed(file)
    with _lock:
        _read[file] = (key, found)
    return found


def status(home: Path) -> dict[str, Any]:
    """``last_ok``, ``age_h`` (hours) and ``files`` of the last proven backup, each None where there is none."""
    proof = of(home)
    if proof is None or proof.last_ok is None:
        return {"last_ok": None, "age_h": None, "files": None}
    return {"last_ok": proof.shown, "age_h": round(max(0.0, _hours_since(proof.last_ok)), 2), "files": proof.files}


def overdue(home: Path) -> Warn | None:
    """The warning that no backup was proven for over 36 hours; None where none was set up, or one was proven."""
    proof = of(home)
    if proof is None:
        return None
    hours = _hours_since(proof.last_ok or proof.set_up)
    # A proof from tomorrow says that a clock was wrong, then or now: it is not believed.
    if -1 <= hours <= OVERDUE_H:
        return None
    if hours < 0:
        told = f"the last proven backup is dated {proof.shown or 'in the future'}, ahead of this machine's clock"
    elif proof.last_ok is None:
        told = f"a backup was set up {hours:.0f} h ago and none was proven yet"
    else:
        told = f"no backup was proven for {hours:.0f} h"
    return Warn("backup_overdue", f"{told}; tell the owner: `muninn backup status` says why")


def warned(home: Path, answer: _Answer) -> _Answer:
    """An answer, with the warning where a backup is overdue."""
    warn = None if isinstance(answer, Refusal) else overdue(home)
    if warn is None or not hasattr(answer, "warnings"):
        return answer
    carrying: Any = answer
    return replace(carrying, warnings=(*carrying.warnings, warn))  # type: ignore[no-any-return]


def _parsed(file: Path) -> Proof | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        last, files = found["last_ok"], found["files"]
        return Proof(
            _time(found["set_up"]),
            None if last is None else _time(last),
            None if last is None else str(last),
            None if files is None else int(files),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("a time without a zone")
    return found


def _hours_since(then: datetime) -> float:
    return (datetime.now(UTC) - then).total_seconds() / 3600
