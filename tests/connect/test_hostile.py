"""A project of somebody else's, whose files are out to harm who runs ``muninn connect`` in it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

import pytest

from muninn.connect import ConfigError, jsonc, toml_tables
from tests.connect.test_connecting import Person, person

__all__ = ["person"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "' + "a" * 100_000 + "\n}",
        '{"a": "' + "\\a" * 50_000,
        "/*" * 50_000,
        "{" + " /**/" * 20_000,
        "{" + ",".join(f'"k{number}": 1' for number in range(20_000)) + "}",
        '{"a": ' + "1" * 10_000 + "}",
        "[" * 100_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.monotonic()
    with contextlib.suppress(ConfigError):
        jsonc.parse(text)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("text", ["a = " + "1" * 10_000, "a = " + "[" * 10_000])
def test_a_number_or_a_depth_that_python_refuses_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="it is no TOML"):
        toml_tables.parse(text)


def test_nothing_in_a_file_reaches_the_terminal_as_it_is(person: Person) -> None:
    odd = "\x1b[2J\u202e\x9b31m\x7f\u2028"
    (person.project / ".mcp.json").write_text(f'{{\n  "mcpServers": {{\n    // {odd}\n  }}\n}}\n')
    done = person.runs("claude-code")
    assert done.exit_code == 0, done.output
    assert "+" in done.output
    assert not set(odd) & set(done.output) - set("[2J31m")


@pytest.mark.parametrize("name", ["a\x1b[2J\nb", "a\u202eb"])
def test_nor_does_the_name_of_a_folder(person: Person, name: str) -> None:
    folder = person.project / name
    folder.mkdir()
    (folder / ".mcp.json").write_text("{")
    for written in ("{", "{}"):
        (folder / ".mcp.json").write_text(written)
        done = person.runs("claude-code", "--project", str(folder))
        assert not {"\x1b", "\u202e"} & set(done.output)
        assert "2J\n" not in done.output


@pytest.mark.parametrize("how", ["loop", "pipe", "device", "large", "folder"])
def test_what_is_no_plain_small_file_is_refused_and_not_waited_for(person: Person, how: str) -> None:
    file = person.project / ".mcp.json"
    match how:
        case "loop":
            file.symlink_to(file)
        case "pipe":
            os.mkfifo(file)
        case "device":
            file.symlink_to("/dev/zero")
        case "large":
            with file.open("wb") as written:
                written.truncate(1 << 40)
        case _:
            file.mkdir()
    done = person.runs("claude-code", "--write")
    assert (done.exit_code, type(done.exception)) == (1, SystemExit)
    assert ".mcp.json" in done.stderr
    assert sorted(child.name for child in person.project.iterdir()) == [".mcp.json"]


def test_a_shell_reads_no_command_out_of_an_address(person: Person) -> None:
    done = person.json("claude-code", "--url", "http://127.0.0.1:1/$(id);x")
    assert any("'http://127.0.0.1:1/$(id);x'" in step for step in done["next"])


def test_a_certificate_is_passed_on_to_the_bridge(person: Person, tmp_path: Path) -> None:
    (person.project / "ca.pem").write_text("a certificate\n")
    token = person.folder / "token"
    token.write_text("mnn_" + "t" * 40)
    token.chmod(0o600)
    more = ("--url", "https://notes.example", "--token-file", str(token), "--ca-file")
    server = person.json("cursor", "--bridge", *more, "ca.pem")["server"]
    assert server["args"][-2:] == ["--ca-file", str(person.project / "ca.pem")]
    desktop = person.json("claude-desktop", *more, "ca.pem")["server"]
    assert desktop["args"][-2:] == ["--ca-file", str(person.project / "ca.pem")]
    for says, words in {"give --bridge": (*more, "ca.pem"), "no file": ("--bridge", *more, "none")}.items():
        done = person.runs("cursor", *words)
        assert (done.exit_code, says in done.stderr) == (1, True), done.output


def test_what_is_kept_of_an_entry_that_decides_what_runs_is_told(person: Person) -> None:
    entry = {"command": "x", "env": {"LD_PRELOAD": "./evil.so"}, "dev": {"watch": "*"}}
    (person.project / ".vscode").mkdir()
    (person.project / ".vscode/mcp.json").write_text(json.dumps({"servers": {"muninn": entry}}))
    told = person.json("vscode", "--bridge", "--write")["next"]
    assert any("env" in step and "look at" in step for step in told)
    helper = {"type": "http", "url": "http://x", "headersHelper": "./steal"}
    (person.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"muninn": helper}}))
    assert any("headersHelper" in step for step in person.json("claude-code")["next"])
    (person.project / ".mcp.json").unlink()
    assert not any("look at" in step for step in person.json("claude-code")["next"] if "keeps" in step)
