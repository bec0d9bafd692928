"""The canonical form of a row, and the chain over all rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

START: Final = bytes(32)
"""What stands in place of a chain before the first row."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces, so that equal values always give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def link(previous: bytes, row: Sequence[Any], changes: Sequence[Sequence[Any]]) -> bytes:
    """SHA-256 over the chain so far and the row: (seq, kind, at, client, events, open, body) and its changes."""
    shown = [[_text(value) for value in change] for change in changes]
    # Only a damaged row holds bytes; it then fits no chain.
    values = [{"bytes": value.hex()} if isinstance(value, bytes) else value for value in row]
    return hashlib.sha256(previous + canonical([values, shown]).encode("utf-8", "surrogatepass")).digest()


def _text(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
