"""The committed questions on the bundled vault: nothing falls below the committed figures or what was promised."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from eval import baseline
from eval.__main__ import SAMPLE
from eval.questions import BUNDLED, load
from eval.run import run
from eval.score import Sheet

LEAST_FIRST = 0.60
LEAST_FIVE = 0.90
LEAST_FLAGGED = 0.50
MOST_WRONGLY = 0.10


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    (made,) = run(SAMPLE, load(BUNDLED), [baseline.ENGINE])
    return made


def test_the_questions_are_the_frozen_ones() -> None:
    pinned = Path(BUNDLED).with_suffix(".sha256").read_text().split()[0]
    assert hashlib.sha256(BUNDLED.read_bytes()).hexdigest() == pinned
    asked = load(BUNDLED)
    assert len(asked.answerable) == 44
    assert len(asked.unanswerable) >= 15
    assert all((SAMPLE / path).is_file() for question in asked.answerable for path in question.right)


def test_nothing_has_fallen_below_the_baseline(sheet: Sheet) -> None:
    assert [str(fall) for fall in baseline.falls(baseline.KEPT, sheet, BUNDLED)] == []


def test_what_was_promised_is_reached(sheet: Sheet) -> None:
    score = sheet.score()
    assert score.top1 >= LEAST_FIRST
    assert score.top5 >= LEAST_FIVE
    assert score.flagged_unanswerable is not None
    assert score.flagged_answerable is not None
    assert score.flagged_unanswerable >= LEAST_FLAGGED
    assert score.flagged_answerable <= MOST_WRONGLY
