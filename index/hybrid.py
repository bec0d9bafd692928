"""Words and meaning together: the union of the best notes by either, weighed by both (SEARCH.md 3.4).

Each of the two scores is spread from 0 to 1 over the union, then mixed. The share of meaning was chosen on the
development half of one set and reported on the other half. A note whose meaning is not known (a private one, or one
whose vector is still to be made) is placed by its words alone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Final

from .blocks import starts
from .fields import LOG
from .weighing import Weighed, below_originals

MEANING: Final = 0.6
_LOG_FACTOR: Final = 0.5


def mixed(best: Sequence[Weighed], union: Container[str], cosines: Mapping[str, float]) -> list[Weighed]:
    """Best first; equal scores by path. ``best`` are weighed by their words; those of ``union`` are mixed with what is
    known of their meaning, and the others follow in their order."""
    head = [row for row in best if row.path in union]
    if not head:
        return list(best)
    words = _spread([row.score for row in head])
    known = [cosines.get(row.path) for row in head]
    meanings = iter(_spread([cosine for cosine in known if cosine is not None]))
    scored = []
    for row, word, cosine in zip(head, words, known, strict=True):
        factor = _LOG_FACTOR if row.facts.flags & LOG else 1.0
        meaning = word if cosine is None else next(meanings) * factor
        scored.append(replace(row, score=round((1 - MEANING) * word + MEANING * meaning, 6)))
    floor = min(row.score for row in scored)
    rest = [row for row in best if row.path not in union]
    most = max((row.score for row in rest), default=0.0) or 1.0
    scored += [replace(row, score=round(floor * row.score / most, 6)) for row in rest]
    return below_originals(scored)


def at_passage(row: Weighed, places: Mapping[str, int]) -> Weighed:
    """A note without a word of the question shows the passage that is near by its meaning."""
    if row.traces.start >= 0 or row.path not in places:
        return row
    begins = starts(row.text[row.facts.body :])
    start = row.facts.body + begins[min(places[row.path], len(begins) - 1)]
    return replace(row, traces=replace(row.traces, start=start, end=start))


def _spread(numbers: list[float]) -> list[float]:
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    return [(number - low) / (high - low) if high > low else 1.0 for number in numbers]
