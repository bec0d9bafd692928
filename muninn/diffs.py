"""Unified diffs for answers and for the person: bounded in size and in time."""

from __future__ import annotations

import difflib
import io
from typing import Final

MAX_BYTES: Final = 16 * 1024
# difflib is quadratic in the worst case; past this many lines only the sizes are told.
_MAX_LINES: Final = 4000


def unified(before: bytes, after: bytes, name: str, *, context: int = 3, most: int = MAX_BYTES) -> str:
    """The change from one text to another as a unified diff of at most ``most`` bytes, cut at a line end and saying so.

    ``context`` is the number of unchanged lines around each change. Bytes that are not UTF-8 give one line that says
    so.
    """
    try:
        old, new = _lines(before.decode()), _lines(after.decode())
    except UnicodeDecodeError:
        return f"{name}: not text; {len(before)} bytes before, {len(after)} after\n"
    if len(old) + len(new) > _MAX_LINES:
        return f"{name}: too long to compare here; {len(old)} lines before, {len(new)} after\n"
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context)
    return _bounded([line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines], most)


def _lines(text: str) -> list[str]:
    """Lines ended by LF alone, as a read counts them."""
    return list(io.StringIO(text))


def _bounded(lines: list[str], most: int) -> str:
    size = 0
    kept: list[str] = []
    for line in lines:
        size += len(line.encode())
        if size > most - 100:
            return "".join(kept) + f"… cut: {len(lines) - len(kept)} more lines\n"
        kept.append(line)
    return "".join(kept)
