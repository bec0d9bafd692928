"""The answer of ``search``, field by field. Its output schema is made from these classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .refusal import Warn


@dataclass(frozen=True, slots=True)
class Hit:
    """One note that was found, with the lines that say why."""

    path: str
    title: str
    source_hash: str
    score: float
    snippet: str
    start_line: int
    end_line: int
    type: str | None
    status: str | None
    date: str | None
    tags: tuple[str, ...]
    explain: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of ``search``."""

    hits: tuple[Hit, ...]
    engine: Literal["bm25", "hybrid", "scan"]
    reranked: Literal["yes", "no", "off", "loading", "timeout", "failed"]
    degraded: bool
    confidence: Literal["high", "medium", "low", "none"]
    more: bool
    index_age_s: float | None
    query_note: str | None = None
    warnings: tuple[Warn, ...] = ()
    explain: dict[str, Any] | None = None
