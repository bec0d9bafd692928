"""Around the door: outside edits are found, kept, told of, recorded once, and can be undone by the person."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.door.gateway import Gateway, places, served, until_ready


def note(title: str, body: str = "text") -> str:
    return f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\n{body}\n"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    made = places(tmp_path)
    (made.vault / "w").mkdir()
    for name in ("a", "b", "c"):
        (made.vault / f"w/{name}.md").write_text(note(name.upper()))
    with served(made):
        until_ready(made)
        settled(made)
        yield made


def settled(made: Gateway) -> None:
    for _ in range(100):
        if made.call("status", {})["undoable"] == 1.0:
            return
        time.sleep(0.1)
    raise AssertionError("the baseline was not kept")


def events(made: Gateway, path: str, least: int = 1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(60):
        found = made.call("history", {"path": path})["events"]
        if len(found) >= least:
            return found
        time.sleep(0.1)
    return found


def test_files_found_by_the_first_scan_are_no_events(gateway: Gateway) -> None:
    assert gateway.call("history", {"path": "w/a.md"})["events"] == []
    assert gateway.call("status", {})["ledger"]["events"] == 0


def test_an_outside_edit_is_one_event_with_both_sides_kept(gateway: Gateway) -> None:
    before = gateway.call("read", {"path": "w/a.md"})["hash"]
    (gateway.vault / "w/a.md").write_text(note("A", "by hand"))
    (event,) = events(gateway, "w/a.md")
    assert (event["kind"], event["client"], event["before"]) == ("external", None, before)
    assert event["before_kept"]
    assert event["after_kept"]
    now = gateway.call("read", {"path": "w/a.md"})
    assert [warning["code"] for warning in now["warnings"]] == ["external_change"]
    assert gateway.call("read", {"path": "w/a.md", "revision": before})["content"] == note("A")
    for _ in range(2):
        assert gateway.muninn("index", "scan", "--json").returncode == 0
    assert len(events(gateway, "w/a.md")) == 1


def test_an_outside_removal_and_a_new_file_are_events_and_a_rename_is_two(gateway: Gateway) -> None:
    (gateway.vault / "w/b.md").rename(gateway.vault / "w/d.md")
    assert [event["after"] for event in events(gateway, "w/b.md")] == ["missing"]
    assert [event["before"] for event in events(gateway, "w/d.md")] == ["missing"]
    back = gateway.call("restore", {"path": "w/b.md", "revision": events(gateway, "w/b.md")[0]["event"]})
    assert back["state"] == "committed"


def test_a_refused_write_records_what_it_found_and_no_event_of_its_own(gateway: Gateway) -> None:
    old = gateway.call("read", {"path": "w/c.md"})["hash"]
    (gateway.vault / "w/c.md").write_text(note("C", "by hand"))
    refused = gateway.call("write", {"path": "w/c.md", "content": note("C", "mine"), "expected_hash": old})
    error = refused["error"]
    assert error["code"] == "conflict"
    assert error["changed_by"] is None
    assert "+by hand" in error["diff"]
    assert [event["kind"] for event in events(gateway, "w/c.md")] == ["external"]


def test_a_placeholder_is_no_removal(gateway: Gateway) -> None:
    (gateway.vault / "w/a.md").rename(gateway.vault / "w/.a.md.icloud")
    assert gateway.muninn("index", "scan").returncode == 0
    time.sleep(1)
    assert gateway.call("history", {"path": "w/a.md"})["events"] == []
    assert gateway.call("read", {"path": "w/a.md"})["error"]["code"] == "vault_unavailable"


def test_what_happened_while_the_door_was_shut_is_found_at_the_next_start(tmp_path: Path) -> None:
    made = places(tmp_path)
    (made.vault / "a.md").write_text(note("A"))
    (made.vault / "b.md").write_text(note("B"))
    with served(made):
        until_ready(made)
        settled(made)
    (made.vault / "a.md").write_text(note("A", "at night"))
    (made.vault / "b.md").unlink()
    (made.folder / "cache/index.db").unlink()
    with served(made):
        until_ready(made)
        assert [event["kind"] for event in events(made, "a.md")] == ["external"]
        assert [event["after"] for event in events(made, "b.md")] == ["missing"]


def test_without_a_baseline_the_first_outside_edit_is_told_but_cannot_be_undone(tmp_path: Path) -> None:
    made = places(tmp_path)
    (made.home / "muninn.toml").write_text("baseline = false\n")
    (made.vault / "a.md").write_text(note("A"))
    with served(made):
        until_ready(made)
        time.sleep(0.5)
        assert made.call("status", {})["undoable"] == 0.0
        (made.vault / "a.md").write_text(note("A", "by hand"))
        (event,) = events(made, "a.md")
        assert (event["before_kept"], event["after_kept"]) == (False, True)


def test_undo_takes_back_what_came_around_the_door(gateway: Gateway) -> None:
    (gateway.vault / "w/a.md").write_text(note("A", "by hand"))
    (gateway.vault / "w/b.md").unlink()
    (gateway.vault / "w/new.md").write_text(note("New"))
    for path in ("w/a.md", "w/b.md", "w/new.md"):
        assert events(gateway, path)
    dry = json.loads(gateway.muninn("undo", "--external", "--since", "1h", "--dry-run", "--json").stdout)
    assert {row["path"]: row["state"] for row in dry["reversals"]} == dict.fromkeys(
        ["w/a.md", "w/b.md", "w/new.md"], "planned"
    )
    assert "by hand" in (gateway.vault / "w/a.md").read_text()
    assert gateway.muninn("undo", "--external", "--since", "1h").returncode == 0
    assert (gateway.vault / "w/a.md").read_text() == note("A")
    assert (gateway.vault / "w/b.md").read_text() == note("B")
    assert not (gateway.vault / "w/new.md").exists()
    assert [event["kind"] for event in events(gateway, "w/a.md", 2)] == ["undo", "external"]
    verified = gateway.muninn("ledger", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_undo_of_a_client_leaves_what_others_changed_since(gateway: Gateway) -> None:
    gateway.add("other")
    for path in ("w/a.md", "w/b.md"):
        base = gateway.call("read", {"path": path})["hash"]
        gateway.call("edit", {"path": path, "edits": [{"append": "spam\n"}], "expected_hash": base})
    mine = gateway.call("read", {"path": "w/b.md"}, client="other")["hash"]
    edit = {"path": "w/b.md", "edits": [{"append": "mine\n"}], "expected_hash": mine}
    assert gateway.call("edit", edit, client="other")["state"] == "committed"
    undone = gateway.muninn("undo", "--client", "a", "--since", "1h", "--json")
    assert undone.returncode == 1
    rows = {row["path"]: row for row in json.loads(undone.stdout)["reversals"]}
    assert rows["w/a.md"]["state"] == "undone"
    assert rows["w/b.md"]["state"] == "left"
    assert "other" in rows["w/b.md"]["why"]
    assert (gateway.vault / "w/a.md").read_text() == note("A")
    assert "mine" in (gateway.vault / "w/b.md").read_text()


def test_undo_needs_to_know_whose(gateway: Gateway) -> None:
    assert gateway.muninn("undo", "--since", "1h").returncode == 2
    assert gateway.muninn("undo", "--client", "a", "--external", "--since", "1h").returncode == 2
    assert gateway.muninn("undo", "--client", "a", "--since", "whenever").returncode == 1
