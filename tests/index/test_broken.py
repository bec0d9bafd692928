"""A broken index: the question is answered by the files, says so, and the index comes back by itself."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from muninn.model import seams
from muninn.searching import Asked

from .room import CLIENT, KEEPER, Room


@pytest.fixture
def full(room: Room) -> Iterator[Room]:
    room.put("home/panic.md", "---\ntitle: Panic\n---\na towel is enough\n")
    room.put("ops/canary.md", "the canary gate, no towel\n")
    room.put("old/towel.md", "---\nstatus: archived\n---\ntowel towel\n")
    room.put("private/towel.md", "towel secret\n")
    room.sweep()
    yield room
    seams.arm(None)


@contextlib.contextmanager
def stranger(room: Room, sql: str) -> Iterator[None]:
    """Another process that runs SQL on the index, and keeps what it holds while the context lasts."""
    code = (
        "import apsw, sys\n"
        f"c = apsw.Connection({str(room.cache / 'index.db')!r})\n"
        f"c.execute({sql!r}).fetchall()\n"
        "print('done', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as made:
        assert made.stdin is not None
        assert made.stdout is not None
        try:
            assert made.stdout.readline() == "done\n"
            yield
        finally:
            made.stdin.close()


def other_process(room: Room, sql: str) -> None:
    """Run SQL on the index in another process."""
    with stranger(room, sql):
        pass


def zeros(room: Room) -> None:
    room.index.close()
    with (room.cache / "index.db").open("r+b") as file:
        file.write(bytes(4096))


def truncated(room: Room) -> None:
    room.index.close()
    with (room.cache / "index.db").open("r+b") as file:
        file.truncate(5000)


def shadow_rows(room: Room) -> None:
    other_process(room, "DELETE FROM terms_data")


def some_shadow_rows(room: Room) -> None:
    other_process(room, "DELETE FROM terms_data WHERE id > 10")


def rows_of_notes(room: Room) -> None:
    other_process(room, "DELETE FROM docs")


def table_gone(room: Room) -> None:
    other_process(room, "DROP TABLE words")


def other_version(room: Room) -> None:
    room.index.close()
    other_process(room, "UPDATE meta SET value='1-old' WHERE key='mark'")


def file_gone(room: Room) -> None:
    (room.cache / "index.db").unlink()


def not_a_database(room: Room) -> None:
    room.index.close()
    for file in room.cache.glob("index.db*"):
        file.unlink()
    (room.cache / "index.db").write_text("not a database, at all\n" * 400)


def query_fails(room: Room) -> None:
    def hook(point: str, _path: str | None) -> None:
        if point == "index.query":
            raise OSError(5, "Input/output error")

    seams.arm(hook)


BREAKS = [zeros, truncated, shadow_rows, some_shadow_rows, rows_of_notes, table_gone, other_version, file_gone]


@pytest.mark.parametrize("damage", [*BREAKS, not_a_database, query_fails])
def test_the_files_answer_and_the_index_comes_back(full: Room, damage: Callable[[Room], None]) -> None:
    damage(full)
    found = full.ask("towel")
    assert sorted(hit.path for hit in found.hits) == ["home/panic.md", "ops/canary.md"]
    assert found.degraded
    assert found.engine == "scan"
    assert [warning.code for warning in found.warnings] == ["degraded"]
    assert "1 retired" in (found.query_note or "")
    seams.arm(None)
    until = time.monotonic() + 10
    while full.ask("towel").degraded and time.monotonic() < until:
        time.sleep(0.02)
    healed = full.ask("towel")
    assert not healed.degraded
    assert {hit.path for hit in healed.hits} == {hit.path for hit in found.hits}
    assert full.index.state().state == "ready"


@pytest.mark.parametrize("damage", BREAKS)
def test_a_scan_makes_a_broken_file_anew(full: Room, damage: Callable[[Room], None]) -> None:
    damage(full)
    full.sweep()
    assert not full.ask("towel").degraded
    assert len(full.hits("towel")) == 2
    assert full.index.state().notes == 16


def test_the_degraded_answer_keeps_rights_filters_and_limits(full: Room) -> None:
    query_fails(full)
    assert set(full.hits("towel", CLIENT)) == {"home/panic.md", "ops/canary.md"}
    assert "private/towel.md" in full.hits("towel", KEEPER)
    assert full.hits(Asked("towel", folder="ops")) == ["ops/canary.md"]
    assert full.hits(Asked("towel", status="archived")) == ["old/towel.md"]
    one = full.ask(Asked("towel", limit=1))
    assert len(one.hits) == 1
    assert one.more
    hit = one.hits[0]
    assert hit.snippet in (full.root / hit.path).read_text()


def test_the_scan_of_the_files_is_cut_at_a_fixed_time(full: Room) -> None:
    full.index.settings = type(full.settings)(degraded_scan_s=0.0)
    query_fails(full)
    found = full.ask("towel")
    assert found.more
    assert "cut" in (found.query_note or "")


def test_a_stranger_who_writes_does_not_stop_questions_and_stops_a_nudge_briefly(full: Room) -> None:
    with stranger(full, "BEGIN EXCLUSIVE"):
        begun = time.monotonic()
        assert not full.ask("towel").degraded
        full.index.nudge([full.put("new.md", "another towel\n")], full.look)
        found = full.ask("another towel")
        assert found.hits[0].path == "new.md"
        assert found.degraded
        assert time.monotonic() - begun < 6
    full.sweep()
    assert not full.ask("another towel").degraded


def test_a_stranger_who_lets_nobody_read_is_waited_for_briefly(full: Room) -> None:
    full.index.close()
    with stranger(full, "PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE; UPDATE meta SET value=value"):
        begun = time.monotonic()
        found = full.ask("towel")
        assert time.monotonic() - begun < 3
        assert found.degraded
        assert len(found.hits) == 2
    full.sweep()
    assert not full.ask("towel").degraded


def test_before_the_first_scan_the_files_answer(room: Room) -> None:
    room.put("a.md", "quokka\n")
    assert room.index.state().state == "building"
    found = room.ask("quokka")
    assert found.degraded
    assert [hit.path for hit in found.hits] == ["a.md"]
    assert found.index_age_s is None


def test_a_half_built_index_does_not_pass_for_a_whole_one(room: Room) -> None:
    for number in range(3):
        room.put(f"a{number}.md", "quokka\n")
    degraded: list[bool] = []

    def walk(*, known: object) -> object:
        for entry in list(room.walk()):
            yield entry
            degraded.append(room.ask("quokka").degraded)

    room.index.sweep(walk, room.look)  # type: ignore[arg-type]
    assert all(degraded)
    assert not room.ask("quokka").degraded
