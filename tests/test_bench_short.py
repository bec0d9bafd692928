"""The bench on a small vault: every row is produced, and what is a count holds. No time is judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import verify
from tests.bench import lasting
from tests.bench.gates import GATES, Row
from tests.bench.timing import percentile

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """What the command prints for 300 notes."""
    command = [sys.executable, "-P", "-m", "tests.bench", "--notes", "300", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def counted(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> Callable[[str], dict[str, Any]]:
    """Gives a counted row; where nothing could be counted the test is skipped, and says so past the capture."""

    def row(number: str) -> dict[str, Any]:
        for gap in report["skipped"]:
            if gap["number"] == number:
                with capsys.disabled():
                    print(f"\nSKIPPED: {number} was not counted, {gap['why']}")
                pytest.skip(f"{number} was not counted: {gap['why']}")
        found: dict[str, Any] = next(one for one in report["rows"] if one["number"] == number)
        return found

    return row


def test_every_gate_has_its_row(report: dict[str, Any]) -> None:
    told = [one["number"] for one in report["rows"]] + [gap["number"] for gap in report["skipped"]]
    assert sorted(told) == sorted(gate.number for gate in GATES)
    assert report["broke"] == []
    assert report["notes"] == 300
    assert all(one["subject"] >= 0 for one in report["rows"])
    assert {one["verdict"] for one in report["rows"]} <= {"held", "missed", "-"}


def test_a_write_needs_at_most_five_syncs(counted: Callable[[str], dict[str, Any]]) -> None:
    assert counted("P14")["subject"] <= 5, counted("P14")["note"]


def test_in_a_crowd_a_write_needs_at_most_two(counted: Callable[[str], dict[str, Any]]) -> None:
    assert counted("P14/8")["subject"] <= 2, counted("P14/8")["note"]


def test_an_overwrite_adds_less_than_the_note(counted: Callable[[str], dict[str, Any]]) -> None:
    assert counted("P19")["ratio"] <= 0.8


def test_a_laid_ledger_is_one_that_verifies(tmp_path: Path) -> None:
    lasting.build(tmp_path / "laid.db", 150).close()
    found = verify(tmp_path / "laid.db")
    assert (found.events, found.faults) == (150, ())


def test_a_dry_run_writes_nothing(counted: Callable[[str], dict[str, Any]]) -> None:
    assert counted("P15")["subject"] == 0, counted("P15")["note"]


def test_the_steps_of_a_write_make_up_the_whole(report: dict[str, Any]) -> None:
    *steps, whole = report["steps"]
    assert whole["step"] == "a write, p50"
    assert sum(step["share"] for step in steps) == pytest.approx(1.0)


def test_a_gate_is_judged_by_ratio_or_by_value() -> None:
    by_number = {gate.number: gate for gate in GATES}
    assert Row(by_number["P1"], 1.5, 1.0).verdict(5_000) == "held"
    assert Row(by_number["P1"], 1.7, 1.0).verdict(5_000) == "missed"
    assert Row(by_number["P15"], 1, None).verdict(5_000) == "missed"
    assert Row(by_number["P6"], 1.5, 1.0).verdict(5_000) == "held"
    assert Row(by_number["P6"], 1.5, 1.0).verdict(100_000) == "missed"
    assert Row(by_number["update"], 9, 1).verdict(5_000) == "-"


def test_percentile_takes_a_value_that_was_measured() -> None:
    assert percentile([5.0], 0.95) == 5.0
    assert percentile(list(range(1, 101)), 0.95) == 95
