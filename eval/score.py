"""From ranked paths to shares: top-1, top-5, MRR, and how sure such a share is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

DEPTH: Final = 15
"""How many hits are looked at; a right note below them counts as not found."""


@dataclass(frozen=True, slots=True)
class Score:
    """What an engine reached on one set of questions; shares lie between 0 and 1."""

    engine: str
    top1: float
    top5: float
    mrr: float
    ms: float
    flagged_unanswerable: float | None
    flagged_answerable: float | None


def rank_of(paths: Sequence[str], right: Sequence[str]) -> int | None:
    """The place of the first right note, from 1; None where it is not among the first 15."""
    return next((place for place, path in enumerate(paths[:DEPTH], 1) if path in right), None)


def share(hits: int, of: int) -> float:
    """A share, 0 where nothing was asked."""
    return hits / of if of else 0.0


def interval(value: float, of: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927): honest for small sets and near 0 and 1."""
    if of == 0:
        return 0.0, 1.0
    z = 1.96
    centre = (value + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(value * (1 - value) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, centre - half), min(1.0, centre + half)
