"""``muninn canary``: a right note that is not found any more is named, and how a run ended is kept."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muninn import canary
from muninn.cli import command
from muninn.model.content import ContentHash, NotePath
from muninn.model.rights import Rights
from muninn.model.sight import File, Sight
from muninn.questions import Outcome, Question
from tests.conftest import note_text
from tests.door.gateway import places, served, until_ready

GOOD = {
    "questions": [
        {"id": "tide", "q": "who reads the tide gauge", "path": ["ops/gauge.md", "ops/other.md"]},
        {"id": "boat", "q": "draught of the pilot boat", "path": ["ops/vessel.md"]},
    ],
    "unanswerable": [{"id": "moon", "q": "price of moon cheese"}],
}


class Owner:
    """Somebody with a vault and known questions."""

    def __init__(self, folder: Path) -> None:
        self.vault, self.home, self.cache = folder / "vault", folder / "home", folder / "cache"
        self.home.mkdir()
        for number in range(12):
            self.lay(f"filler/f{number}.md", f"plain padding sentence number {number}\n", f"Filler {number}")
        self.lay("ops/gauge.md", "The watch reads the tide gauge at noon.\n", "Tide gauge")
        self.lay("ops/vessel.md", "The pilot boat has a draught of two metres.\n", "Pilot boat")
        self.lay("private/pay.md", "The salary table of the harbour crew.\n", "Salaries")

    def lay(self, name: str, body: str, title: str) -> None:
        (self.vault / name).parent.mkdir(parents=True, exist_ok=True)
        (self.vault / name).write_bytes(note_text(body, title))

    def asks(self, questions: Any) -> None:
        (self.home / canary.QUESTIONS).write_text(json.dumps(questions))

    def runs(self, *arguments: str) -> Result:
        places = {"MUNINN_VAULT": str(self.vault), "MUNINN_HOME": str(self.home), "MUNINN_CACHE": str(self.cache)}
        return CliRunner().invoke(command, ["canary", *arguments], env=places)

    def scans(self) -> None:
        ran = CliRunner().invoke(
            command,
            ["index", "scan", "--vault", str(self.vault), "--home", str(self.home), "--cache", str(self.cache)],
        )
        assert ran.exit_code == 0, ran.output

    def json(self, *arguments: str, status: int = 0) -> Any:
        ran = self.runs(*arguments, "--json")
        assert ran.exit_code == status, ran.output
        return json.loads(ran.stdout)


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    made = Owner(tmp_path)
    made.asks(GOOD)
    return made


def test_all_found_is_ok_and_kept(owner: Owner) -> None:
    found = owner.json("run")
    assert (found["ok"], found["asked"], found["failing"]) == (True, 3, [])
    assert found["at"] == found["last_ok"]
    assert owner.json("status")["last_ok"] == found["at"]
    assert stat.S_IMODE((owner.home / canary.STATE).stat().st_mode) == 0o600
    assert owner.runs("run").exit_code == 0


def test_a_note_that_is_not_found_any_more_is_named(owner: Owner) -> None:
    good = owner.json("run")["at"]
    owner.lay("ops/vessel.md", "Nothing of interest.\n", "Dinghy")
    (owner.vault / "ops/gauge.md").unlink()
    owner.scans()
    found = owner.json("run", status=1)
    assert {row["id"]: row["why"] for row in found["failing"]} == {
        "tide": "the right note is not in the vault, or needs --private",
        "boat": "the right note is not among the first 15; expected among the first 5",
    }
    assert (found["ok"], found["last_ok"]) == (False, good)
    state = owner.json("status", status=1)
    assert (state["ok"], state["last_ok"], state["failing"]) == (False, good, ["tide", "boat"])
    said = owner.runs("run")
    assert said.exit_code == 1
    assert "boat: the right note is not among" in said.output
    assert f"2 failing; last ok {good}" in said.output


@pytest.mark.parametrize(("place", "fails"), [(1, False), (5, False), (6, True), (15, True), (None, True)])
def test_the_sixth_place_is_too_low(place: int | None, fails: bool) -> None:
    def look(path: NotePath) -> Sight:
        return File(path, path, b"x", ContentHash.of(b"x"), 0o600, 0)

    question = Question("x", "y", ("a.md",))
    outcome = Outcome("x", "", answerable=True, rank=place, unsure=False, ms=0.0)
    why = canary._why(outcome, question, look, Rights(None, frozenset({"read"})))
    assert (why is not None) is fails
    assert why is None or "expected among the first 5" in why


def test_a_degraded_answer_fails_though_the_note_is_found(owner: Owner) -> None:
    owner.json("run")
    for file in owner.cache.glob("index*"):
        file.write_bytes(b"no index at all" * 1_000)
    found = owner.json("run", status=1)
    assert {row["why"] for row in found["failing"]} == {"the answer was degraded: the index could not be asked"}
    assert {row["id"]: row["rank"] for row in found["failing"]}["boat"] == 1


def test_private_notes_only_where_asked_for(owner: Owner) -> None:
    owner.asks({"questions": [{"id": "pay", "q": "salary table of the crew", "path": "private/pay.md"}]})
    assert "needs --private" in owner.json("run", status=1)["failing"][0]["why"]
    assert owner.json("run", "--private")["ok"] is True


@pytest.mark.parametrize("text", ["", "{}", '{"questions": []}', '{"questions": [{"id": "a"}]}', "[]"])
def test_a_file_that_is_no_set_of_questions_is_an_error(owner: Owner, text: str) -> None:
    (owner.home / canary.QUESTIONS).write_text(text)
    ran = owner.runs("run")
    assert ran.exit_code == 1
    assert "canary.json" in ran.output
    assert "Traceback" not in ran.output
    assert "Error(" not in ran.output


def test_without_questions_it_says_where_to_write_them(owner: Owner) -> None:
    (owner.home / canary.QUESTIONS).unlink()
    ran = owner.runs("run")
    assert ran.exit_code == 1
    assert "there are no questions to ask" in ran.output
    assert owner.runs("status").exit_code == 1
    assert owner.json("status", status=1)["ok"] is None


def test_a_state_that_cannot_be_read_is_none(owner: Owner) -> None:
    (owner.home / canary.STATE).write_text("{")
    assert canary.last(owner.home) is None
    assert owner.json("run")["ok"] is True


def test_beside_a_gateway(tmp_path: Path) -> None:
    made = places(tmp_path)
    (made.vault / "boat.md").write_text("# Pilot boat\n\nA draught of two metres.\n")
    (made.home / canary.QUESTIONS).write_text(
        json.dumps({"questions": [{"id": "b", "q": "draught of the pilot boat", "path": "boat.md"}]})
    )
    with served(made):
        until_ready(made)
        ran = made.muninn("canary", "run", "--json")
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["ok"] is True


def test_the_wheel_needs_no_evaluation_to_run_it() -> None:
    probe = "import sys, muninn.cli.canary; sys.exit('eval' in {name.split('.')[0] for name in sys.modules})"
    assert subprocess.run([sys.executable, "-P", "-c", probe], check=False, env=os.environ).returncode == 0
