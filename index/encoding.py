"""What turns text into vectors: a bi-encoder behind a small Protocol, whatever package runs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .public import PublicText

Vector = Iterable[float]


class Encoder(Protocol):
    """A bi-encoder. Vectors of two encoders are compared only where their ``key`` is the same."""

    key: str
    """The digest of the model's files: which space the vectors lie in."""
    size: int
    """How many numbers a vector has."""

    def passages(self, texts: Sequence[PublicText]) -> Sequence[Vector]:
        """A vector for each text, in their order."""
        ...

    def question(self, text: str) -> Vector:
        """The vector of a question, to be compared with those of passages."""
        ...
