"""The rows of engines that ask a model: those that the person added with ``muninn model add`` or named in the settings.

Vectors are kept beside the person's cache, one folder a vault, so that only the first run on a vault is slow.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from index import Index
from index.filling import Filler
from index.models import Models
from index.rerank import NO_RERANKING, ByMeaning, Reranker, Reranking
from index.semantic import Semantic
from index.waiting import Worker
from muninn import settings, thinking
from muninn.model.errors import SettingsError
from muninn.vault import Vault

from .engines import Engine, Maker, search

_LOAD_S: Final = 300.0
_PATIENCE_S: Final = 60.0
"""Here a model has all the time it wants: the table says what it took."""


@contextmanager
def makers(environment: Mapping[str, str]) -> Iterator[dict[str, Maker]]:
    """A maker for each engine that can work here; none where no model was added. Raises SettingsError where one was
    and cannot be loaded."""
    chosen = settings.load(environment, None, None, None)
    models = thinking.models_of(chosen)
    workers = [models.reranking.worker, models.semantic.worker if models.semantic is not None else None]
    try:
        for worker in workers:
            if worker is not None and not worker.wait_ready(_LOAD_S):
                raise SettingsError(f"the {worker.name} cannot be loaded: {worker.reason or 'it takes too long'}")
        yield _rows(models, chosen.places.cache / "eval")
    finally:
        models.close()


def _rows(models: Models, cache: Path) -> dict[str, Maker]:
    own = replace(models.reranking, budget_s=_PATIENCE_S)
    semantic = models.semantic
    rows: dict[str, Maker] = {}
    if own.worker is not None:
        rows["bm25 + reranker"] = lambda vault, index: search(vault, index, Models(reranking=own))
    elif semantic is not None:
        rows["bm25 + cosine"] = lambda vault, index: search(vault, index, Models(reranking=_cosine(semantic)))
    if semantic is not None:
        rows["hybrid"] = lambda vault, index: _hybrid(vault, index, semantic, NO_RERANKING, cache)
        if own.worker is not None:
            rows["hybrid + reranker"] = lambda vault, index: _hybrid(vault, index, semantic, own, cache)
    return rows


def _cosine(semantic: Semantic) -> Reranking:
    """The encoder as a reranker of close calls, already loaded."""
    worker = Worker[Reranker]("cosine", lambda: ByMeaning(semantic.worker.thing()))
    worker.wait_ready(_LOAD_S)
    return Reranking(worker, _PATIENCE_S)


def _hybrid(vault: Vault, index: Index, semantic: Semantic, reranking: Reranking, cache: Path) -> Engine:
    """The search with vectors of the whole vault; those that are missing are made first."""
    place = cache / hashlib.sha256(str(vault.root).encode()).hexdigest()[:12]
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = Semantic(semantic.worker, place, _PATIENCE_S)
    filler = Filler(own, index, vault.look, semantic.worker.thing(), rest=0.0)
    filler.fill(threading.Event())
    filler.close()
    return search(vault, index, Models(own, reranking))
