"""Confidence: more of the question held is never less sure, and the bounds hold on the committed questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.confidence import confidence
from index.fields import Facts
from index.passages import Traces
from index.question import Question, read
from index.weighing import Weighed
from index.words import Lexicon
from muninn.model.content import NotePath
from tests.index.room import Room

ORDER = ("none", "low", "medium", "high")
FACTS = Facts("t", None, None, None, "2026-01-01", (), 0, 0)


def row(held: set[int], base: float) -> Weighed:
    kept = frozenset(held)
    return Weighed(NotePath("a.md"), "0" * 64, "", FACTS, base, Traces(kept, 0.0, 0.0, -1, -1), kept, 0.0)


def question(count: int) -> Question:
    return read(" ".join(f"w{number}x" for number in range(count)), Lexicon())


def test_nothing_found_is_none_and_all_found_is_high() -> None:
    asked = question(3)
    assert confidence(asked, [], (5.0, 5.0, 5.0)) == ("none", ["w0x", "w1x", "w2x"])
    assert confidence(asked, [row({0, 1, 2}, 20.0)], (5.0, 5.0, 5.0)) == ("high", [])
    sure, missing = confidence(asked, [row({0}, 4.0)], (2.0, 7.0, 7.0))
    assert sure == "none"
    assert missing == ["w1x", "w2x"]


@given(st.sets(st.integers(0, 3)), st.sets(st.integers(0, 3)), st.floats(0, 40), st.floats(0, 20))
def test_a_note_that_holds_more_is_never_less_sure(held: set[int], more: set[int], base: float, above: float) -> None:
    weights = (1.0, 3.0, 5.0, 7.0)
    less, _ = confidence(question(4), [row(held, base)], weights)
    greater, _ = confidence(question(4), [row(held | more, base + above)], weights)
    assert ORDER.index(greater) >= ORDER.index(less)


def test_only_the_best_five_count() -> None:
    rows = [row({0}, 1.0)] * 5
    weights = (1.0, 8.0, 8.0)
    assert (
        confidence(question(3), [*rows, row({0, 1, 2}, 60.0)], weights)[0] == confidence(question(3), rows, weights)[0]
    )


@pytest.mark.parametrize("query", ["zymurgy kiosk", "zymurgy kiosk opening hours of the inverter"])
def test_a_question_about_something_else_is_flagged(tmp_path: Path, query: str) -> None:
    room = Room(tmp_path)
    room.put("a.md", "# Battery\n\nthe inverter battery is charged at night\n")
    room.sweep()
    assert room.ask(query).confidence in ("low", "none")
    room.index.close()
