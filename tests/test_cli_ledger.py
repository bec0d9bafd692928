"""``muninn ledger`` and ``muninn history --diff``: what they print and refuse; and the ledger at serving start."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result

from muninn import opening, standing, writing
from muninn.cli import command
from muninn.door import Door
from muninn.model.change import Receipt
from muninn.model.content import MISSING, Basis, ContentHash
from muninn.model.draft import WriteDraft
from muninn.model.errors import SettingsError
from muninn.model.refusal import Refusal
from muninn.model.rights import SCOPES, Rights
from muninn.settings import Settings, load
from tests.conftest import note_text, path

ONE, TWO = note_text("the canary sings\n"), note_text("the canary is silent\n")


class Person:
    """Somebody at the machine with a vault that was served."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.vault, self.home = folder, folder / "vault", folder / "home"
        self.vault.mkdir()
        self.places = {
            "MUNINN_VAULT": str(self.vault),
            "MUNINN_HOME": str(self.home),
            "MUNINN_CACHE": str(folder / "cache"),
        }
        self.doors: list[Door] = []

    @property
    def settings(self) -> Settings:
        return load(self.places, None, None, None)

    @property
    def ledger(self) -> Path:
        return self.home / "ledger.db"

    def serve(self) -> Door:
        door = opening.for_serving(self.settings)
        self.doors.append(door)
        return door

    def write(self, door: Door, name: str, content: bytes, expected: Basis) -> Any:
        rights = Rights("ada", frozenset(SCOPES), private_paths=door.contract.private)
        return writing.commit(door, rights, WriteDraft(path(name), name, content, expected), None)

    def runs(self, *arguments: str, stdin: str = "") -> Result:
        return CliRunner().invoke(command, list(arguments), input=stdin, env=self.places)

    def json(self, *arguments: str, exit_code: int = 0) -> Any:
        ran = self.runs(*arguments, "--json")
        assert ran.exit_code == exit_code, ran.output
        return json.loads(ran.stdout)


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    made = Person(tmp_path)
    yield made
    for door in made.doors:
        door.ledger.close()
        door.index.close()


@pytest.fixture
def served(person: Person) -> Person:
    """Two events of one note."""
    door = person.serve()
    for content, expected in ((ONE, MISSING), (TWO, ContentHash.of(ONE))):
        assert isinstance(person.write(door, "a.md", content, expected), Receipt)
    return person


def change_outside(file: Path, statement: str) -> None:
    with closing(apsw.Connection(str(file))) as other:
        for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {name}")
        other.execute(statement)


def test_verify_says_what_it_counted(served: Person) -> None:
    found = served.json("ledger", "verify")
    assert (found["ok"], found["events"], found["faults"], found["checkpoint"]) == (True, 2, [], None)
    assert served.runs("ledger", "verify").output.startswith("ledger ok: 6 rows, 2 events")


def test_a_checkpoint_is_signed_and_compared(served: Person) -> None:
    file = served.folder / "signed"
    assert served.runs("ledger", "checkpoint", "--to", str(file)).exit_code == 0
    text = file.read_text()
    assert text.startswith("muninn checkpoint 1\norigin ")
    printed = served.runs("ledger", "checkpoint").stdout
    assert printed.splitlines()[:5] == text.splitlines()[:5]
    assert served.json("ledger", "checkpoint")["rows"] == 6
    assert "checkpoint at row 6" in served.runs("ledger", "verify", "--checkpoint", str(file)).output
    assert served.json("ledger", "verify", "--checkpoint", str(file))["checkpoint"] == 6


def test_a_ledger_that_was_rolled_back_is_found_by_the_checkpoint_alone(served: Person) -> None:
    file = served.folder / "signed"
    with closing(apsw.Connection(str(served.ledger))) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    older = served.ledger.read_bytes()
    assert isinstance(served.write(served.doors[0], "a.md", ONE, ContentHash.of(TWO)), Receipt)
    assert served.runs("ledger", "checkpoint", "--to", str(file)).exit_code == 0
    served.doors[0].ledger.close()
    for company in served.home.glob("ledger.db-*"):
        company.unlink()
    served.ledger.write_bytes(older)
    assert served.json("ledger", "verify")["ok"] is True
    found = served.json("ledger", "verify", "--checkpoint", str(file), exit_code=1)
    assert "8 rows were signed" in found["faults"][0]
    kept = file.read_text()
    ran = served.runs("ledger", "checkpoint", "--to", str(file))
    assert (ran.exit_code, file.read_text()) == (1, kept)
    assert "left as it is" in ran.output


def test_what_is_no_checkpoint_or_cannot_be_signed_is_said(served: Person) -> None:
    (served.folder / "odd").write_text("muninn")
    assert "no checkpoint" in served.runs("ledger", "verify", "--checkpoint", str(served.folder / "odd")).output
    assert served.runs("ledger", "verify", "--checkpoint", str(served.folder / "none")).exit_code == 1
    (served.home / "ledger.key").unlink()
    assert "made when the gateway starts" in served.runs("ledger", "checkpoint").output
    (served.home / "ledger.key").write_bytes(b"k" * 32)
    (served.home / "ledger.key").chmod(0o600)
    assert "does not name its key" in served.runs("ledger", "checkpoint").output


def test_show_gives_the_newest_rows(served: Person) -> None:
    assert [row["seq"] for row in served.json("ledger", "show", "--last", "2")["rows"]] == [5, 6]
    assert "overwrite" in served.runs("ledger", "show").output


def test_diff_shows_each_note_of_an_event(served: Person) -> None:
    event = served.json("history", "a.md")["events"][0]["event"]
    shown = served.runs("ledger", "diff", event).output
    assert "-the canary sings\n+the canary is silent\n" in shown
    assert "--- a/index.md" in shown
    assert "\x1b[" not in shown
    found = served.json("ledger", "diff", event)
    assert [change["path"] for change in found["changes"]] == ["a.md", "index.md"]
    ran = served.runs("ledger", "diff", "ev-1-000000000000")
    assert (ran.exit_code, "is the id of no event" in ran.output) == (1, True)


def test_a_terminal_gets_colours(served: Person) -> None:
    event = served.json("history", "a.md")["events"][0]["event"]
    ran = CliRunner().invoke(command, ["ledger", "diff", event], env=served.places, color=True)
    assert "\x1b[32m+the canary is silent" in ran.output
    assert "\x1b[31m-the canary sings" in ran.output
    assert "\n+++ b/a.md" in ran.output


def test_diffs_of_private_notes_are_shown_only_when_asked(served: Person) -> None:
    receipt = served.write(served.doors[0], "private/b.md", b"a secret\n", MISSING)
    event = str(receipt.event)
    assert "a secret" not in served.runs("ledger", "diff", event).output
    assert served.json("ledger", "diff", event)["left_out"] > 0
    assert "+a secret" in served.runs("ledger", "diff", event, "--private").output


def test_history_with_diffs(served: Person) -> None:
    shown = served.runs("history", "a.md", "--diff").output
    assert shown.index("+the canary is silent") < shown.index("+the canary sings")
    rows = served.json("history", "a.md", "--diff")["events"]
    assert "+the canary is silent" in rows[0]["diff"]
    assert "diff" not in served.json("history", "a.md")["events"][0]


def test_history_tells_the_owner_from_what_came_around_the_door(served: Person) -> None:
    (served.vault / "a.md").write_bytes(ONE)
    assert served.runs("index", "scan").exit_code == 0
    assert served.runs("undo", "--external", "--since", "1h").exit_code == 0
    undone, outside, *_ = served.runs("history", "a.md").output.splitlines()[::2]
    assert (undone.split(maxsplit=1)[1], outside.split(maxsplit=1)[1]) == (
        "undo      the owner",
        "external  around the door",
    )


def test_a_history_without_events_names_the_path(served: Person) -> None:
    assert "no events of nowhere.md" in served.runs("history", "nowhere.md").output


def test_a_ledger_that_cannot_be_read_names_the_next_step(served: Person) -> None:
    door = served.doors.pop()
    door.ledger.close()
    door.index.close()
    for file in served.home.glob("ledger.db*"):
        file.write_bytes(b"no database" * 500)
    ran = served.runs("history", "a.md")
    assert (ran.exit_code, "muninn ledger verify" in ran.output) == (1, True), ran.output


def test_an_undo_that_finds_nothing_says_so(served: Person) -> None:
    assert "is known of bob in that time" in served.runs("undo", "--client", "bob", "--since", "1h").output
    assert served.runs("client", "add", "ada").exit_code == 0
    assert "no client bob now; known are: ada\n" in served.runs("undo", "--client", "bob", "--since", "1h").output
    assert "no client" not in served.runs("undo", "--client", "owner:adopt", "--since", "1h").output
    assert "came around the door in that time" in served.runs("undo", "--external", "--since", "1h").output
    assert "in that time" not in served.runs("undo", "--client", "ada", "--since", "1h").output


def test_an_undo_of_no_time_at_all_is_refused(served: Person) -> None:
    ran = served.runs("undo", "--client", "ada", "--since", "1h", "--until", "2h")
    assert (ran.exit_code, "--since must lie before --until" in ran.output) == (1, True), ran.output


def test_export_writes_contents_only_when_asked_and_for_the_owner_alone(served: Person) -> None:
    plain = [json.loads(line) for line in served.runs("ledger", "export").stdout.splitlines()]
    assert [row["seq"] for row in plain] == [1, 2, 3, 4, 5, 6]
    file = served.folder / "ledger.jsonl"
    assert served.runs("ledger", "export", "--contents", str(file)).exit_code == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {ContentHash.of(ONE), ContentHash.of(TWO)} <= {row["content"]["hash"] for row in lines if "content" in row}
    assert file.stat().st_mode & 0o777 == 0o600
    nowhere = served.runs("ledger", "export", str(served.folder / "nowhere/ledger.jsonl"))
    assert (nowhere.exit_code, "cannot be written: No such file" in nowhere.output) == (1, True), nowhere.output


def test_purge_asks_and_then_removes(served: Person) -> None:
    digest = ContentHash.of(ONE)
    assert served.runs("ledger", "purge", digest, "--reason", "why", stdin="n\n").exit_code == 1
    assert served.doors[0].ledger.keeps(digest)
    ran = served.runs("ledger", "purge", digest, "--reason", "why", stdin="y\n")
    assert (ran.exit_code, "recorded in row 7" in ran.output) == (0, True), ran.output
    assert not served.doors[0].ledger.keeps(digest)
    again = served.runs("ledger", "purge", digest, "--reason", "why", "--yes")
    assert (again.exit_code, again.output) == (0, "nothing was left to remove: an earlier row has it\n")
    assert served.json("ledger", "verify")["ok"] is True
    newest, oldest = served.json("history", "a.md")["events"]
    assert (newest["before_kept"], newest["after_kept"], oldest["after_kept"]) == (False, True, False)
    assert "are not kept" in served.runs("history", "a.md", "--diff").output
    assert served.json("read", "a.md", "--revision", digest, exit_code=1)["error"]["code"] == "unknown_id"


def test_purge_refuses_and_says_why(served: Person) -> None:
    held = ContentHash.of(TWO)
    found = served.json("ledger", "purge", held, "--reason", "why", "--yes", exit_code=1)
    assert (found["purged"], "a.md holds" in found["refusals"][0]) == (False, True)
    assert served.json("ledger", "purge", held, "--reason", "why", "--yes", "--force")["purged"] is True
    assert "is no hash" in served.runs("ledger", "purge", "abc", "--reason", "why", "--yes").output
    assert served.runs("ledger", "purge", held, "--yes").exit_code == 2


def test_every_command_needs_a_ledger(person: Person) -> None:
    for arguments in (["show"], ["export"], ["diff", "x"], ["checkpoint"], ["verify"]):
        assert person.runs("ledger", *arguments).exit_code == 1
    assert person.runs("ledger", "purge", "0" * 64, "--reason", "why", "--yes").exit_code == 1
    assert not person.ledger.exists()


# --- at serving start ------------------------------------------------------------------------------


def test_the_first_start_makes_a_key_and_names_it_once(person: Person) -> None:
    first = person.serve()
    key = person.home / "ledger.key"
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)
    rows = first.ledger.rows(0, 9)
    assert [row["kind"] for row in rows] == ["vault", "key"]
    first.ledger.close()
    assert person.serve().ledger.rows(0, 9) == rows


def test_a_new_key_is_named_as_well(person: Person) -> None:
    person.serve().ledger.close()
    (person.home / "ledger.key").unlink()
    door = person.serve()
    assert [row["kind"] for row in door.ledger.rows(0, 9)] == ["vault", "key", "key"]
    assert person.json("ledger", "checkpoint")["public"] == door.ledger.key
    assert person.json("ledger", "verify")["ok"] is True


def test_a_key_that_others_can_read_ends_the_start(person: Person) -> None:
    person.serve().ledger.close()
    (person.home / "ledger.key").chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        person.serve()


def test_a_broken_ledger_stops_writes_and_says_so(served: Person) -> None:
    served.doors[0].ledger.close()
    change_outside(served.ledger, "UPDATE rows SET client = 'eve' WHERE seq = 6")
    door = served.serve()
    refused = served.write(door, "a.md", ONE, ContentHash.of(TWO))
    assert isinstance(refused, Refusal)
    assert (refused.code.value, "muninn ledger verify" in refused.message) == ("ledger_unavailable", True)
    assert (served.vault / "a.md").read_bytes() == TWO
    status = standing.status(door, Rights("ada", frozenset(SCOPES)))
    assert (status.ledger["state"], status.ledger["events"]) == ("broken", 2)
    assert [warning.code for warning in status.warnings if warning.code == "ledger_unavailable"]
    assert door.ledger.history(path("a.md"), None, 9)


@pytest.mark.parametrize("content", [b"", b"no database\n" * 500])
def test_a_ledger_that_was_emptied_is_no_new_one(served: Person, content: bytes) -> None:
    served.doors[0].ledger.close()
    for company in served.home.glob("ledger.db-*"):
        company.unlink()
    served.ledger.write_bytes(content)
    door = served.serve()
    assert isinstance(served.write(door, "a.md", ONE, ContentHash.of(TWO)), Refusal)
    assert standing.status(door, Rights("ada", frozenset(SCOPES))).ledger["state"] == "broken"


def test_a_ledger_that_was_put_aside_begins_anew(served: Person) -> None:
    served.doors[0].ledger.close()
    for file in served.home.glob("ledger.db*"):
        os.rename(file, served.folder / file.name)
    door = served.serve()
    assert door.ledger.fault is None
    assert [row["kind"] for row in door.ledger.rows(0, 9)] == ["vault", "key"]
    assert isinstance(served.write(door, "a.md", ONE, ContentHash.of(TWO)), Receipt)
