"""The gateway as a unit: what is written and asked of the system, what its parser makes of it, and what status says."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muninn import units
from muninn.cli import command

TOOL = '#!/bin/sh\necho "${0##*/} $*" >> "$LOG"\ncase "$*" in *is-active*) echo active;; esac\nexit ${STATUS:-0}\n'
ODD = 'my notes 100% $HOME "q" \\ é'


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whose system has both tools, which write down what they were asked."""

    folder: Path
    environment: dict[str, str]

    def runs(self, *words: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(command, ["service", *words], env=self.environment)
        return done.exit_code, done.stdout, done.stderr

    def told(self, *words: str) -> tuple[int, Any]:
        status, out, err = self.runs(*words, "--json")
        return status, json.loads(out) if out else err

    def asked(self) -> list[str]:
        return Path(self.environment["LOG"]).read_text().splitlines()


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    (tmp_path / "bin").mkdir()
    for name in ("systemctl", "launchctl"):
        (tmp_path / "bin" / name).write_text(TOOL)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / ODD).mkdir()
    own = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": "",
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "LOG": str(tmp_path / "log"),
        "MUNINN_VAULT": str(tmp_path / ODD),
        "MUNINN_HOME": str(tmp_path / "home"),
        "MUNINN_CACHE": str(tmp_path / "cache"),
    }
    monkeypatch.setenv("PATH", own["PATH"])
    monkeypatch.setattr("sys.platform", "linux")
    made = CliRunner().invoke(command, ["client", "add", "ada", "--json"], env=own)
    assert made.exit_code == 0
    return Person(tmp_path, own | {"TOKEN": json.loads(made.stdout)["token"]})


def command_of(unit: str) -> list[str]:
    """The command in a unit, as systemd reads it: quotes, then specifiers and variables."""
    (line,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    first, *rest = shlex.split(line.removeprefix("ExecStart="))
    return [first.replace("%%", "%"), *(word.replace("%%", "%").replace("$$", "$") for word in rest)]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_unit_is_written_fenced_and_started(person: Person) -> None:
    status, told = person.told("install", "--wait", "0", "--port", str(free_port()), "--allow-host", "notes.example")
    assert (status, told["installed"], told["health"]) == (1, True, None)
    (file,) = map(Path, told["files"])
    assert file == person.folder / f".config/systemd/user/{told['name']}.service"
    text = file.read_text()
    words = command_of(text)
    assert Path(words[0]).is_absolute()
    assert words[1:4] == ["serve", "--vault", str(person.folder / ODD)]
    assert words[-2:] == ["--allow-host", "notes.example"]
    for line in ("Restart=on-failure", "NoNewPrivileges=yes", "UMask=0077", "ProtectSystem=strict", "PrivateUsers=yes"):
        assert line in text.splitlines()
    (kept,) = (line for line in text.splitlines() if line.startswith("ReadWritePaths="))
    places = shlex.split(kept.removeprefix("ReadWritePaths=").replace("%%", "%"))
    assert "100%% $HOME" in kept
    assert "100%% $$HOME" in text
    assert places == [person.environment[f"MUNINN_{name}"] for name in ("VAULT", "HOME", "CACHE")]
    assert person.environment["TOKEN"] not in text
    name = f"{told['name']}.service"
    assert person.asked() == [
        f"systemctl --user {words}" for words in ("daemon-reload", f"enable {name}", f"restart {name}")
    ]


def test_it_stops_and_goes_and_nothing_else_does(person: Person) -> None:
    _, told = person.told("install", "--wait", "0", "--port", str(free_port()))
    assert person.told("remove") == (0, {"removed": True})
    assert not Path(told["files"][0]).exists()
    assert person.asked()[-1] == f"systemctl --user disable --now {told['name']}.service"
    assert person.told("remove") == (0, {"removed": False})
    assert (person.folder / "home/clients.toml").exists()
    assert person.told("status")[1]["installed"] is False
    assert person.runs("status")[0] == 1


def test_a_system_without_namespaces_gets_a_unit_without_them(person: Person) -> None:
    text = person.runs("install", "--dry-run", "--without-fences")[1]
    assert "ProtectSystem" not in text
    assert "PrivateUsers" not in text
    assert "NoNewPrivileges=yes" in text


def test_a_dry_run_changes_nothing(person: Person) -> None:
    before = sorted(person.folder.rglob("*"))
    assert "ExecStart=" in person.runs("install", "--dry-run")[1]
    assert sorted(person.folder.rglob("*")) == before


def test_where_it_fails_the_unit_of_before_is_back(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    _, told = person.told("install", "--wait", "0", "--port", str(free_port()))
    file = Path(told["files"][0])
    before = file.read_bytes()
    monkeypatch.setitem(person.environment, "STATUS", "1")
    status, _, err = person.runs("install", "--wait", "0", "--port", str(free_port()))
    assert (status, file.read_bytes()) == (1, before)
    assert "nothing was installed (systemctl says" in err
    assert " serve --vault " in err, "the line for whatever else keeps programs running"
    file.unlink()
    assert person.runs("install", "--wait", "0")[0] == 1
    assert not file.exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--host", "0.0.0.0"], "travel in clear"),
        (["--tls-cert", "bin/systemctl"], "belong together"),
        (["--vault", "/nowhere/at/all"], "expected the vault"),
        (["--home", "elsewhere"], "no client yet"),
        (["--cache", "a\nb"], "control"),
    ],
)
def test_what_could_not_serve_is_not_installed(
    person: Person, flags: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(person.folder)
    status, out, err = person.runs("install", *flags)
    assert (status, out) == (1, "")
    assert said in err
    assert not (person.folder / ".config").exists()
    assert not (person.folder / "log").exists()


@pytest.fixture
def running(person: Person) -> Iterator[Person]:
    """The unit, and its command run as the system would do it."""
    _, told = person.told("install", "--wait", "0", "--port", str(free_port()))
    words = command_of(Path(told["files"][0]).read_text())
    with subprocess.Popen(words, env={"PATH": os.environ["PATH"]}, cwd="/", stderr=subprocess.DEVNULL) as gateway:
        end = time.monotonic() + 30
        while person.told("status")[1]["health"] is None and time.monotonic() < end:
            time.sleep(0.2)
        yield person
        gateway.terminate()


def test_status_says_that_it_runs_and_answers(running: Person) -> None:
    status, told = running.told("status")
    assert (status, told["active"], told["health"], told["says"]) == (0, True, "ok", "active")
    status, out, _ = running.runs("status")
    assert (status, "running: active" in out, "answers at http://127.0.0.1:" in out) == (0, True, True)


def test_a_gateway_whose_vault_is_gone_is_unwell(running: Person) -> None:
    (running.folder / ODD).rename(running.folder / "away")
    end = time.monotonic() + 10
    while running.told("status")[1]["health"] == "ok" and time.monotonic() < end:
        time.sleep(0.2)
    assert running.told("status")[1]["health"] == "unwell"
    assert running.runs("status")[0] == 1


def test_a_launch_agent_is_written_and_started(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    port = free_port()
    _, told = person.told("install", "--wait", "0", "--port", str(port))
    (file,) = map(Path, told["files"])
    assert file == person.folder / f"Library/LaunchAgents/{told['name']}.plist"
    agent = plistlib.loads(file.read_bytes())
    assert agent["Label"] == told["name"]
    assert agent["ProgramArguments"][1:4] == ["serve", "--vault", str(person.folder / ODD)]
    assert (agent["RunAtLoad"], agent["KeepAlive"], agent["Umask"]) == (True, {"SuccessfulExit": False}, 0o077)
    assert person.environment["TOKEN"].encode() not in file.read_bytes()
    domain = f"gui/{os.getuid()}"
    assert person.asked() == [f"launchctl bootout {domain}/{told['name']}", f"launchctl bootstrap {domain} {file}"]
    found = person.told("status")[1]
    assert (found["installed"], found["address"], found["lingers"]) == (True, f"http://127.0.0.1:{port}", None)
    assert person.told("remove") == (0, {"removed": True})
    assert not file.exists()


def test_nobody_else_can_write_into_a_unit_whatever_the_umask(person: Person) -> None:
    elsewhere = person.folder / "elsewhere"
    elsewhere.write_text("theirs")
    _, told = person.told("install", "--wait", "0", "--port", str(free_port()))
    (file,) = map(Path, told["files"])
    file.unlink()
    file.symlink_to(elsewhere)
    before = os.umask(0)
    try:
        person.told("install", "--wait", "0", "--port", str(free_port()))
    finally:
        os.umask(before)
    assert (file.is_symlink(), file.stat().st_mode & 0o777) == (False, 0o600)
    assert elsewhere.read_text() == "theirs"
    assert [child.name for child in file.parent.iterdir()] == [file.name]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_finds_no_fault_in_it(person: Person) -> None:
    _, told = person.told("install", "--wait", "0", "--port", str(free_port()))
    (person.folder / "run").mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", told["files"][0]],
        env={"PATH": os.environ["PATH"], "HOME": str(person.folder), "XDG_RUNTIME_DIR": str(person.folder / "run")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("word", ["a\nb", "a\x00b", "a\u202eb", "a\udcffb"])
def test_a_word_that_could_end_its_line_is_refused(word: str) -> None:
    with pytest.raises(units.UnitError, match="control"):
        units.quoted(word)
