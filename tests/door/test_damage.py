"""A ledger that was changed with care: nothing is torn, and still the gateway finds it and stops writing."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw

from tests.door.gateway import Gateway, places, served, until_ready


def note(title: str) -> str:
    return f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\ntext\n"


def forge(ledger: Path) -> None:
    """Put one of the middle rows a year back, and leave the triggers as they were."""
    with closing(apsw.Connection(str(ledger))) as connection:
        (statement,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'rows_stay'").fetchone() or ("",)
        connection.execute("DROP TRIGGER rows_stay")
        connection.execute("UPDATE rows SET at = '2025' || substr(at, 5) WHERE seq = 4")
        connection.execute(str(statement))


def until_down(made: Gateway) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if made.ask("GET", "/health", {}).status == 503:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("the gateway did not say that something is broken")


def test_a_row_that_was_changed_with_care_stops_writes_and_not_reads(tmp_path: Path) -> None:
    made = places(tmp_path)
    with served(made):
        until_ready(made)
        for number in range(4):
            answer = made.call("write", {"path": f"w/{number}.md", "content": note("N"), "expected_hash": "missing"})
            assert answer["state"] == "committed"
    forge(made.home / "ledger.db")
    command = [sys.executable, "-P", "-m", "muninn", "serve", "--port", str(made.port)]
    with (made.folder / "log").open("ab") as log:
        made.process = subprocess.Popen(command, env=made.environment, stdout=log, stderr=log)
    try:
        until_down(made)
        refused = made.call("write", {"path": "w/new.md", "content": note("N"), "expected_hash": "missing"})
        assert refused["error"]["code"] == "ledger_unavailable"
        assert not (made.vault / "w/new.md").exists()
        assert made.call("read", {"path": "w/1.md"})["content"] == note("N")
        assert made.call("status", {})["ledger"]["state"] == "broken"
        assert "row 4" in made.log()
    finally:
        made.stop()
