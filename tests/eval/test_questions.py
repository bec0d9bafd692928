"""The bundled questions are frozen: their bytes, their number, and that each right note can be an answer at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import muninn
from eval.questions import BUNDLED, load
from index import IndexSettings
from muninn.contract import contract
from muninn.model import note as notes
from muninn.model.content import NotePath

SAMPLE = Path(muninn.__file__).with_name("sample")
PIN = BUNDLED.with_suffix(".sha256")
PRIVATE = contract.build().private
RETIRED = IndexSettings().retired

KINDS = {
    "current", "older", "abbrev", "compound", "inflection", "typo",
    "identifier", "concept", "several", "keyword", "wordform",
}  # fmt: skip


def rows() -> dict[str, Any]:
    """The set as it lies on disk."""
    return dict(json.loads(BUNDLED.read_text(encoding="utf-8")))


def why_no_answer(root: Path, path: str) -> str | None:
    """Why a note can be no right answer: it is not there, private, or retired; None where it can."""
    file = root / path
    if not file.is_file():
        return "missing"
    named = NotePath.parse(path)
    assert isinstance(named, NotePath)
    parsed = notes.parse(named, file.read_bytes())
    if PRIVATE.cover(parsed.path):
        return "private"
    return "retired" if (parsed.word("status") or "").lower() in RETIRED else None


def test_the_bytes_are_those_that_were_frozen() -> None:
    assert PIN.read_text(encoding="utf-8") == f"{hashlib.sha256(BUNDLED.read_bytes()).hexdigest()}  questions.json\n"


def test_there_are_44_questions_and_unanswerable_ones_beside_them() -> None:
    asked = load(BUNDLED)
    assert len(asked.answerable) == 44
    assert len(asked.unanswerable) >= 15
    names = [question.id for question in (*asked.answerable, *asked.unanswerable)]
    texts = [question.text for question in (*asked.answerable, *asked.unanswerable)]
    assert len(set(names)) == len(names)
    assert len(set(texts)) == len(texts)


def test_every_right_note_can_be_an_answer() -> None:
    found = {path: why_no_answer(SAMPLE, path) for row in rows()["questions"] for path in row["path"]}
    assert {path: why for path, why in found.items() if why is not None} == {}


def test_every_kind_of_question_is_asked() -> None:
    kinds = [row["kind"] for row in rows()["questions"]]
    assert set(kinds) == KINDS
    assert all(len(row["path"]) > 1 for row in rows()["questions"] if row["kind"] == "several")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("decisions/0003-surge-threshold-45.md", "retired"),
        ("private/insurance-renewal.md", "private"),
        ("nowhere.md", "missing"),
        ("glossary.md", None),
    ],
)
def test_a_note_that_cannot_be_found_is_no_answer(path: str, why: str | None) -> None:
    assert why_no_answer(SAMPLE, path) == why
