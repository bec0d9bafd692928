"""Whatever is wrong, a session goes on: exit status 0, one whole object or nothing on stdout, in bounded time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from muninn.cli.hook import DEADLINE_S
from tests.hook.conftest import Person

EVENTS = ("session-start", "prompt", "stop")
GOOD = b'{"prompt": "when does the canary gate open?", "stop_hook_active": false}'


def _no_vault(person: Person) -> None:
    shutil.rmtree(person.folder / "vault")


def _no_home(person: Person) -> None:
    shutil.rmtree(person.folder / "home")


def _broken_clients(person: Person) -> None:
    (person.folder / "home/clients.toml").write_text("[clients.ada]\ntoken = 'in clear'\n")


def _broken_settings(person: Person) -> None:
    (person.folder / "home/muninn.toml").write_text("private = 7\n")


def _broken_places(person: Person) -> None:
    for place in ("vault", "home", "cache"):
        shutil.rmtree(person.folder / place)
        (person.folder / place).write_text("a file, and no folder")


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("harm", [_no_vault, _no_home, _broken_clients, _broken_settings, _broken_places])
def test_a_broken_installation_stops_nobody(person: Person, harm: Callable[[Person], None], event: str) -> None:
    harm(person)
    ran = person.hook(event, GOOD)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("muninn")
    assert "Traceback" not in ran.err
    assert "in clear'" not in ran.err


def _removed(file: Path) -> None:
    file.unlink()


def _garbage(file: Path) -> None:
    file.write_bytes(b"no database at all" * 4_000)


def _cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("harm", [_removed, _garbage, _cut])
def test_a_broken_index_gives_no_notes_and_is_left_as_it_is(person: Person, harm: Callable[[Path], None]) -> None:
    file = person.folder / "cache/index.db"
    for side in ("-wal", "-shm"):
        file.with_name(file.name + side).unlink(missing_ok=True)
    harm(file)
    before = file.read_bytes() if file.exists() else None
    ran = person.hook("prompt", GOOD)
    assert (ran.status, ran.out) == (0, "")
    assert "muninn index scan" in ran.err
    assert (file.read_bytes() if file.exists() else None) == before


@pytest.mark.parametrize("event", ["session-start", "stop"])
def test_a_broken_ledger_says_nothing(person: Person, event: str) -> None:
    for file in (person.folder / "home").glob("ledger.db*"):
        file.write_bytes(b"no ledger at all" * 4_000)
    ran = person.hook(event, GOOD)
    assert (ran.status, ran.out) == (0, "")
    assert "muninn ledger verify" in ran.err


@pytest.mark.parametrize(("event", "name"), [("session-start", "home/ledger.db"), ("prompt", "cache/index.db")])
def test_a_locked_file_is_not_waited_for(person: Person, event: str, name: str) -> None:
    with closing(apsw.Connection(str(person.folder / name))) as holder:
        holder.execute("PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").fetchall()
        began = time.monotonic()
        ran = person.hook(event, GOOD)
        spent = time.monotonic() - began
    assert (ran.status, ran.out) == (0, "")
    assert "another process holds it" in ran.err or "index" in ran.err or "no answer within" in ran.err
    assert spent < DEADLINE_S + 5


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"no json",
        b"[1, 2]",
        b"null",
        b"\xff\xfe\x00",
        b'{"prompt": "when does the',
        b"[" * 200_000,
        b'{"hook_event_name": "PreToolUse", "prompt": "when does the canary gate open?"}',
        b'{"prompt": "' + b"canary gate " * 900_000 + b'"}',
    ],
    ids=["empty", "text", "list", "null", "bytes", "cut", "deep", "another event", "10 MiB"],
)
def test_odd_input_is_answered_with_nothing(person: Person, event: str, sent: bytes) -> None:
    ran = person.hook(event, sent)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("muninn hook: ")
    assert "broke" not in ran.err


def test_a_prompt_of_another_type_is_no_question(person: Person) -> None:
    for prompt in (b"7", b"null", b'["canary gate"]', b'{"a": "canary gate"}'):
        ran = person.hook("prompt", b'{"prompt": ' + prompt + b"}")
        assert (ran.status, ran.out) == (0, "")


@pytest.mark.parametrize(
    "words",
    [["prompt"], ["prompt", "--client"], ["prompt", "--client", "ada", "--notes", "99"], ["promt"], ["stop", "x"], []],
    ids=str,
)
def test_a_wrong_command_line_is_said_and_stops_nobody(person: Person, words: list[str]) -> None:
    """Exit status 2, which is click's for it, would take the user's prompt away."""
    command = [sys.executable, "-P", "-m", "muninn", "hook", *words]
    done = subprocess.run(command, input=GOOD, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"muninn hook: ")


def test_input_that_never_ends_is_not_waited_for(person: Person) -> None:
    command = [sys.executable, "-P", "-m", "muninn", "hook", "prompt", "--client", "ada"]
    began = time.monotonic()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **person.environment},
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdin.write(GOOD)
        run.stdin.flush()
        assert (run.wait(DEADLINE_S + 20), run.stdout.read()) == (0, b"")
        spent = time.monotonic() - began
        assert b"no answer within" in run.stderr.read()
    assert spent > DEADLINE_S / 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "> /dev/full"])
def test_a_stream_that_is_not_there_is_no_fault(person: Person, closed: str) -> None:
    if closed.endswith("/dev/full") and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    shell = f'"$0" -P -m muninn hook prompt --client ada {closed}'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable],
        input=GOOD,
        env={**os.environ, **person.environment},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_bug_is_named_and_stops_nobody(person: Person, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import muninn.hook.prompting as p\ndef broken(*a, **k): raise ZeroDivisionError\np.at_prompt = broken\n"
    )
    ran = person.hook("prompt", GOOD, env={"PYTHONPATH": str(tmp_path)})
    assert (ran.status, ran.out, ran.err) == (0, "", "muninn hook: broke: ZeroDivisionError\n")


@pytest.mark.parametrize("event", EVENTS)
def test_nothing_is_written(person: Person, event: str) -> None:
    before = person.state()
    assert person.hook(event, GOOD).status == 0
    assert person.state() == before
