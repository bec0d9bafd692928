"""The installed files against the hashes in the wheel's RECORD: another distribution may have overwritten one.

Imports nothing of ours, so that it still runs where that has happened.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "muninn-door"


@dataclass(frozen=True, slots=True)
class Compared:
    """``untold`` is why nothing can be said, None where it can. ``wrong`` are the files that differ or are gone, by
    name, with what is wrong with each; ``count`` is how many were looked at."""

    untold: str | None
    wrong: tuple[tuple[str, str], ...] = ()
    count: int = 0


def compared() -> Compared:
    """Every file that RECORD lists, against its hash."""
    try:
        found = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return Compared(f"the distribution {DISTRIBUTION} is not installed: this runs from its sources")
    if _is_editable(found):
        return Compared("it is installed from its sources, in place, so nothing says which bytes they should have")
    # Not through ``files``, which from Python 3.12 on leaves out what is gone.
    record = csv.reader((found.read_text("RECORD") or "").splitlines())
    listed = [(row[0], row[1]) for row in record if len(row) == 3 and row[1]]
    if not listed:
        return Compared("its RECORD lists no file")
    wrong = []
    for name, known in listed:
        algorithm, _, expected = known.partition("=")
        try:
            content = Path(str(found.locate_file(name))).read_bytes()
        except OSError as error:
            wrong.append((name, f"it cannot be read ({error.strerror})"))
            continue
        if algorithm not in hashlib.algorithms_available or _digest(algorithm, content) != expected:
            wrong.append((name, "its bytes are not the ones that were installed"))
    return Compared(None, tuple(sorted(wrong)), len(listed))


def _digest(algorithm: str, content: bytes) -> str:
    """A hash as RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode()


def _is_editable(found: Distribution) -> bool:
    try:
        told = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        return False
    return bool(told.get("dir_info", {}).get("editable")) if isinstance(told, dict) else False
