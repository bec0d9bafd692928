"""How sure an answer is, from what the best notes hold of the question.

Three signals of the best five notes, each taken where it is best: BM25 beside what the question's words could give in
all; the share of the question that a note holds, weighted by how telling each word is; and how telling the word is that
the note lacks. Their weights and the two bounds were fitted on the development halves of seven sets, 98 questions with
an answer and 35 without, and reported on the other halves (docs/explain/search.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from .question import Question
from .weighing import Weighed

Confidence = Literal["high", "medium", "low", "none"]

_BEST: Final = 5
_COVERED: Final = 2.0
_LACKED: Final = 0.3
_NONE: Final = -0.3
_LOW: Final = 0.37
_HIGH: Final = 1.5


def confidence(
    question: Question, best: Sequence[Weighed], weights: tuple[float, ...], scale: float = 1.0
) -> tuple[Confidence, list[str]]:
    """How sure the answer is, and the question's words that no hit holds. ``scale`` is that of the notes' BM25."""
    numbers = range(len(question.words))
    anywhere = frozenset().union(*(row.held for row in best)) if best else frozenset()
    missing = [question.words[number].text for number in numbers if number not in anywhere]
    total = sum(weights)
    if not best or not total:
        return "none", missing
    worth = _worth(best[:_BEST], weights, total, scale)
    if worth >= _HIGH:
        return "high", missing
    if worth >= _LOW:
        return "medium", missing
    return ("low" if worth >= _NONE else "none"), missing


def _worth(best: Sequence[Weighed], weights: tuple[float, ...], total: float, scale: float) -> float:
    base = scale * max(row.base for row in best) / total
    fullest = max(best, key=lambda row: len(row.held))
    covered = max(sum(weights[number] for number in row.held) for row in best) / total
    lacked = max((weight for number, weight in enumerate(weights) if number not in fullest.held), default=0.0)
    return base + _COVERED * covered - _LACKED * lacked
