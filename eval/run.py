"""Ask each engine every question of a set, on one vault."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.score import Score, rank_of, share
from index import Index, IndexSettings
from muninn import searching
from muninn.model.errors import SettingsError
from muninn.model.hits import Found
from muninn.model.listing import Entry
from muninn.model.rights import Rights
from muninn.model.sight import File
from muninn.vault import Vault

_OWNER = Rights(None, frozenset({"read"}))


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """A set: questions with their right notes, and some that the vault cannot answer."""

    answerable: tuple[Question, ...]
    unanswerable: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Ranked paths, and whether the engine said that it does not know (None: it cannot say)."""

    paths: tuple[str, ...]
    unsure: bool | None


Engine = Callable[[str], Answer]


def load(file: Path) -> Questions:
    """Read a set in the form ``{"questions": [{id, q, path: […]}], "unanswerable": [{id, q}]}``.

    Raises SettingsError that names what is missing.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Questions(
            tuple(_question(row) for row in found["questions"]),
            tuple(Question(str(row["id"]), str(row["q"]), ()) for row in found.get("unanswerable", [])),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        expected = '{"questions": [{"id", "q", "path": […]}], "unanswerable": [{"id", "q"}]}'
        raise SettingsError(f"{file} is no set of questions ({error!r}); expected {expected}") from error


def run(vault: Path, questions: Questions) -> list[Score]:
    """The score of each engine on this vault."""
    place = Vault(vault, None)
    with tempfile.TemporaryDirectory(prefix="muninn-eval-") as cache:
        index = Index(Path(cache), lambda _: False, IndexSettings())
        try:
            index.sweep(place.walk, place.look)
            engines = {"substring": _substring(place), "bm25": _bm25(place, index)}
            return [_score(name, engine, questions) for name, engine in engines.items()]
        finally:
            index.close()


def _question(row: Any) -> Question:
    right = row["path"]
    return Question(str(row["id"]), str(row["q"]), (right,) if isinstance(right, str) else tuple(right))


def _score(name: str, engine: Engine, questions: Questions) -> Score:
    took: list[float] = []
    ranks: list[int | None] = []
    unsure: list[bool | None] = []
    for question in questions.answerable:
        began = time.process_time()
        answer = engine(question.text)
        took.append((time.process_time() - began) * 1000)
        ranks.append(rank_of(answer.paths, question.right))
        unsure.append(answer.unsure)
    flagged = [engine(question.text).unsure for question in questions.unanswerable]
    count = len(ranks)
    return Score(
        name,
        share(sum(1 for rank in ranks if rank == 1), count),
        share(sum(1 for rank in ranks if rank is not None and rank <= 5), count),
        share_of_reciprocals(ranks),
        statistics.median(took) if took else 0.0,
        None if None in flagged or not flagged else share(sum(map(bool, flagged)), len(flagged)),
        None if None in unsure else share(sum(map(bool, unsure)), count),
    )


def share_of_reciprocals(ranks: list[int | None]) -> float:
    """Mean reciprocal rank: 1 where every right note came first."""
    return sum(1 / rank for rank in ranks if rank) / len(ranks) if ranks else 0.0


def _bm25(vault: Vault, index: Index) -> Engine:
    def ask(text: str) -> Answer:
        found = searching.search(index, vault.look, vault.walk, _OWNER, searching.Asked(text, limit=15))
        if not isinstance(found, Found):
            return Answer((), None)
        return Answer(tuple(hit.path for hit in found.hits), found.confidence in ("low", "none"))

    return ask


def _substring(vault: Vault) -> Engine:
    """What a plain search in files finds: notes that hold the whole question, by how often."""
    texts: dict[str, str] = {}
    for entry in vault.walk():
        if isinstance(entry, Entry) and entry.kind == "note":
            sight = vault.look(entry.path)
            if isinstance(sight, File):
                texts[entry.path] = sight.content.decode(errors="replace").lower()

    def ask(text: str) -> Answer:
        counted = [(body.count(text.lower()), path) for path, body in texts.items()]
        found = sorted(((-count, path) for count, path in counted if count))
        return Answer(tuple(path for _, path in found[:15]), None)

    return ask
