"""The nightly timer: what is written and asked of the system, and that nothing is left where that fails."""

from __future__ import annotations

import json
import os
import plistlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from backup import schedule
from backup.errors import BackupError
from backup.schedule import Schedule
from muninn.cli import command
from tests.backup.yard import Yard

TOOL = '#!/bin/sh\necho "$0 $*" >> "$LOG"\ncase "$*" in *is-active*) echo active;; esac\nexit ${STATUS:-0}\n'


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """Somebody whose system has both tools, which write down what they were asked."""
    (tmp_path / "bin").mkdir()
    for name in ("systemctl", "launchctl"):
        (tmp_path / "bin" / name).write_text(TOOL)
        (tmp_path / "bin" / name).chmod(0o755)
    return {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "LOG": str(tmp_path / "log")}


def plan(person: dict[str, str], platform: str = "linux", home: str = "/h") -> Schedule:
    return Schedule(Path(home), ("/bin/muninn", "backup", "run", "--vault", '/a "b" 100%'), "03:05", platform, person)


def asked(person: dict[str, str]) -> list[str]:
    return [line.split("/")[-1] for line in Path(person["LOG"]).read_text().splitlines()]


def test_a_timer_is_written_and_started(person: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", person["PATH"])
    one = plan(person)
    service, timer = schedule.install(one)
    assert service == Path(person["HOME"]) / f".config/systemd/user/{one.name}.service"
    assert 'ExecStart="/bin/muninn" "backup" "run" "--vault" "/a \\"b\\" 100%%"\n' in service.read_text()
    assert "OnCalendar=*-*-* 03:05:00\nPersistent=true" in timer.read_text()
    told = ["daemon-reload", f"enable {one.name}.timer", f"restart {one.name}.timer"]
    assert asked(person) == [f"systemctl --user {words}" for words in told]
    found = schedule.state(one)
    assert (found.installed, found.active, found.says) == (True, True, "active")
    assert schedule.remove(one)
    assert not service.exists()
    assert not schedule.remove(one)
    assert schedule.state(one).installed is False


def test_a_launch_agent_is_written_and_started(person: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", person["PATH"])
    one = plan(person, "darwin")
    (file,) = schedule.install(one)
    told = plistlib.loads(file.read_bytes())
    assert told["StartCalendarInterval"] == {"Hour": 3, "Minute": 5}
    assert told["ProgramArguments"] == list(one.command)
    assert f"launchctl bootstrap gui/{os.getuid()} {file}\n" in Path(person["LOG"]).read_text()


def test_where_it_fails_nothing_is_left_and_cron_is_named(
    person: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", person["PATH"])
    one = plan(person | {"STATUS": "1"})
    with pytest.raises(BackupError, match=r"5 3 \* \* \* /bin/muninn backup run --vault '/a \"b\" 100\\%'"):
        schedule.install(one)
    assert not any(file.exists() for file in one.unit.files())


def test_each_home_has_a_timer_of_its_own(person: dict[str, str]) -> None:
    assert plan(person).name != plan(person, home="/other").name


def test_the_commands(yard: Yard, person: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in person.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    own = {"MUNINN_VAULT": str(yard.vault), "MUNINN_HOME": str(yard.home), "MUNINN_CACHE": str(yard.folder / "c")}

    def muninn(*words: str) -> tuple[int, Any]:
        done = CliRunner().invoke(command, ["backup", "schedule", *words, "--json"], env=own)
        return done.exit_code, json.loads(done.stdout) if done.stdout else done.stderr

    assert muninn("status")[0] == 1
    assert "no time of day" in muninn("install", "--at", "25:00")[1]
    code, told = muninn("install", "--at", "04:00")
    assert (code, told["installed"]) == (0, True)
    assert str(yard.vault) in Path(told["files"][0]).read_text()
    assert muninn("status")[0] == 0
    assert muninn("remove") == (0, {"removed": True})
    assert muninn("remove") == (0, {"removed": False})
