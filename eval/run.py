"""Ask engines every question of a set, on one vault."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from index import Index, IndexSettings
from muninn.questions import outcomes
from muninn.vault import Vault

from .engines import ENGINES, PRIVATE, Engine, Maker
from .questions import Questions
from .score import Sheet

_NO_MORE: Final[Mapping[str, Maker]] = {}


def run(
    vault: Path, questions: Questions, engines: Iterable[str] = ENGINES, more: Mapping[str, Maker] = _NO_MORE
) -> list[Sheet]:
    """What each engine answers on this vault, in a fresh index beside it that is gone afterwards.

    ``engines`` are names of those that need no model, ``more`` makes others.
    """
    makers = {name: ENGINES[name] for name in engines} | dict(more)
    place = Vault(vault, None)
    with tempfile.TemporaryDirectory(prefix="muninn-eval-") as cache:
        index = Index(Path(cache), PRIVATE.cover, IndexSettings())
        try:
            index.sweep(place.walk, place.look)
            made = {name: make(place, index) for name, make in makers.items()}
            return [ask(name, engine, questions) for name, engine in made.items() if engine is not None]
        finally:
            index.close()


def ask(name: str, engine: Engine, questions: Questions, clock: Callable[[], float] = time.process_time) -> Sheet:
    """Every question of a set, asked of one engine. ``clock`` gives seconds; CPU time where the engine runs here."""
    return Sheet(name, tuple(outcomes(questions, engine, clock)))
