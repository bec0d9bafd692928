"""Backups and the canary: what their small files say, and no more than a client may know."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from muninn.model.rights import DEFAULT_SCOPES, Globs, Rights
from muninn.web import nights


def proof(home: Path, set_up: float, last_ok: float | None, files: int | None = None) -> None:
    def ago(hours: float | None) -> str | None:
        return None if hours is None else (datetime.now(UTC) - timedelta(hours=hours)).isoformat()

    (home / "backup").mkdir(exist_ok=True)
    found = {"set_up": ago(set_up), "last_ok": ago(last_ok), "files": files, "set": "s"}
    (home / "backup" / "proof.json").write_text(json.dumps(found))


def test_each_state_of_the_backup(tmp_path: Path) -> None:
    assert nights.night(tmp_path).state == "none"
    proof(tmp_path, 1, None)
    assert nights.night(tmp_path).state == "never"
    proof(tmp_path, 500, 3, 12)
    good = nights.night(tmp_path)
    assert (good.state, good.age, good.files, good.warning) == ("proven", "3 hours ago", 12, None)
    proof(tmp_path, 500, 49, 12)
    late = nights.night(tmp_path)
    assert (late.state, late.age) == ("overdue", "2 days ago")
    assert late.warning is not None
    assert "49 h" in late.warning
    proof(tmp_path, 40, None)
    assert nights.night(tmp_path).state == "overdue"
    proof(tmp_path, 500, -24, 12)
    assert (nights.night(tmp_path).state, nights.night(tmp_path).age) == ("overdue", "in the future")


def test_names_of_canary_questions_are_for_those_who_see_everything(tmp_path: Path) -> None:
    private = Globs(("private/",))
    everything = Rights("a", DEFAULT_SCOPES | {"private"}, private_paths=private)
    some = Rights("a", DEFAULT_SCOPES, private_paths=private)
    narrow = Rights("a", DEFAULT_SCOPES | {"private"}, Globs(("s/**",)), private_paths=private)
    assert nights.bird(tmp_path, everything) is None
    state = {"at": "2026-05-04T00:00:00Z", "ok": False, "last_ok": None, "asked": 3, "failing": ["my-divorce"]}
    (tmp_path / "canary-state.json").write_text(json.dumps(state))
    found = [nights.bird(tmp_path, rights) for rights in (everything, some, narrow)]
    assert [one.failing for one in found if one] == [("my-divorce",), None, None]
    assert {one.failed for one in found if one} == {1}
