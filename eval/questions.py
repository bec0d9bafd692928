"""A set of questions: each with its right notes, and some that the vault cannot answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from muninn.model.errors import SettingsError

BUNDLED: Final = Path(__file__).with_name("questions.json")
"""The frozen questions on the bundled vault."""

Half = Literal["dev", "test"]


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
        raise SettingsError(f"{file} is no set of questions ({error!r}); expected {expected}") from error


def _question(row: Any) -> Question:
    right = row["path"]
    paths = (right,) if isinstance(right, str) else tuple(map(str, right))
    return Question(str(row["id"]), str(row["q"]), paths, str(row.get("kind", "")))
