"""No flipped bit is silent: a sample of what ``python -P -m tests.ledger.bits`` does for every byte."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ledger import verify
from tests.ledger import bits
from tests.ledger.filled import everything

_EVENTS = 60


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bits.same_ledger(tmp_path_factory.mktemp("bits"), _EVENTS)


def test_the_ledger_is_clean_and_the_same_in_every_run(file: Path, tmp_path: Path) -> None:
    assert verify(file).faults == ()
    assert bits.same_ledger(tmp_path, _EVENTS).read_bytes() == file.read_bytes()
    assert everything(tmp_path / "ledger.db") == everything(file)


def test_each_flip_in_the_header_is_reported_or_changes_nothing(file: Path) -> None:
    found = list(bits.flips(file, range(100)))
    assert [flip for flip in found if flip.how == "silent"] == []
    # How it is written and read, and its schema: it may read the same, but it would behave otherwise.
    assert {18, 19, 63} <= {flip.offset for flip in found if flip.how == "reported"}


def test_each_flip_is_reported_or_changes_nothing(file: Path) -> None:
    unused = bits.gaps(file.read_bytes())
    used = [offset for offset in range(100, len(unused)) if not unused[offset]]
    free = [offset for offset in range(100, len(unused)) if unused[offset]]
    found = list(bits.flips(file, used[::71] + free[::997]))
    assert [flip for flip in found if flip.how == "silent"] == []
    counted = Counter(flip.how for flip in found)
    assert counted["reported"] > len(used[::71]) * 0.9


def test_the_long_form_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    assert bits.main(["--events", "3", "--from", "40", "--to", "60", "--step", "4"]) == 0
    assert "5 bytes:" in capsys.readouterr().out
    assert bits.main(["--events", "3", "--from", "40", "--to", "60", "--seconds", "0"]) == 0
    assert "go on with --from 41" in capsys.readouterr().out
