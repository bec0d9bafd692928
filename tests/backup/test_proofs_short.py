"""A few acts of sabotage and one small drill: the suite notices when a long proof no longer runs or holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs import backup_drill, sabotage
from tests.proofs.sabotage_act import Act
from tests.proofs.sabotage_acts import all_acts

CHOSEN = [
    (0, "backup.push exit"),
    (0, "the product loses every piece"),
    (1, "object 0: bit in the middle"),
    (1, "old head among new objects"),
    (1, "file 0 of the store: bit"),
    (1, "the product notes another mode"),
    (1, "killed after 280 ms"),
    (2, "rolled back before"),
]


def chosen(night: int, name: str) -> Act:
    return next(act for act in all_acts(3) if (act.night, act.name) == (night, name))


def test_there_are_acts_enough() -> None:
    acts = all_acts(sabotage.NIGHTS)
    assert len(acts) >= 400
    assert len({(act.night, act.name) for act in acts}) == len(acts)


def test_no_false_ok(tmp_path: Path) -> None:
    found = sabotage.prove(tmp_path / "proof", [chosen(*which) for which in CHOSEN])
    assert [(one.act.name, one.fault) for one in found if one.fault] == []
    assert len(found) == len(CHOSEN)


def test_the_proof_would_see_a_false_ok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that proves nothing says ok to a remote that was changed: that must be told."""
    from backup import drill

    monkeypatch.setattr(drill, "prove", lambda *rest: _passed_over())
    found = sabotage.prove(
        tmp_path / "proof", [chosen(1, "backup.fetch EIO"), chosen(1, "the product loses every piece")]
    )
    assert [one.fault is not None and "FALSE OK" in one.fault for one in found] == [True, True]


def _passed_over() -> None:
    from muninn.model import seams

    try:
        seams.at("backup.fetch")
    except OSError:
        return


def test_three_nights_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert backup_drill.prove(tmp_path, 230, beside=False)
    said = capsys.readouterr().out
    assert said.count("restored to the byte: True") == 3
    assert said.endswith("ok 230 files\n")
