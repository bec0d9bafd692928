"""The answers of the tools about claims and summaries, field by field. Output schemas are made from these classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .claim import Abstaining
from .refusal import Warn
from .summary import Why

BoundState = Literal["committed", "dry_run", "replayed", "pending"]
"""``pending``: the disk failed while the row was made durable; whether it was kept shows when the ledger is back."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer of ``claim`` and ``retract``. A dry run of ``claim`` has no id."""

    claim_id: str | None
    state: BoundState
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A claim whose source holds exactly the bytes it was bound to."""

    claim_id: str
    statement: str
    path: str
    revision: str
    client: str | None
    at: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class AbstainingRow:
    """A claim whose source holds other bytes now. Its statement is not told."""

    claim_id: str
    path: str
    why: Abstaining


@dataclass(frozen=True, slots=True)
class ClaimsAnswer:
    held: tuple[HeldRow, ...]
    abstaining: tuple[AbstainingRow, ...]
    next_cursor: str | None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceRow:
    path: str
    source_hash: str


@dataclass(frozen=True, slots=True)
class Registered:
    """The answer of ``register_summary``. A dry run has no registration."""

    registration: str | None
    sources: tuple[SourceRow, ...]
    state: BoundState
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class SentenceRow:
    """A sentence of a summary, with the line it begins on."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class BecauseRow:
    """Why a summary is not current. The last three come with ``detail``, for a source that changed."""

    path: str
    why: Why
    expected: str | None
    found: str | None
    diff: str | None = None
    sentences: tuple[SentenceRow, ...] | None = None
    claims: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SummaryRow:
    path: str
    state: Literal["current", "stale", "unknown"]
    because: tuple[BecauseRow, ...]


@dataclass(frozen=True, slots=True)
class StalenessAnswer:
    """``checks`` and ``bytes`` are the sources that were looked at for this answer; ``exhausted`` that no more were
    allowed."""

    summaries: tuple[SummaryRow, ...]
    checks: int
    bytes: int
    exhausted: bool
    next_cursor: str | None
    warnings: tuple[Warn, ...] = ()
