"""Deterministic models of a few lines, that remember what they were handed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from index.filling import Filler
from index.models import Models
from index.public import PublicText
from index.rerank import Reranker, Reranking
from index.semantic import Semantic
from index.waiting import Worker
from index.words import raw_words

from .room import Room

SIZE = 64


@dataclass(slots=True)
class HashingEncoder:
    """A bag of words: each word counts at a place that its hash chooses. ``same`` makes words mean the same."""

    same: Mapping[str, str] = field(default_factory=dict)
    key: str = "hashing-1"
    size: int = SIZE
    handed: list[str] = field(default_factory=list)

    def passages(self, texts: Sequence[PublicText]) -> Sequence[list[float]]:
        self.handed += [text.text for text in texts]
        return [self._encode(text.text) for text in texts]

    def question(self, text: str) -> list[float]:
        return self._encode(text)

    def _encode(self, text: str) -> list[float]:
        vector = [0.0] * self.size
        for word in raw_words(text.lower()):
            meant = self.same.get(word, word)
            vector[int.from_bytes(hashlib.sha256(meant.encode()).digest()[:4], "big") % self.size] += 1.0
        length = sum(number * number for number in vector) ** 0.5
        return [number / length for number in vector] if length else [1.0] + [0.0] * (self.size - 1)


@dataclass(slots=True)
class Judge:
    """Scores by a rule of the test, and remembers each call."""

    rule: Callable[[str, str], float]
    calls: list[tuple[str, list[str]]] = field(default_factory=list)

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        self.calls.append((question, [text.text for text in texts]))
        return [self.rule(question, text.text) for text in texts]


def turned() -> Judge:
    """The order it is given, turned round."""
    places = iter(range(1_000_000))
    return Judge(lambda question, text: float(next(places)))


@contextmanager
def reranking(model: Reranker, budget_s: float = 5.0) -> Iterator[Models]:
    """Models with a loaded reranker."""
    worker = Worker[Reranker]("reranker", lambda: model)
    assert worker.wait_ready(5)
    try:
        yield Models(reranking=Reranking(worker, budget_s))
    finally:
        worker.close()


def semantic_of(encoder: HashingEncoder, cache: Path, budget_s: float = 5.0) -> Semantic:
    """Semantics with a loaded encoder and no vectors yet."""
    semantic = Semantic(Worker("encoder", lambda: encoder), cache, budget_s)
    assert semantic.worker.wait_ready(5)
    return semantic


def fill(semantic: Semantic, room: Room, encoder: HashingEncoder) -> None:
    """Make every vector that is missing, at once."""
    filler = Filler(semantic, room.index, room.look, encoder, rest=0.0)
    filler.fill(threading.Event())
    filler.close()
