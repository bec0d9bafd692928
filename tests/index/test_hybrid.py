"""Words and meaning mixed: each spread over the same notes, the shares by whether words know all, logs at half."""

from __future__ import annotations

from dataclasses import replace

import pytest

from index.fields import LOG, Facts
from index.hybrid import LEAST_SPREAD, MEANING, MEANING_OF_KNOWN, mixed
from index.passages import Traces
from index.weighing import Weighed

from .room import note_path


def row(path: str, score: float, flags: int = 0) -> Weighed:
    facts = Facts(path, None, None, None, "2026-05-04", (), flags, 0)
    traces = Traces(frozenset({0}), 0.0, 0.0, 0, 1)
    return Weighed(note_path(path), "0" * 64, "text", facts, score, traces, frozenset({0}), 0.0, score=score)


def order(rows: list[Weighed], cosines: dict[str, float], count: int | None = None, asked: int = 2) -> dict[str, float]:
    """Every row holds one word of the question; by default it has two."""
    union = {row.path for row in rows[: count if count is not None else len(rows)]}
    return {str(row.path): row.score for row in mixed(rows, union, cosines, asked)}


def test_meaning_weighs_more_than_words_and_both_count() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.5), row("c.md", 0.0)]
    found = order(rows, {"a.md": 0.2, "b.md": 0.5, "c.md": 0.8})
    assert list(found) == ["c.md", "b.md", "a.md"]
    assert found == {"c.md": MEANING, "b.md": 0.5, "a.md": round(1 - MEANING, 6)}
    assert list(order(rows, {"a.md": 0.8, "b.md": 0.5, "c.md": 0.2})) == ["a.md", "b.md", "c.md"]


def test_words_lead_where_their_first_note_holds_the_whole_question() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.5), row("c.md", 0.0)]
    found = order(rows, {"a.md": 0.2, "b.md": 0.2, "c.md": 0.8}, asked=1)
    assert found == {"a.md": round(1 - MEANING_OF_KNOWN, 6), "c.md": MEANING_OF_KNOWN, "b.md": 0.3}
    assert next(iter(order(rows, {"a.md": 0.2, "b.md": 0.2, "c.md": 0.8}, asked=2))) == "c.md"


def test_another_note_that_holds_the_whole_question_does_not_make_words_lead() -> None:
    rows = [row("a.md", 1.0), replace(row("b.md", 0.5), held=frozenset({0, 1})), row("c.md", 0.0)]
    assert next(iter(order(rows, {"a.md": 0.2, "b.md": 0.2, "c.md": 0.8}))) == "c.md"


def test_cosines_that_lie_close_together_count_less() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.5), row("c.md", 0.0)]
    near = order(rows, {"a.md": 0.5, "b.md": 0.55, "c.md": 0.6})
    assert list(near) == ["a.md", "b.md", "c.md"]
    assert near["a.md"] == pytest.approx(1 - MEANING * 0.1 / LEAST_SPREAD)
    assert near["c.md"] == pytest.approx(MEANING)
    assert list(order(rows, {"a.md": 0.2, "b.md": 0.5, "c.md": 0.8})) == ["c.md", "b.md", "a.md"]


def test_a_note_without_a_vector_loses_nothing_by_close_cosines() -> None:
    rows = [row("a.md", 1.0), row("private.md", 0.8), row("b.md", 0.8), row("c.md", 0.0)]
    found = order(rows, {"a.md": 0.6, "b.md": 0.58, "c.md": 0.5})
    assert found["private.md"] == found["b.md"]
    assert found["c.md"] < found["private.md"] < found["a.md"]
    alike = order(rows, {"a.md": 0.5, "b.md": 0.5, "c.md": 0.5})
    assert alike["private.md"] == alike["b.md"]


def test_a_log_without_a_vector_counts_as_one_with() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.5), row("2026-05-04.md", 0.5, LOG), row("2026-05-05.md", 0.5, LOG)]
    rows.append(row("c.md", 0.0))
    found = order(rows, {"a.md": 0.5, "2026-05-04.md": 0.5, "c.md": 0.5})
    assert found["2026-05-04.md"] == found["2026-05-05.md"] == pytest.approx(found["b.md"] - MEANING / 2)


def test_a_log_without_a_vector_is_not_halved_twice() -> None:
    rows = [row("a.md", 1.0), row("2026-05-04.md", 0.5, LOG), row("c.md", 0.0)]
    assert order(rows, {"a.md": 0.9, "c.md": 0.1})["2026-05-04.md"] == 0.5


def test_what_is_not_mixed_does_not_move_what_is() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.5), row("c.md", 0.1)]
    alone, beside = (order(rows, {"a.md": 0.5, "b.md": 0.6} | more, count=2) for more in ({}, {"c.md": -0.5}))
    assert alone == beside


def test_where_no_meaning_is_known_words_alone_decide() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.5), row("c.md", 0.0)]
    assert order(rows, {}) == {"a.md": 1.0, "b.md": 0.5, "c.md": 0.0}


def test_a_note_without_a_vector_is_placed_by_its_words() -> None:
    rows = [row("a.md", 1.0), row("private.md", 0.8), row("c.md", 0.0)]
    found = order(rows, {"a.md": 0.7, "c.md": 0.3})
    assert found == {"a.md": 1.0, "private.md": 0.8, "c.md": 0.0}


def test_daily_logs_count_half_by_meaning() -> None:
    rows = [row("a.md", 0.0), row("2026-05-04.md", 0.0, LOG), row("c.md", 0.0)]
    found = order(rows, {"a.md": 0.5, "2026-05-04.md": 0.8, "c.md": 0.2})
    assert found["2026-05-04.md"] - found["c.md"] == pytest.approx(MEANING / 2)


def test_the_rest_follows_in_its_order() -> None:
    rows = [row("a.md", 1.0), row("b.md", 0.9), row("c.md", 0.8), row("d.md", 0.7)]
    found = order(rows, {"a.md": 0.2, "b.md": 0.9}, count=2)
    assert list(found)[2:] == ["c.md", "d.md"]
    assert found["c.md"] <= min(found["a.md"], found["b.md"])


def test_a_conflict_copy_comes_after_its_original() -> None:
    copy = "a (conflicted copy 2026-05-04).md"
    rows = [row("a.md", 0.2), row(copy, 1.0), row("c.md", 0.0)]
    found = order(rows, {"a.md": 0.3, copy: 0.9, "c.md": 0.2})
    assert list(found).index("a.md") < list(found).index(copy)


def test_a_note_that_the_question_names_stays_first() -> None:
    rows = [replace(row("a.md", 1.0), named=True), row("b.md", 0.5)]
    assert next(iter(order(rows, {"a.md": 0.1, "b.md": 0.9}))) == "a.md"


def test_nothing_is_nothing() -> None:
    assert mixed([], set(), {}, 1) == []
