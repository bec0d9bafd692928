"""The command line: what it prints, its JSON, its exit statuses, and that it stays quick."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from muninn.cli import command

NOTE = "---\ntitle: Canary gate\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\nthe canary sings\n"


class Person:
    """Somebody at the machine with a vault."""

    def __init__(self, folder: Path) -> None:
        self.vault, self.home, self.cache = folder / "vault", folder / "home", folder / "cache"
        self.vault.mkdir()
        (self.vault / "a.md").write_text(NOTE)
        (self.vault / "private").mkdir()
        (self.vault / "private/b.md").write_text(NOTE.replace("canary sings", "canary whispers"))

    def runs(self, *arguments: str, stdin: str = "") -> Result:
        places = {"MUNINN_VAULT": str(self.vault), "MUNINN_HOME": str(self.home), "MUNINN_CACHE": str(self.cache)}
        return CliRunner().invoke(command, list(arguments), input=stdin, env=places)

    def json(self, *arguments: str) -> Any:
        ran = self.runs(*arguments, "--json")
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.stdout)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_search_leaves_private_notes_out_unless_asked(person: Person) -> None:
    person.json("index", "scan")
    assert [hit["path"] for hit in person.json("search", "canary")["hits"]] == ["a.md"]
    both = person.json("search", "canary", "--private")["hits"]
    assert sorted(hit["path"] for hit in both) == ["a.md", "private/b.md"]
    assert "a.md:8" in person.runs("search", "canary", "sings").output


def test_the_first_search_makes_the_index(person: Person) -> None:
    found = person.json("search", "canary")
    assert [hit["path"] for hit in found["hits"]] == ["a.md"]
    assert found["engine"] == "bm25"
    assert person.json("index", "status")["state"] == "ready"


def test_read_prints_the_note_and_gives_its_hash_as_json(person: Person) -> None:
    assert person.runs("read", "a.md").output == NOTE
    assert person.json("read", "a.md")["complete"] is True
    refused = person.runs("read", "private/b.md")
    assert refused.exit_code == 1
    assert "--private" in refused.output
    assert person.runs("read", "private/b.md", "--private").exit_code == 0
    assert person.runs("read", "../a.md").exit_code == 1


def test_clients_are_made_listed_rotated_and_revoked(person: Person) -> None:
    made = person.json("client", "add", "bot", "--scope", "read,code", "--read", "a/**", "--expires", "3")
    assert made["token"].startswith("mnn_")
    (row,) = person.json("client", "list")["clients"]
    assert (row["scopes"], row["read"], row["write"]) == (["code", "read"], ["a/**"], ["**"])
    assert row["expires"]
    rotated = person.json("client", "rotate", "bot")
    assert rotated["token"] != made["token"]
    assert person.runs("client", "add", "bot").exit_code == 1
    assert person.json("client", "revoke", "bot") == {"revoked": "bot"}
    assert person.json("client", "list") == {"clients": []}
    assert person.runs("client", "revoke", "bot").exit_code == 1


def test_a_token_made_elsewhere_is_taken_from_stdin_and_not_printed(person: Person) -> None:
    token = "made-elsewhere-0123456789-abcdefghij"
    ran = person.runs("client", "add", "bot", "--token-stdin", stdin=token + "\n")
    assert ran.exit_code == 0
    assert token not in ran.output
    weak = person.runs("client", "add", "other", "--token-stdin", stdin="weak\n")
    assert weak.exit_code == 1
    assert "weak" not in weak.output.replace("weak;", "")


def test_index_scan_lists_faults_and_exits_0(person: Person) -> None:
    (person.vault / "bad.md").write_text("---\ntitle: [unclosed\n---\ntext\n")
    scanned = person.json("index", "scan")
    assert [fault["path"] for fault in scanned["faults"]] == ["bad.md"]
    assert person.json("index", "status")["state"] == "ready"
    assert person.json("index", "rebuild")["notes"] == 3


def test_a_missing_vault_is_said_with_status_1(person: Person) -> None:
    person.vault.rename(person.vault.with_name("away"))
    for arguments in (("index", "scan"), ("search", "x"), ("read", "a.md")):
        ran = person.runs(*arguments)
        assert ran.exit_code == 1
        assert f"at {person.vault}" in ran.output
        assert "--vault" in ran.output
    assert not person.home.exists()
    assert not person.cache.exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("search", "x"), "cache"), (("index", "scan"), "cache"), (("client", "add", "ada"), "home")],
)
def test_a_place_that_cannot_be_made_is_named(person: Person, arguments: tuple[str, ...], named: str) -> None:
    (person.vault.parent / "file").touch()
    ran = person.runs(*arguments, f"--{named}", str(person.vault.parent / "file/inside"))
    assert (ran.exit_code, f"the {named} cannot be used" in ran.output) == (1, True), ran.output
    assert f"look at --{named}" in ran.output


def test_an_index_that_is_broken_says_how_it_is_made_again(person: Person) -> None:
    person.json("index", "scan")
    for file in person.cache.glob("*.db"):
        file.write_bytes(b"no database" * 500)
    assert "muninn index scan" in person.runs("index", "status").output
    assert "muninn index scan" not in person.runs("index", "scan").output
    assert "index ready" in person.runs("index", "status").output


def test_no_vault_at_all_says_what_to_give(tmp_path: Path) -> None:
    ran = CliRunner().invoke(command, ["search", "x", "--home", str(tmp_path)], env={"MUNINN_VAULT": ""})
    assert ran.exit_code == 1
    assert "--vault DIR" in ran.output


def test_ledger_commands_need_a_ledger(person: Person) -> None:
    assert person.runs("ledger", "verify").exit_code == 1
    assert person.runs("ledger", "export").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "never"),
    [
        (["--help"], ["yaml", "apsw", "mcp", "pydantic", "starlette", "numpy", "rich"]),
        (["search", "--help"], ["mcp", "pydantic", "starlette", "uvicorn", "numpy", "rich", "jinja2"]),
        (["client", "list"], ["mcp", "pydantic", "starlette", "uvicorn", "numpy", "rich"]),
    ],
)
def test_a_command_imports_only_what_it_needs(tmp_path: Path, arguments: list[str], never: list[str]) -> None:
    code = (
        "import sys\nfrom muninn.cli import command\n"
        f"try:\n    command({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {never!r} if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"MUNINN_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert run.stdout.strip().splitlines()[-1] == "[]"


def test_a_search_that_its_options_leave_empty_says_so(person: Person) -> None:
    assert "without the options" in person.runs("search", "canary", "--status", "done").output
    assert "without the options" not in person.runs("search", "canary", "--status", "active").output
    assert "without the options" not in person.runs("search", "zebra").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("history", "a.md"),
        ("read", "a.md", "--revision", "ev-1-abc"),
        ("undo", "--external", "--since", "1h"),
        ("lint",),
    ],
)
def test_before_the_first_start_there_is_no_ledger_and_that_is_said(person: Person, arguments: tuple[str, ...]) -> None:
    ran = person.runs(*arguments)
    assert (ran.exit_code, "it is made when the gateway first starts" in ran.output) == (1, True), ran.output


def _groups(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        if isinstance(inner, click.Group):
            yield (*words, name)
            yield from _groups(inner, (*words, name))


@pytest.mark.parametrize("words", list(_groups(command)), ids=" ".join)
def test_no_list_of_commands_breaks_off_in_a_sentence(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(command, [*words, "--help"], terminal_width=80).output
    assert not [line for line in shown.splitlines() if line.endswith("...") and "Usage:" not in line]
