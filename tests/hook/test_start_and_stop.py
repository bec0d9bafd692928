"""At the start and at a stop: what is said, to whom, how much of it, and that no stop is held up twice."""

from __future__ import annotations

import json
import shlex
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from ledger import Opening, Terms
from ledger.peek import peek
from muninn import external
from muninn.cli import command
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, ContentHash
from tests.conftest import note_text, path
from tests.hook.conftest import Person

START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
STOP = {"hook_event_name": "Stop", "stop_hook_active": False}


def begun(person: Person, client: str, count: int = 1) -> list[str]:
    """Leave writes of a client pending; gives their ids."""
    door = person.door()
    content = note_text()
    digest = ContentHash.of(content)
    names = [f"pn-{client}-{number}" for number in range(count)]
    openings = [
        Opening(
            Terms(client, Kind.CREATE, path(f"{name}.md"), MISSING, digest, name, "1"),
            [Change(path(f"{name}.md"), MISSING, digest, 0o644)],
            {digest: content},
        )
        for name in names
    ]
    door.ledger.open_together(openings)
    door.ledger.close()
    return names


def test_a_session_starts_with_the_manners(person: Person) -> None:
    ran = person.hook("session-start", START)
    assert (ran.status, ran.err) == (0, "")
    for word in ("client ada", "search", "read", "expected_hash", "dry_run", "archive", "no instruction"):
        assert word in ran.context
    assert ran.notes == []
    assert json.loads(ran.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"


def test_what_changed_lately_is_named_as_far_as_the_client_sees_it(person: Person) -> None:
    person.let("bea", "read", "write", "archive", "private")
    text = note_text().decode()
    for name in ("ops/new.md", "private/diary.md", "food/soup.md"):
        person.call("write", "bea", path=name, content=text, expected_hash="missing")
    read = person.call("read", "bea", path="food.md")
    person.call("archive", "bea", path="food.md", expected_hash=read.hash, reason="obsolete")
    rows = person.hook("session-start", START).notes
    assert [(row["path"], row["what"], row["by"]) for row in rows] == [
        ("food.md", "gone", "bea"),
        ("food/soup.md", "new", "bea"),
        ("ops/new.md", "new", "bea"),
    ]
    assert "private" not in person.hook("session-start", START).out
    person.let("cam", "read", read="ops/**")
    assert [row["path"] for row in person.hook("session-start", START, "--client", "cam").notes] == ["ops/new.md"]
    assert "private/diary.md" in person.hook("session-start", START, "--client", "bea").out


def test_a_start_is_short_whatever_happened(person: Person) -> None:
    for number in range(12):
        name = f"{'long folder/' * 12}a note with a name {number}.md"
        person.call("write", "ada", path=name, content=note_text().decode(), expected_hash="missing")
    begun(person, "ada", 9)
    proof = {"set_up": "2020-01-01T00:00:00+00:00", "last_ok": None, "files": None}
    (person.folder / "home/backup").mkdir()
    (person.folder / "home/backup/proof.json").write_text(json.dumps(proof))
    ran = person.hook("session-start", START)
    assert len(ran.context.encode()) <= 1536 + len("ada")
    assert "9 writes are pending" in ran.context
    assert "and 6 more" in ran.context
    assert "none was proven yet" in ran.context


def test_a_fresh_backup_is_not_mentioned(person: Person) -> None:
    now = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
    (person.folder / "home/backup").mkdir()
    (person.folder / "home/backup/proof.json").write_text(json.dumps({"set_up": now, "last_ok": now, "files": 4}))
    assert "ackup" not in person.hook("session-start", START).context


def test_a_stop_with_nothing_left_says_nothing(person: Person) -> None:
    begun(person, "bea")
    ran = person.hook("stop", STOP)
    assert (ran.status, ran.out) == (0, "")
    assert person.hook("stop", STOP, "--client", "ada", "--remind").out == ""


def test_what_is_pending_is_told_to_the_user_and_holds_nobody_up(person: Person) -> None:
    (name,) = begun(person, "ada")
    ran = person.hook("stop", STOP)
    told = json.loads(ran.out)
    assert list(told) == ["systemMessage"]
    assert name in told["systemMessage"]
    assert "recover" in told["systemMessage"]


def test_a_reminder_holds_a_stop_up_once(person: Person) -> None:
    (name,) = begun(person, "ada")
    flags = ("--client", "ada", "--remind")
    told = json.loads(person.hook("stop", STOP, *flags).out)
    assert told["decision"] == "block"
    assert name in told["reason"]


@pytest.mark.parametrize("active", [b"true", b"null", b"0", b'"false"', b"{}"])
def test_a_stop_that_was_held_up_before_is_never_held_up_again(person: Person, active: bytes) -> None:
    begun(person, "ada")
    ran = person.hook("stop", b'{"stop_hook_active": ' + active + b"}", "--client", "ada", "--remind")
    assert (ran.status, ran.out) == (0, "")
    assert person.hook("stop", b"{}", "--client", "ada", "--remind").out == ""


def test_the_printed_settings_run(person: Person, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from muninn.cli import command

    done = CliRunner().invoke(command, ["hook", "print", "--client", "ada"], env=person.environment)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["hooks"]
    assert list(rows) == ["SessionStart", "UserPromptSubmit", "Stop"]
    (inner,) = rows["UserPromptSubmit"][0]["hooks"]
    words = shlex.split(inner["command"])
    assert words[0].endswith("/muninn")
    assert Path(words[0]).is_absolute()
    sent = json.dumps({"prompt": "when does the canary gate open?"})
    ran = subprocess.run(
        inner["command"], shell=True, input=sent, text=True, capture_output=True, cwd=tmp_path, env={}, check=False
    )
    assert "ops/canary.md" in ran.stdout, ran.stderr


def test_settings_are_not_printed_for_an_unknown_client(person: Person) -> None:
    done = CliRunner().invoke(command, ["hook", "print", "--client", "nobody"], env=person.environment)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "client list" in done.stderr


def test_a_look_at_the_ledger_names_a_path_once_and_no_folder_page(person: Person) -> None:
    first = person.call("write", "ada", path="ops/x.md", content=note_text().decode(), expected_hash="missing")
    person.call("write", "ada", path="ops/x.md", content=note_text("more\n").decode(), expected_hash=first.hash)
    (seen,) = peek(person.settings.places.ledger).lately
    assert (seen.path, seen.what, seen.client) == ("ops/x.md", "changed", "ada")
    person.lay("ops/x.md", "changed around the door\n")
    door = person.door()
    external.record(door, [path("ops/x.md")])
    door.ledger.close()
    (seen,) = peek(person.settings.places.ledger).lately
    assert (seen.path, seen.what, seen.client, seen.around) == ("ops/x.md", "changed", None, True)


def test_what_the_owner_took_back_is_not_laid_to_somebody_around_the_door(person: Person) -> None:
    person.call("write", "ada", path="ops/x.md", content=note_text().decode(), expected_hash="missing")
    done = CliRunner().invoke(command, ["undo", "--client", "ada", "--since", "1h"], env=person.environment)
    assert done.exit_code == 0, done.output
    context = person.hook("session-start", START).context
    (row,) = [json.loads(line) for line in context.splitlines() if line.startswith("{")]
    assert (row["path"], row["what"], row["by"]) == ("ops/x.md", "gone", "the owner")
