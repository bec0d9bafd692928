"""Words and meaning together: the union of the best notes by either, weighed by both.

Each of the two scores is spread from 0 to 1 over the union, then mixed. Where the note that is first by words holds
every word of the question (a name, an abbreviation, the note's own terms), words weigh more than meaning, otherwise
less. Cosines that lie close together tell the notes less apart, and so count less. Shares and spread were chosen on the
development halves of five sets and reported on the other halves (docs/explain/search.md). A note whose meaning is not
known (a private one, or one whose vector is still to be made) is placed by its words alone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Final

from .blocks import starts
from .fields import LOG
from .weighing import Weighed, below_originals, spread

MEANING: Final = 0.7
"""The share of meaning where the note that is first by words lacks a word of the question."""
MEANING_OF_KNOWN: Final = 0.4
"""The share of meaning where it holds them all."""
LEAST_SPREAD: Final = 0.4
"""Cosines that lie within less are not drawn out to the whole of 0 to 1: the lowest stays above 0."""
_LOG_FACTOR: Final = 0.5


def mixed(best: Sequence[Weighed], union: Container[str], cosines: Mapping[str, float], asked: int) -> list[Weighed]:
    """Best first; equal scores by path. ``best`` are weighed by their words, the first of them first; those of
    ``union`` are mixed with what is known of their meaning, and the others follow in their order. ``asked`` is how many
    words the question has."""
    head = [row for row in best if row.path in union]
    if not head:
        return list(best)
    share = MEANING_OF_KNOWN if len(head[0].held) >= asked else MEANING
    words = spread([row.score for row in head])
    cosine_of = {row.path: cosines[row.path] for row in head if row.path in cosines}
    meanings = dict(zip(cosine_of, spread(list(cosine_of.values())), strict=True))
    apart = _apart(list(cosine_of.values()))
    scored = []
    for row, word in zip(head, words, strict=True):
        factor = _LOG_FACTOR if row.facts.flags & LOG else 1.0
        # What words say of a log is halved already.
        own = meanings[row.path] * factor if row.path in meanings else word
        meaning = (1 - apart) * factor + apart * own
        scored.append(replace(row, score=round((1 - share) * word + share * meaning, 6)))
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


def _apart(cosines: list[float]) -> float:
    """How much of 0 to 1 the cosines are drawn out to; all of it where there are none, so that words alone decide."""
    return min(1.0, (max(cosines) - min(cosines)) / LEAST_SPREAD) if cosines else 1.0
