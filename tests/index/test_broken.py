"""A broken index: the question is answered by the files, says so, and the index comes back by itself."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from index import IndexSettings
from muninn.model import seams
from muninn.model.errors import IndexBrokenError
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


def cache_gone(room: Room) -> None:
    shutil.rmtree(room.cache)


def empty_file(room: Room) -> None:
    room.index.close()
    (room.cache / "index.db").write_bytes(b"")


def log_of_noise(room: Room) -> None:
    room.index.close()
    (room.cache / "index.db-wal").write_bytes(os.urandom(100_000))
    (room.cache / "index.db").write_bytes((room.cache / "index.db").read_bytes()[:9000])


def noise_inside(room: Room) -> None:
    room.index.close()
    with (room.cache / "index.db").open("r+b") as file:
        for page in range(1, file.seek(0, 2) // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(4096))


def link_to_nowhere(room: Room) -> None:
    room.index.close()
    (room.cache / "index.db").unlink()
    (room.cache / "index.db").symlink_to("nowhere")


def list_of_words_empty(room: Room) -> None:
    other_process(room, "DELETE FROM words")


def list_of_words_thinned(room: Room) -> None:
    other_process(room, "DELETE FROM words WHERE term LIKE 'to%'")


def sizes_gone(room: Room) -> None:
    other_process(room, "DELETE FROM terms_docsize")


def settings_of_words_gone(room: Room) -> None:
    room.index.close()
    other_process(room, "DELETE FROM terms_config")


def blocks_of_noise(room: Room) -> None:
    other_process(room, "UPDATE terms_data SET block=randomblob(length(block)) WHERE id > 10")


def query_fails(room: Room) -> None:
    def hook(point: str, _path: str | None) -> None:
        if point == "index.query":
            raise OSError(5, "Input/output error")

    seams.arm(hook)


BREAKS = [zeros, truncated, shadow_rows, some_shadow_rows, rows_of_notes, table_gone, other_version, file_gone,
          cache_gone, empty_file, log_of_noise, noise_inside, link_to_nowhere, list_of_words_empty, sizes_gone,
          settings_of_words_gone, blocks_of_noise]  # fmt: skip


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
    while (full.ask("towel").degraded or full.index.state().state != "ready") and time.monotonic() < until:
        time.sleep(0.02)
    healed = full.ask("towel")
    assert not healed.degraded
    assert {hit.path for hit in healed.hits} == {hit.path for hit in found.hits}
    assert full.index.state().state == "ready"


@pytest.mark.parametrize("damage", [*BREAKS, list_of_words_thinned])
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


def test_the_files_answer_where_a_stem_begins_with_another_letter_than_its_word(tmp_path: Path) -> None:
    room = Room(tmp_path, IndexSettings(language="dutch"))
    room.put("a.md", "hier is gebouwd\n")
    found = room.ask("bouwen")
    assert found.degraded
    assert [hit.path for hit in found.hits] == ["a.md"]
    room.index.close()


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


def test_a_full_disk_is_noticed_by_the_next_scan_and_answered_around(full: Room) -> None:
    with full.index._public.holding() as connection:
        pages = connection.execute("PRAGMA page_count").fetchall()[0][0]
        connection.execute(f"PRAGMA max_page_count={pages}")
    path = full.put("new.md", " ".join(f"towel{number}" for number in range(3000)) + "\n")
    full.index.nudge([path], full.look)
    assert full.ask("towel7").degraded
    assert "new.md" in full.hits("towel7")
    assert full.index.state().state == "broken"
    full.sweep()  # on a new connection, to which no limit was set
    assert not full.ask("towel7").degraded


def test_an_unchanged_vault_does_not_hide_an_index_that_cannot_be_written(full: Room) -> None:
    def hook(point: str, _path: str | None) -> None:
        if point == "index.write":
            raise OSError(30, "Read-only file system")

    full.sweep()
    seams.arm(hook)
    with pytest.raises(IndexBrokenError):
        full.sweep()
    assert full.index.state().state == "broken"
    assert full.ask("towel").degraded
    assert full.index.examine() is not None
    seams.arm(None)
    full.sweep()
    assert not full.ask("towel").degraded
    assert full.index.examine() is None


def test_a_folder_in_the_place_of_the_file_costs_speed_alone(full: Room) -> None:
    full.index.close()
    for file in full.cache.glob("index.db*"):
        file.unlink()
    (full.cache / "index.db").mkdir()
    assert full.ask("towel").degraded
    with pytest.raises(IndexBrokenError):
        full.sweep()
    assert full.index.state().state == "broken"
    (full.cache / "index.db").rmdir()
    full.sweep()
    assert not full.ask("towel").degraded


def test_a_trigger_that_a_stranger_laid_into_the_file_does_not_run(full: Room) -> None:
    full.sweep()
    other_process(full, "CREATE TRIGGER t BEFORE INSERT ON terms_data BEGIN SELECT RAISE(IGNORE); END")
    full.sweep()
    full.index.nudge([full.put("new.md", "a numbat\n")], full.look)
    found = full.ask("numbat")
    assert [hit.path for hit in found.hits] == ["new.md"]
    assert not found.degraded
    assert full.index.examine() is None


def test_a_scan_of_an_unchanged_vault_proves_that_a_word_can_be_written(full: Room) -> None:
    full.sweep()
    with full.index._public.writing() as connection:
        connection.execute("DROP TABLE terms_idx")
        connection.execute("CREATE TABLE terms_idx(segid, term, pgno, more NOT NULL, PRIMARY KEY(segid, term))")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with pytest.raises(IndexBrokenError):
        full.sweep()
    assert full.ask("towel").degraded
    full.sweep()
    assert not full.ask("towel").degraded
    assert full.index.examine() is None


@pytest.mark.parametrize("damage", [list_of_words_thinned, blocks_of_noise, sizes_gone, noise_inside, other_version])
def test_who_asks_for_the_state_has_the_index_looked_through(full: Room, damage: Callable[[Room], None]) -> None:
    full.sweep()
    assert full.index.examine() is None
    before = full.ask("towel")
    assert not before.degraded
    damage(full)
    assert full.index.examine() is not None
    full.sweep()
    assert full.index.examine() is None
    assert full.ask("towel").hits == before.hits


def test_without_an_index_what_is_retired_or_a_log_is_told_whatever_way_it_is_written(full: Room) -> None:
    heads = ["status: ARCHIVED", 'status: "\\x61rchived"', "status: >-\n  archived", "{status: archived}"]
    for number, head in enumerate(heads):
        full.put(f"retired/r{number}.md", f"---\n{head}\n---\nnumbat {number}\n")
    full.put("a.md", "---\ntype: Daily\n---\nnumbat numbat\n")
    full.put("b.md", "---\ntitle: archived things\n---\nnumbat numbat\n")
    query_fails(full)
    found = full.ask("numbat")
    assert [hit.path for hit in found.hits] == ["b.md", "a.md"]
    assert f"{len(heads)} retired" in (found.query_note or "")
