"""The models a search may ask beside the words: none, vectors, a reranker, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from .rerank import NO_RERANKING, Reranking
from .semantic import Semantic
from .waiting import Worker


@dataclass(frozen=True, slots=True)
class Models:
    """What the owner has added and not switched off. Nothing is loaded before it is asked for, or started."""

    semantic: Semantic | None = None
    reranking: Reranking = NO_RERANKING

    def start(self) -> None:
        """Begin to load, in the background."""
        for worker in self._workers():
            worker.start()

    def close(self) -> None:
        """Take no more questions."""
        for worker in self._workers():
            worker.close()

    def _workers(self) -> list[Worker[Any]]:
        found: list[Worker[Any] | None] = [self.reranking.worker]
        found.append(self.semantic.worker if self.semantic is not None else None)
        return [worker for worker in found if worker is not None]


NO_MODELS: Final = Models()
