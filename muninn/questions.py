"""Questions with known right notes, and how an engine answers them: for the evaluation and for the canary."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from muninn.model.errors import SettingsError
from muninn.model.hits import Found

DEPTH: Final = 15
"""How many hits are looked at; a right note below them counts as not found."""

Half = Literal["dev", "test"]


# --- a set ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """``right`` are the paths of every note that is a right answer; none for a question without one."""

    id: str
    text: str
    right: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Questions:
    """A set: questions with their right notes, and some that the vault cannot answer."""

    answerable: tuple[Question, ...]
    unanswerable: tuple[Question, ...]

    @property
    def all(self) -> tuple[Question, ...]:
        """Every question, in the order in which they are asked."""
        return (*self.answerable, *self.unanswerable)

    def half(self, half: Half) -> Questions:
        """One half, to choose on (``dev``) or to report on (``test``). Which half a question is of stands in its id,
        so a question that is added moves no other one."""
        return replace(
            self,
            answerable=tuple(question for question in self.answerable if half_of(question.id) == half),
            unanswerable=tuple(question for question in self.unanswerable if half_of(question.id) == half),
        )


def half_of(identity: str) -> Half:
    """The half a question belongs to, by the SHA-256 of its id."""
    return "dev" if hashlib.sha256(identity.encode()).digest()[0] % 2 == 0 else "test"


def load(file: Path) -> Questions:
    """Read a set in the form ``{"questions": [{id, q, path: […]}], "unanswerable": [{id, q}]}``.

    A ``kind`` beside them is kept, other keys are left alone. Raises SettingsError that names what is missing.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Questions(
            tuple(_question(row) for row in found["questions"]),
            tuple(
                Question(str(row["id"]), str(row["q"]), (), str(row.get("kind", "")))
                for row in found.get("unanswerable", [])
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        expected = '{"questions": [{"id", "q", "path": […]}], "unanswerable": [{"id", "q"}]}'
        raise SettingsError(f"{file} is no set of questions ({_fault(error)}); expected {expected}") from error


def _fault(error: Exception) -> str:
    match error:
        case OSError():
            return error.strerror or "it cannot be read"
        case KeyError():
            return f"{error.args[0]!r} is missing"
        case json.JSONDecodeError():
            return f"no JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        case UnicodeDecodeError():
            return "it is no UTF-8"
        case TypeError() | AttributeError():
            return "a list, a mapping or a text stands in the wrong place"
        case _:
            return str(error)


def _question(row: Any) -> Question:
    right = row["path"]
    paths = (right,) if isinstance(right, str) else tuple(map(str, right))
    return Question(str(row["id"]), str(row["q"]), paths, str(row.get("kind", "")))


# --- asking -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """Ranked paths; whether the engine said that it does not know (None: it cannot say), and that it was degraded."""

    paths: tuple[str, ...]
    unsure: bool | None
    degraded: bool = False


Engine = Callable[[str], Answer]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, answered: its kind, whether there is a right note, that note's rank (None: not among the first 15),
    whether the engine was unsure (None: it cannot say), and the time in milliseconds."""

    id: str
    kind: str
    answerable: bool
    rank: int | None
    unsure: bool | None
    ms: float
    degraded: bool = False


def of_found(found: object) -> Answer:
    """The answer of a search as an engine's answer; a refusal found nothing."""
    if not isinstance(found, Found):
        return Answer((), None)
    return Answer(tuple(hit.path for hit in found.hits), found.confidence in ("low", "none"), found.degraded)


def outcomes(questions: Questions, engine: Engine, clock: Callable[[], float] = time.process_time) -> Iterator[Outcome]:
    """Every question of a set, asked of one engine. ``clock`` gives seconds; CPU time where the engine runs here."""
    for question in questions.all:
        began = clock()
        answer = engine(question.text)
        took = (clock() - began) * 1000
        rank = rank_of(answer.paths, question.right) if question.right else None
        yield Outcome(question.id, question.kind, bool(question.right), rank, answer.unsure, took, answer.degraded)


def rank_of(paths: Sequence[str], right: Sequence[str]) -> int | None:
    """The place of the first right note, from 1; None where it is not among the first 15."""
    return next((place for place, path in enumerate(paths[:DEPTH], 1) if path in right), None)
