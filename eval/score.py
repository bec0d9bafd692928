"""From ranked paths to shares: top-1, top-5, MRR, and how sure such a share is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from muninn.questions import DEPTH, Outcome, rank_of

__all__ = ["DEPTH", "Outcome", "Score", "Sheet", "interval", "mrr", "rank_of", "share", "top"]


@dataclass(frozen=True, slots=True)
class Score:
    """What an engine reached on one set of questions; shares lie between 0 and 1, ``ms`` is CPU time a question.

    ``flagged_…``: the share of questions for which it said that it is not sure (confidence low or none); None where
    there were no such questions, or the engine cannot say.
    """

    engine: str
    top1: float
    top5: float
    mrr: float
    ms: float
    flagged_unanswerable: float | None
    flagged_answerable: float | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """Every outcome of one engine on one set."""

    engine: str
    outcomes: tuple[Outcome, ...]

    @property
    def answerable(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.answerable)

    def score(self) -> Score:
        """The shares over all questions."""
        asked = self.answerable
        return Score(
            self.engine,
            top(1, asked),
            top(5, asked),
            mrr(asked),
            statistics.median([outcome.ms for outcome in asked]) if asked else 0.0,
            _flagged([outcome for outcome in self.outcomes if not outcome.answerable]),
            _flagged(asked),
        )

    def kinds(self) -> dict[str, tuple[Outcome, ...]]:
        """The answerable questions by kind, kinds by name; empty where the set names none."""
        names = sorted({outcome.kind for outcome in self.answerable} - {""})
        return {name: tuple(outcome for outcome in self.answerable if outcome.kind == name) for name in names}


def top(place: int, asked: Sequence[Outcome]) -> float:
    """The share of questions whose right note stands at this place or above."""
    return share(sum(1 for outcome in asked if outcome.rank is not None and outcome.rank <= place), len(asked))


def mrr(asked: Sequence[Outcome]) -> float:
    """Mean reciprocal rank: 1 where every right note came first."""
    return share(sum(1 / outcome.rank for outcome in asked if outcome.rank), len(asked))


def _flagged(asked: Sequence[Outcome]) -> float | None:
    flags = [outcome.unsure for outcome in asked if outcome.unsure is not None]
    return share(sum(flags), len(flags)) if flags else None


def share(hits: float, of: int) -> float:
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
