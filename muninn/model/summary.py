"""A note that says in short what others say, registered with the exact revisions it was made from.

It is current as long as every source holds the bytes it was registered with, and so do the sources of those that are
summaries themselves. That is a check of freshness: a current summary can still be wrong about the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from .content import NotePath, Revision

MOST_CHECKS: Final = 128
"""Sources that are looked at for one question or one registration."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes of sources that are read for one question or one registration."""

Why = Literal["changed", "missing", "archived", "stale_source", "cycle", "budget", "summary_changed", "unreadable"]
"""Why a summary is not current. ``unreadable`` is a source that cannot be read now: a cloud placeholder, for one."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A summary and its sources, as they were registered. ``seq`` is its row in the ledger."""

    id: str
    summary: Revision
    sources: tuple[Revision, ...]
    client: str | None
    at: str
    seq: int


@dataclass(frozen=True, slots=True)
class Because:
    """One reason: the path, what it was registered with, and what it holds (a hash, ``missing``, None if not seen)."""

    path: NotePath
    why: Why
    expected: str | None
    found: str | None


@dataclass(frozen=True, slots=True)
class Current:
    """Every source, and every source of a source, holds the bytes it was registered with."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A source, or a source of a source, holds other bytes. Beats ``Unknown``."""

    because: tuple[Because, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be said: the summary itself changed, it stands on a cycle, or not everything could be looked at."""

    because: tuple[Because, ...]


State = Current | Stale | Unknown
