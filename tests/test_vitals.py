"""What is looked up for a scrape: nothing of the vault's files, and no more about notes than the client may know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muninn import opening, vitals
from muninn.door import Door
from muninn.metrics import Metrics
from muninn.model.rights import Globs, Rights
from muninn.settings import load
from muninn.vault import Vault
from tests.conftest import note_text, path


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """A door with a real index over two public notes and two private ones."""
    for name in ("a.md", "b.md", "private/c.md", "private/d.md"):
        file = tmp_path / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note_text())
    settings = load({}, *(str(tmp_path / name) for name in ("vault", "home", "cache")))
    made = opening.for_serving(settings)
    made.index.sweep(made.vault.walk, made.vault.look)
    yield made
    made.index.close()
    made.ledger.close()


def rights(door: Door, *scopes: str, read: str = "**") -> Rights:
    return Rights("m", frozenset({"metrics", *scopes}), Globs((read,)), private_paths=door.contract.private)


def test_a_scrape_walks_nothing_and_reads_no_file(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a scrape went to the files")

    for way in ("walk", "look"):
        monkeypatch.setattr(Vault, way, refuse)
    page = Metrics(["read"]).page(door, rights(door, "private"))
    assert b"muninn_index_notes 4.0" in page


def test_the_share_that_can_be_undone_is_taken_of_the_notes_that_are_seen(door: Door) -> None:
    assert vitals.take(door, rights(door)).undoable is None, "not counted yet"
    door.coverage.counted = True
    door.coverage.bare = {path("private/c.md"), path("private/d.md"), path("b.md")}
    assert vitals.take(door, rights(door)).undoable == 0.5
    assert vitals.take(door, rights(door, "private")).undoable == 0.25
    assert vitals.take(door, rights(door, read="team/")).undoable is None


def test_a_backup_is_told_by_its_proof_alone(door: Door) -> None:
    assert not vitals.take(door, rights(door)).backup.set_up
    then = datetime.now(UTC) - timedelta(hours=40)
    proof = {"set_up": then.isoformat(), "last_ok": then.isoformat(), "files": 4}
    file = door.home / "backup" / "proof.json"
    file.parent.mkdir()
    file.write_text(json.dumps(proof))
    found = vitals.take(door, rights(door)).backup
    assert (found.set_up, found.overdue, found.last_ok) == (True, True, then.timestamp())
    assert found.age_s is not None
    assert abs(found.age_s - 40 * 3600) < 60


@pytest.mark.parametrize(("last_ok", "told"), [("2026-05-04T00:00:00Z", 1777852800.0), ("yesterday", None)])
def test_a_canary_that_failed_is_told(door: Door, last_ok: str, told: float | None) -> None:
    assert vitals.take(door, rights(door)).canary is None
    state = {"at": "2026-05-05T00:00:00Z", "ok": False, "last_ok": last_ok, "asked": 3, "failing": ["q1", "q2"]}
    (door.home / "canary-state.json").write_text(json.dumps(state))
    assert vitals.take(door, rights(door)).canary == vitals.OfCanary(2, told)


def test_an_index_that_is_not_ready_gives_no_numbers(door: Door) -> None:
    for file in door.home.parent.joinpath("cache").glob("index*.db"):
        file.unlink()
    found = vitals.take(door, rights(door)).index
    assert (found.state, found.notes, found.size) == ("building", None, None)
    page = Metrics([]).page(door, rights(door)).decode()
    assert 'muninn_index_state{state="building"} 1.0' in page
    assert "\nmuninn_index_notes " not in page
