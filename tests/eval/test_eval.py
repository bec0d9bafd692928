"""The evaluation: sets, ranks, falls below the baseline, and the same questions through a door."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from eval import baseline
from eval.__main__ import main
from eval.questions import Question, Questions, half_of, load
from eval.run import run
from eval.score import Outcome, Sheet, interval, rank_of
from muninn.model.errors import SettingsError
from tests.door.gateway import places, served, until_ready

SET = {
    "questions": [
        {"id": "q1", "q": "where do wombats sleep", "path": "zoo/wombat.md", "kind": "plain"},
        {"id": "q2", "q": "battery charger voltage", "path": ["lab/charger.md", "lab/none.md"], "kind": "plain"},
        {"id": "q3", "q": "salary of the keeper", "path": ["private/salary.md"], "kind": "hidden"},
    ],
    "unanswerable": [{"id": "u1", "q": "quarterly tulip auction results"}],
}
NOTES = {
    "zoo/wombat.md": "# Wombat\n\nwombats sleep in burrows\n",
    "lab/charger.md": "# Charger\n\nthe battery charger gives a voltage of twelve\n",
    "lab/other.md": "# Other\n\nnothing of that kind stands here\n",
    "private/salary.md": "# Pay\n\nthe salary of the keeper is low\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        file = tmp_path / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "set.json").write_text(json.dumps(SET))
    return tmp_path / "vault"


def sheet(*ranks: int | None, unsure: tuple[str, ...] = ("u0",), engine: str = "bm25") -> Sheet:
    """A sheet of questions q0, q1 … with these ranks, and one unanswerable u0."""
    asked = [Outcome(f"q{n}", "", True, rank, f"q{n}" in unsure, 1.0) for n, rank in enumerate(ranks)]
    return Sheet(engine, (*asked, Outcome("u0", "", False, None, "u0" in unsure, 1.0)))


def test_a_set_is_read_with_its_kinds(vault: Path) -> None:
    found = load(vault.parent / "set.json")
    assert [question.right for question in found.answerable][:2] == [
        ("zoo/wombat.md",),
        ("lab/charger.md", "lab/none.md"),
    ]
    assert found.answerable[2].kind == "hidden"
    assert found.unanswerable == (Question("u1", "quarterly tulip auction results", ()),)


@pytest.mark.parametrize("text", ["", "[]", '{"questions": [{"id": 1}]}', '{"unanswerable": []}'])
def test_what_is_no_set_is_refused_with_the_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "set.json").write_text(text)
    with pytest.raises(SettingsError, match=r"no set of questions.*expected"):
        load(tmp_path / "set.json")


def test_the_halves_share_out_the_set_for_good() -> None:
    whole = Questions(tuple(Question(f"q{n}", "x", ("a",)) for n in range(60)), (Question("u", "x", ()),))
    dev, test = whole.half("dev"), whole.half("test")
    assert sorted(q.id for q in (*dev.answerable, *test.answerable)) == sorted(q.id for q in whole.answerable)
    assert 15 < len(dev.answerable) < 45
    assert [half_of(name) for name in ("handbook-01", "handbook-02", "handbook-03")] == ["test", "dev", "test"]


def test_ranks_end_at_fifteen_and_any_right_note_counts() -> None:
    assert rank_of(["a", "b", "c"], ["c", "b"]) == 2
    assert rank_of([str(n) for n in range(20)], ["14"]) == 15
    assert rank_of([str(n) for n in range(20)], ["15"]) is None


def test_the_interval_is_wilsons() -> None:
    # Worked by hand from the formula for 22 of 44.
    assert interval(0.5, 44) == pytest.approx((0.3583, 0.6417), abs=2e-4)
    assert interval(0.0, 44)[0] == pytest.approx(0, abs=1e-9)
    assert interval(0.0, 0) == (0.0, 1.0)


def test_a_run_ranks_and_flags(vault: Path) -> None:
    scan, bm25 = run(vault, load(vault.parent / "set.json"))
    assert [outcome.rank for outcome in bm25.answerable] == [1, 1, 1]
    score = bm25.score()
    assert (score.top1, score.top5, score.mrr) == (1.0, 1.0, 1.0)
    assert (score.flagged_unanswerable, score.flagged_answerable) == (1.0, 0.0)
    assert scan.score().top5 == pytest.approx(1 / 3), "one question stands word for word in its note"
    assert scan.score().flagged_answerable is None
    assert {name: len(asked) for name, asked in bm25.kinds().items()} == {"hidden": 1, "plain": 2}


def test_a_fall_names_the_questions_that_fell(tmp_path: Path) -> None:
    questions = tmp_path / "set.json"
    questions.write_text(json.dumps(SET))
    kept = tmp_path / "baseline.json"
    baseline.write(kept, sheet(1, 1, 4), questions)
    assert baseline.falls(kept, sheet(1, 1, 4), questions) == []
    assert baseline.falls(kept, sheet(1, 1, 2), questions) == []
    fallen = {fall.figure: fall.questions for fall in baseline.falls(kept, sheet(1, 3, None), questions)}
    assert fallen == {"top1": ("q1",), "top5": ("q2",), "mrr": ("q1", "q2")}
    # One that rises does not hide that the shares fell, and one that falls alone is no fall of the shares.
    assert baseline.falls(kept, sheet(1, 2, 1), questions) == []


def test_a_worse_sense_of_what_it_knows_is_a_fall(tmp_path: Path) -> None:
    questions = tmp_path / "set.json"
    questions.write_text(json.dumps(SET))
    kept = tmp_path / "baseline.json"
    baseline.write(kept, sheet(1, 1), questions)
    (sure,) = baseline.falls(kept, sheet(1, 1, unsure=()), questions)
    assert (sure.figure, sure.questions) == ("flagged_unanswerable", ("u0",))
    (unsure,) = baseline.falls(kept, sheet(1, 1, unsure=("u0", "q1")), questions)
    assert (unsure.figure, unsure.questions) == ("sure of answerable", ("q1",))


def test_a_baseline_of_other_questions_is_refused(tmp_path: Path) -> None:
    questions = tmp_path / "set.json"
    questions.write_text(json.dumps(SET))
    baseline.write(tmp_path / "baseline.json", sheet(1), questions)
    questions.write_text(json.dumps(SET | {"unanswerable": []}))
    with pytest.raises(SettingsError, match="other questions"):
        baseline.falls(tmp_path / "baseline.json", sheet(1), questions)
    with pytest.raises(SettingsError, match="write it with --write-baseline"):
        baseline.falls(tmp_path / "absent.json", sheet(1), questions)


def test_the_command_prints_the_form_of_the_specification(vault: Path) -> None:
    chosen = ["--vault", str(vault), "--questions", str(vault.parent / "set.json")]
    printed = CliRunner().invoke(main, [*chosen, "--json"])
    assert printed.exit_code == 0, printed.output
    found = json.loads(printed.output)
    keys = {"engine", "top1", "top5", "mrr", "ms", "flagged_unanswerable", "flagged_answerable"}
    assert [set(row) for row in found["engines"]] == [keys] * len(found["engines"])
    assert [row["engine"] for row in found["engines"]][:2] == ["substring", "bm25"]
    shown = CliRunner().invoke(main, chosen).output
    assert "bm25 by kind" in shown
    assert "3 questions, 1 unanswerable" in shown


def test_a_fall_ends_the_command_with_status_one(vault: Path) -> None:
    kept = vault.parent / "baseline.json"
    chosen = ["--vault", str(vault), "--questions", str(vault.parent / "set.json"), "--baseline", str(kept)]
    assert CliRunner().invoke(main, [*chosen, "--write-baseline"]).exit_code == 0
    assert CliRunner().invoke(main, chosen).exit_code == 0
    (vault / "zoo/wombat.md").rename(vault / "zoo/moved.md")
    fallen = CliRunner().invoke(main, chosen)
    assert fallen.exit_code == 1
    assert "below the baseline: top1 fell" in fallen.output
    assert "q1" in fallen.output


def test_through_a_door_with_a_clients_rights(tmp_path: Path) -> None:
    made = places(tmp_path / "door")
    made.add("insider", frozenset({"read", "private"}))
    made.add("narrow", frozenset({"read"}), read="zoo/**")
    for path, text in NOTES.items():
        (made.vault / path).parent.mkdir(parents=True, exist_ok=True)
        (made.vault / path).write_text(text)
    (tmp_path / "set.json").write_text(json.dumps(SET))
    tokens = "\n".join(made.tokens[name] for name in ("a", "insider", "narrow"))
    with served(made):
        until_ready(made)
        command = ["--url", f"http://127.0.0.1:{made.port}", "--token-stdin", "--questions", str(tmp_path / "set.json")]
        printed = CliRunner().invoke(main, [*command, "--json"], input=tokens)
        assert printed.exit_code == 0, printed.output
        rows = {row["engine"]: row["top1"] for row in json.loads(printed.output)["engines"]}
        assert rows == {"a": pytest.approx(2 / 3), "insider": 1.0, "narrow": pytest.approx(1 / 3)}
        columns = CliRunner().invoke(main, command, input=tokens).output
        assert [line.split() for line in columns.splitlines()][1] == ["a", "insider", "narrow"]
        refused = CliRunner().invoke(main, command, input="mnn_" + "x" * 43)
        assert refused.exit_code != 0
        assert "401" in refused.output
        assert "mnn_" not in refused.output
    gone = CliRunner().invoke(main, command, input=tokens)
    assert gone.exit_code != 0
    assert "is the gateway running" in gone.output


def test_the_token_comes_on_standard_input_only() -> None:
    assert CliRunner().invoke(main, ["--url", "http://127.0.0.1:1"]).exit_code == 2
    assert CliRunner().invoke(main, ["--url", "http://127.0.0.1:1", "--token-stdin"], input="").exit_code == 2


def test_an_engine_that_cannot_tell_is_neither_sure_nor_unsure() -> None:
    silent = Sheet("substring", tuple(replace(outcome, unsure=None) for outcome in sheet(1, 2).outcomes))
    assert silent.score().flagged_unanswerable is None
