"""Close calls: where words alone hardly tell the first two notes apart, a model may order the best fifteen.

Close means that the second note has at least nine tenths of the first one's score on plain BM25 with the log factor
(docs/explain/search.md); scores that lie further apart are never reordered. The model sees public texts only: private
notes keep their places and the public ones change places among themselves. A model that is late, that fails, or that
gives anything but one finite number for each text leaves the order as it was, and the answer says so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from muninn.model import seams

from .encoding import Encoder
from .public import PublicText
from .waiting import FailedError, LateError, NotReadyError, Worker
from .weighing import Weighed, original_of, spread

MOST_TEXTS: Final = 15
CLOSE: Final = 0.9
BUDGET_S: Final = 1.5
_TEXT_CHARS: Final = 1_200
_QUESTION_CHARS: Final = 2_000

Reranked = Literal["yes", "no", "off", "loading", "timeout", "failed"]
Clear = Callable[[Weighed, str], PublicText | None]
"""A text of a note, if the note is public."""


class Reranker(Protocol):
    """Says how well each text answers a question; higher is better. Called by one thread at a time."""

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        """One number for each text, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """An encoder in a reranker's place: the cosine of question and text. For those who have no cross-encoder."""

    encoder: Encoder

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        """One cosine for each text."""
        asked = list(self.encoder.question(question))
        return [sum(map(operator.mul, asked, vector)) for vector in self.encoder.passages(texts)]


class NoOpinionError(Exception):
    """The scores are not one finite number for each text."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """A model and the time it has for one question, in seconds. Without a worker it is off. ``share`` is how much of
    the order is the model's, from 0 to 1; the rest is that of the scores so far."""

    worker: Worker[Reranker] | None = None
    budget_s: float = BUDGET_S
    share: float = 1.0

    def reorder(self, question: str, best: list[Weighed], clear: Clear) -> tuple[list[Weighed], Reranked]:
        """The notes in the order to show, best first, and what became of the model. Never raises.

        The scores stay with the places, so that a higher one is still a better one.
        """
        if self.worker is None:
            return best, "off"
        texts = {row.path: text for row in best[:MOST_TEXTS] if (text := clear(row, text_of(row))) is not None}
        public = [row for row in best if row.path in texts]
        if not is_close(public):
            return best, "no"
        handed = [texts[row.path] for row in public]
        try:
            asked = self.worker.ask(lambda model: _scores(model, question[:_QUESTION_CHARS], handed), self.budget_s)
            scores = asked.take()
        except NotReadyError:
            return best, "loading"
        except LateError:
            return best, "timeout"
        except FailedError:
            return best, "failed"
        if len(set(scores)) == 1:
            return best, "no"  # a model that gives all the same has no opinion
        return _in_places(best, public, self._mixed(public, scores)), "yes"

    def _mixed(self, public: list[Weighed], scores: list[float]) -> list[float]:
        """The model's scores, mixed by its share with those so far; each spread from 0 to 1."""
        if self.share == 1.0:
            return scores
        pairs = zip(spread([row.score for row in public]), spread(scores), strict=True)
        return [(1 - self.share) * so_far + self.share * own for so_far, own in pairs]


NO_RERANKING: Final = Reranking()


def is_close(rows: Sequence[Weighed]) -> bool:
    """Whether the two best by plain BM25 lie within a tenth."""
    bare = sorted((row.base for row in rows), reverse=True)
    return len(bare) > 1 and bare[0] > 0 and bare[1] >= CLOSE * bare[0]


def text_of(row: Weighed) -> str:
    """What a model is shown of a note: its title, and the text around its best passage."""
    start, end = row.traces.start, row.traces.end
    if start < 0:
        start = end = row.facts.body
    room = max(0, _TEXT_CHARS - (end - start))
    begin = row.text.rfind("\n", 0, max(row.facts.body, start - room // 4)) + 1
    return f"{row.facts.title[:300]}\n{row.text[begin : begin + _TEXT_CHARS].strip()}"


def load(make: Callable[[], Reranker]) -> Callable[[], Reranker]:
    """How a model is loaded, with the fault point before it."""

    def loaded() -> Reranker:
        seams.at("reranker.load")
        return make()

    return loaded


def _scores(model: Reranker, question: str, texts: list[PublicText]) -> list[float]:
    put = seams.at("reranker.call")
    found = list(model.score(question, texts)) if put is None else _put(str(put), len(texts))
    scores = [float(score) for score in found]
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        raise NoOpinionError
    return scores


def _put(value: str, count: int) -> list[float]:
    """What a fault puts in the place of a model's scores."""
    match value:
        case "nan":
            return [math.nan] * count
        case "one_nan":
            return [math.nan, *range(1, count)]
        case "zeros":
            return [0.0] * count
    raise ValueError(value)


def _in_places(best: list[Weighed], public: list[Weighed], scores: list[float]) -> list[Weighed]:
    """The public rows in the model's order on the places they hold; of equals the one that stood higher. A note that
    the question names stays before all others."""
    order = sorted(range(len(public)), key=lambda number: (not public[number].named, -scores[number], number))
    turned = iter(_after_originals([public[number] for number in order]))
    moving = {row.path for row in public}
    return [replace(next(turned), score=row.score) if row.path in moving else row for row in best]


def _after_originals(rows: list[Weighed]) -> list[Weighed]:
    """The same order, but that no conflict copy stands before the note it is a copy of."""
    places = {row.path: place for place, row in enumerate(rows)}
    copied = {row.path: places.get(original_of(row.path) or row.path, -1) for row in rows}
    return sorted(rows, key=lambda row: (max(places[row.path], copied[row.path]), row.path.is_conflict_copy))
