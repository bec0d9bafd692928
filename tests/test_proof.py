"""What the gateway says of the backup: nothing before one was set up, its age after, a warning when it is overdue."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from backup import places
from muninn import proof
from muninn.model.answer import ContractAnswer
from muninn.model.refusal import Code, Refusal

ANSWER = ContractAnswer("1", "x", (), {}, None, ())


def lay(home: Path, **fields: Any) -> None:
    (home / "backup").mkdir(exist_ok=True)
    written: dict[str, Any] = {"set_up": ago(0), "last_ok": None, "files": None} | fields
    draft = home / "backup/draft"
    draft.write_text(json.dumps(written))
    draft.replace(home / "backup/proof.json")


def ago(hours: float) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def codes(home: Path) -> list[str]:
    return [warn.code for warn in proof.warned(home, ANSWER).warnings]


def test_nothing_is_said_before_a_backup_was_set_up(tmp_path: Path) -> None:
    assert proof.status(tmp_path) == {"last_ok": None, "age_h": None, "files": None}
    assert proof.warned(tmp_path, ANSWER) is ANSWER


def test_a_proven_backup_shows_its_age(tmp_path: Path) -> None:
    then = ago(2)
    lay(tmp_path, last_ok=then, files=7)
    assert proof.status(tmp_path) == {"last_ok": then, "age_h": 2.0, "files": 7}
    assert codes(tmp_path) == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"last_ok": ago(34), "files": 1}, None),
        ({"last_ok": ago(36.1), "files": 1}, "no backup was proven for 36 h"),
        ({"set_up": ago(34)}, None),
        ({"set_up": ago(40)}, "set up 40 h ago and none was proven yet"),
        ({"set_up": ago(99), "last_ok": ago(1), "files": 1}, None),
        ({"last_ok": ago(-5), "files": 1}, "ahead of this machine's clock"),
        ({"last_ok": ago(-0.5), "files": 1}, None),
    ],
)
def test_it_is_overdue_after_36_hours(tmp_path: Path, fields: dict[str, Any], told: str | None) -> None:
    lay(tmp_path, **fields)
    warn = proof.overdue(tmp_path)
    assert (warn is None) is (told is None)
    if warn is not None and told is not None:
        assert warn.code == "backup_overdue"
        assert told in warn.message
    assert proof.status(tmp_path)["age_h"] is None or proof.status(tmp_path)["age_h"] >= 0


def test_a_new_proof_counts_at_once(tmp_path: Path) -> None:
    lay(tmp_path, last_ok=ago(50), files=1)
    assert codes(tmp_path) == ["backup_overdue"]
    lay(tmp_path, last_ok=ago(0), files=2)
    assert codes(tmp_path) == []
    assert proof.status(tmp_path)["files"] == 2


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"set_up": "yesterday", "last_ok": null, "files": null}', "\udcff"])
def test_a_file_that_is_no_proof_breaks_no_answer(tmp_path: Path, text: str) -> None:
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup/proof.json").write_bytes(os.fsencode(text))
    assert proof.status(tmp_path)["last_ok"] is None
    assert proof.warned(tmp_path, ANSWER) is ANSWER


def test_a_refusal_carries_no_warning(tmp_path: Path) -> None:
    lay(tmp_path, last_ok=ago(50), files=1)
    refusal = Refusal(Code.NOT_FOUND, "x")
    assert proof.warned(tmp_path, refusal) is refusal


def test_gateway_and_command_call_it_overdue_after_the_same_time() -> None:
    assert proof.OVERDUE_H == places.OVERDUE_H


def test_without_a_zone_it_is_no_time(tmp_path: Path) -> None:
    lay(tmp_path, set_up="2026-01-01T00:00:00")
    assert proof.of(tmp_path) is None
