"""The locks: a second gateway is refused by name, and a killed holder frees its lock."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muninn.model.errors import VaultUnavailableError
from muninn.vault import GatewayLock, write_lock
from muninn.vault.lock import read_lease
from tests.conftest import Room

_HOLD = """
import sys, time, pathlib
from muninn.vault import GatewayLock, write_lock
if sys.argv[1] == "gateway":
    GatewayLock(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]) / "gateway.json").take(8461)
    print("held", flush=True)
    time.sleep(60)
with write_lock(pathlib.Path(sys.argv[3])):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(room: Room, what: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-P", "-c", _HOLD, what, str(room.root), str(room.home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": _ROOT}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


_ROOT = str(Path(__file__).resolve().parents[2])


def test_a_second_gateway_is_refused_and_told_who_is_first(room: Room) -> None:
    note = room.home / "gateway.json"
    with holder(room, "gateway") as first:
        with pytest.raises(VaultUnavailableError) as caught:
            GatewayLock(room.root, note).take(8460)
        assert str(first.pid) in str(caught.value)
        assert "8461" in str(caught.value)
        assert note.stat().st_mode & 0o777 == 0o600


def test_a_killed_gateway_frees_the_vault(room: Room) -> None:
    with holder(room, "gateway") as first:
        first.kill()
        first.wait()
        lock = GatewayLock(room.root, room.home / "gateway.json")
        lock.take(8460)
        lease = read_lease(room.home / "gateway.json")
        assert lease is not None
        assert lease.port == 8460
        lock.release()


def test_a_released_lock_is_free_and_its_note_gone(room: Room) -> None:
    note = room.home / "gateway.json"
    first = GatewayLock(room.root, note)
    first.take(1)
    with pytest.raises(VaultUnavailableError):
        GatewayLock(room.root, note).take(2)
    first.release()
    first.release()
    assert read_lease(note) is None
    second = GatewayLock(room.root, note)
    second.take(2)
    second.release()


def test_a_gateway_from_another_home_is_refused_without_a_name(room: Room, tmp_path: Path) -> None:
    first = GatewayLock(room.root, room.home / "gateway.json")
    first.take(1)
    with pytest.raises(VaultUnavailableError, match="another process"):
        GatewayLock(room.root, tmp_path / "gateway.json").take(2)
    first.release()


@pytest.mark.parametrize("content", ["", "{}", "[]", "7", '{"process": "x", "port": 1}', "\x00"])
def test_a_lease_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "gateway.json").write_text(content)
    assert read_lease(tmp_path / "gateway.json") is None


def test_one_writer_at_a_time_among_threads(room: Room) -> None:
    inside, most = 0, 0

    def write() -> None:
        nonlocal inside, most
        for _ in range(20):
            with write_lock(room.home):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_one_writer_at_a_time_among_processes(room: Room) -> None:
    entered = threading.Event()

    def write() -> None:
        with write_lock(room.home):
            entered.set()

    with holder(room, "write") as other:
        thread = threading.Thread(target=write)
        thread.start()
        assert not entered.wait(0.2)
        other.kill()
        assert entered.wait(5)
        thread.join()


def test_a_failing_writer_lets_go(room: Room) -> None:
    with pytest.raises(ValueError, match="broken"), write_lock(room.home):
        raise ValueError("broken")
    with write_lock(room.home):
        pass
