"""Writes that come together go together: fewer flushes, and for each of them the outcome it would have had alone."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ledger import verify
from muninn import external, writing
from muninn.model import seams
from muninn.model.change import Kind, Pending, Receipt, Request
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.draft import ArchiveDraft, Draft, WriteDraft
from muninn.model.errors import LedgerInDoubtError, VaultUnavailableError
from muninn.model.refusal import Code, Refusal
from muninn.model.sight import Sight
from muninn.vault import write_lock
from muninn.writing import committing, playing
from tests.conftest import Room, at, breaking, furnish, note_text, path

OLD, FOREIGN = note_text("Old words.\n"), b"foreign\n"
PAGE = "d/index.md"
N = 6
Came = writing.Outcome | BaseException


def name(number: int) -> str:
    return f"d/{number}.md"


def text(number: int) -> bytes:
    return note_text("New words.\n", title=f"Note {number}")


def create(number: int, where: str | None = None) -> Draft:
    return write(where or name(number), text(number), None)


def write(where: str, content: bytes, over: bytes | None) -> Draft:
    return WriteDraft(path(where), where, content, MISSING if over is None else ContentHash.of(over))


def overwrite(number: int) -> Draft:
    return write(name(number), text(number), OLD)


def prepare(room: Room, numbers: Sequence[int] = range(N)) -> None:
    """A folder with a page and these notes in it."""
    for number in numbers:
        done = writing.commit(room.door, room.rights(), write(name(number), OLD, None), None)
        assert isinstance(done, Receipt)
    room.nudges.paths.clear()


def together(
    room: Room, drafts: Sequence[Draft], requests: Sequence[Request | None] | None = None, clients: str = "ada"
) -> list[Came]:
    """Commit drafts that stand in the line in this order before the first of them has its turn."""
    came: list[Came] = [RuntimeError("never came back") for _ in drafts]
    rights = room.rights(clients)

    def commit(number: int) -> None:
        try:
            came[number] = writing.commit(room.door, rights, drafts[number], requests[number] if requests else None)
        except BaseException as error:
            came[number] = error

    threads = [threading.Thread(target=commit, args=(number,), daemon=True) for number in range(len(drafts))]
    with write_lock(room.home):
        for number, thread in enumerate(threads, 1):
            thread.start()
            until(partial(stand_in_line, room, number))
    for thread in threads:
        thread.join(30)
    return came


def stand_in_line(room: Room, number: int) -> bool:
    return len(room.door.line._calls) == number


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@contextmanager
def counting() -> Iterator[Counter[Any]]:
    """How often each fault point is passed, and for which path."""
    passed: Counter[Any] = Counter()
    seams.arm(lambda point, where: passed.update([point, (point, where)]))
    yield passed
    seams.arm(None)


def lines(room: Room, page: str = PAGE) -> list[str]:
    """The notes that a page lists, with their titles."""
    found = (room.bytes_of(page) or b"").decode().splitlines()
    return [line.partition("]]")[0].removeprefix("- [[") for line in found if line.startswith("- [[")]


def listed(numbers: Sequence[int]) -> list[str]:
    return [f"{name(number)[:-3]}|Note {number}" for number in numbers]


def kinds(came: Sequence[Came]) -> list[str]:
    return [type(one).__name__ for one in came]


def assert_whole(room: Room) -> None:
    """The history of every path goes from step to step without a gap, and ends in what is on disk."""
    for where in room.door.ledger.known_paths():
        events = room.door.ledger.history(where, None, 10_000)
        for newer, older in itertools.pairwise(events):
            assert newer.before == older.after, where
        content = room.bytes_of(where)
        assert not events or events[0].after == (MISSING if content is None else ContentHash.of(content))
    assert room.temps() == []
    assert verify(room.home / "ledger.db").faults == ()


# --- what they share -------------------------------------------------------------------------------


def test_writes_of_one_folder_share_transactions_page_and_flush(paged: Room) -> None:
    prepare(paged, [*range(N), 99])
    with counting() as passed:
        came = together(paged, [overwrite(number) for number in range(N)])
    assert kinds(came) == ["Receipt"] * N
    assert (passed["ledger.commit"], passed["ledger.settle"], passed["vault.fsync_folder"]) == (1, 1, 1)
    assert (passed["folder_index.apply"], passed["vault.fsync"]) == (1, N + 1)
    assert lines(paged)[:N] == listed(range(N))
    assert sorted(paged.nudges.paths) == sorted({*map(name, range(N)), PAGE})
    assert_whole(paged)


def test_events_stand_in_the_order_of_the_line(paged: Room) -> None:
    prepare(paged)
    came = together(paged, [overwrite(number) for number in reversed(range(N))])
    events = [one.event for one in came if isinstance(one, Receipt)]
    of_page = paged.door.ledger.history(path(PAGE), None, N)
    assert [event.id for event in of_page] == events[::-1]
    assert [paged.door.ledger.history(path(name(n)), None, 1)[0].id for n in reversed(range(N))] == events


def test_writes_of_several_folders_share_transactions(room: Room) -> None:
    with counting() as passed:
        came = together(room, [create(number, f"f{number}/a.md") for number in range(N)])
    assert kinds(came) == ["Receipt"] * N
    assert (passed["ledger.commit"], passed["ledger.settle"], passed["vault.fsync_folder"]) == (1, 1, N)
    assert_whole(room)


def test_a_write_that_is_alone_waits_for_nobody(paged: Room) -> None:
    prepare(paged, [0])
    with counting() as passed:
        assert isinstance(writing.commit(paged.door, paged.rights(), overwrite(0), None), Receipt)
    points = ("ledger.commit", "vault.exchange", "folder_index.apply", "vault.fsync_folder", "ledger.settle")
    assert [passed[point] for point in points] == [1, 2, 1, 1, 1]
    assert not paged.door.line._calls


def test_who_comes_while_others_are_judged_goes_with_them(paged: Room) -> None:
    prepare(paged)
    late: list[Came] = []
    thread = threading.Thread(
        target=lambda: late.append(writing.commit(paged.door, paged.rights(), overwrite(1), None))
    )
    commits: list[str] = []

    def hook(point: str, _: str | None) -> None:
        if point == "vault.read" and thread.ident is None:
            thread.start()
            until(partial(stand_in_line, paged, 1))
        commits.extend([point] if point == "ledger.commit" else [])

    seams.arm(hook)
    assert isinstance(writing.commit(paged.door, paged.rights(), overwrite(0), None), Receipt)
    thread.join(10)
    assert (kinds(late), commits) == (["Receipt"], ["ledger.commit"])


def test_no_more_go_together_than_the_bound(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "MOST", 4)
    kept: list[int] = []
    honest = room.door.ledger.open_together

    def counted(plans: Any) -> Any:
        kept.append(len(plans))
        return honest(plans)

    monkeypatch.setattr(room.door.ledger, "open_together", counted)
    assert kinds(together(room, [create(number) for number in range(10)])) == ["Receipt"] * 10
    assert kept == [4, 4, 2]


# --- what they must not share ----------------------------------------------------------------------


def test_of_many_on_one_hash_the_first_in_line_wins(paged: Room) -> None:
    prepare(paged, [0])
    drafts = [write(name(0), text(number), OLD) for number in range(10)]
    first, *others = together(paged, drafts)
    assert isinstance(first, Receipt)
    for one in others:
        assert isinstance(one, Refusal)
        assert (one.code, one.details["current_hash"]) == (Code.CONFLICT, ContentHash.of(text(0)))
    assert_whole(paged)


def outside(room: Room, where: str) -> None:
    new = room.root / "outside"
    new.write_bytes(FOREIGN)
    new.replace(room.root / where)


@pytest.mark.parametrize("number", [0, 2, N - 1])
@pytest.mark.parametrize("point", ["vault.exchange", "vault.write", "vault.fsync"])
def test_one_that_fails_fails_alone(paged: Room, point: str, number: int) -> None:
    prepare(paged)
    drifted = point == "vault.exchange"
    at(point, (lambda: outside(paged, name(number))) if drifted else breaking(), where=name(number))
    came = together(paged, [overwrite(one) for one in range(N)])
    assert kinds(came) == ["Refusal" if one == number else "Receipt" for one in range(N)]
    assert paged.bytes_of(name(number)) == (FOREIGN if drifted else OLD)
    assert [row for row in lines(paged) if not row.startswith(name(number)[:-3])] == listed(
        [one for one in range(N) if one != number]
    )
    assert f"{name(number)[:-3]}|Canary gate" in lines(paged)
    assert paged.door.ledger.head()[1] == 0
    if drifted:
        assert paged.door.ledger.content(ContentHash.of(FOREIGN)) == FOREIGN
        external.record(paged.door, [path(name(number))])
    assert_whole(paged)


def test_a_note_that_cannot_be_read_stops_its_own_caller_only(paged: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(paged)
    honest = paged.door.vault.look

    def look(where: NotePath, **more: bool) -> Sight:
        if where == name(1):
            raise OSError(5, "I/O error")
        return honest(where, **more)

    monkeypatch.setattr(paged.door.vault, "look", look)
    came = together(paged, [overwrite(number) for number in range(3)])
    assert kinds(came) == ["Receipt", "OSError", "Receipt"]


def test_a_page_that_cannot_be_written_leaves_all_pending_and_any_recovery_finishes_them(paged: Room) -> None:
    prepare(paged)
    at("vault.write", breaking(), where=PAGE)
    came = together(paged, [overwrite(number) for number in range(N)])
    assert kinds(came) == ["Pending"] * N
    last = came[-1]
    assert isinstance(last, Pending)
    entry = writing.recover(paged.door, "ada", last.id)
    assert not isinstance(entry, Refusal)
    assert (entry.state, entry.landed) == ("committed", (name(N - 1), PAGE))
    assert lines(paged) == listed(range(N))
    assert paged.door.ledger.head()[1] == 0
    assert_whole(paged)


def test_an_outsider_on_the_page_keeps_his_bytes(paged: Room) -> None:
    prepare(paged)
    at("vault.exchange", lambda: outside(paged, PAGE), where=PAGE)
    came = together(paged, [overwrite(number) for number in range(3)])
    assert kinds(came) == ["Pending"] * 3
    assert paged.bytes_of(PAGE) == FOREIGN
    assert paged.door.ledger.content(ContentHash.of(FOREIGN)) == FOREIGN
    for number, one in enumerate(came):
        assert isinstance(one, Pending)
        entry = paged.door.ledger.entry(one.id)
        assert entry is not None
        assert (entry.state, entry.landed) == ("superseded", (name(number),))
    external.record(paged.door, [path(PAGE)])
    assert_whole(paged)


def test_a_page_that_drifts_before_anything_is_touched_costs_nobody_his_write(paged: Room) -> None:
    prepare(paged)
    page = paged.bytes_of(PAGE) or b""
    at("ledger.commit", lambda: paged.lay(PAGE, page + b"\nA word of the owner's.\n"))
    came = together(paged, [overwrite(number) for number in range(3)])
    assert kinds(came) == ["Refusal", "Receipt", "Receipt"]
    assert (paged.bytes_of(PAGE) or b"").endswith(b"A word of the owner's.\n")
    assert lines(paged)[1:3] == listed([1, 2])
    assert_whole(paged)


def test_when_the_plans_cannot_be_kept_all_are_refused_and_nothing_is_touched(paged: Room) -> None:
    prepare(paged)
    before = paged.state()
    at("ledger.commit", breaking())
    came = together(paged, [overwrite(number) for number in range(N)])
    assert [one.code for one in came if isinstance(one, Refusal)] == [Code.LEDGER_UNAVAILABLE] * N
    changed = {key for key, value in paged.state().items() if before.get(key) != value}
    assert all("ledger.db" in key for key in changed)
    assert paged.door.ledger.head()[1] == 0


def test_a_commit_in_doubt_leaves_all_pending(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubtful(*_: Any) -> Any:
        raise LedgerInDoubtError("the disk reports an error")

    monkeypatch.setattr(room.door.ledger, "open_together", doubtful)
    assert kinds(together(room, [create(number) for number in range(3)])) == ["Pending"] * 3


def test_when_the_ends_cannot_be_kept_all_are_pending_and_recovered_once(paged: Room) -> None:
    prepare(paged)
    events = paged.door.ledger.head()[0]
    at("ledger.settle", breaking())
    came = together(paged, [overwrite(number) for number in range(N)])
    assert kinds(came) == ["Pending"] * N
    for one in (*came, *came):
        assert isinstance(one, Pending)
        entry = writing.recover(paged.door, "ada", one.id)
        assert not isinstance(entry, Refusal)
        assert entry.state == "committed"
    assert paged.door.ledger.head()[:2] == (events + N, 0)
    assert_whole(paged)


def test_a_vault_that_is_gone_is_told_to_everyone(room: Room) -> None:
    room.root.rename(room.root.with_name("away"))
    came = together(room, [create(number) for number in range(3)])
    assert [type(one) for one in came] == [VaultUnavailableError] * 3


def test_a_turn_that_breaks_is_told_to_everyone_in_it_and_the_line_goes_on(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(playing, "play", broken)
        assert kinds(together(room, [create(number) for number in range(3)])) == ["RuntimeError"] * 3
    writing.recover_all(room.door)
    assert isinstance(writing.commit(room.door, room.rights(), create(9), None), Receipt)


def test_a_lock_that_cannot_be_had_is_told_to_each(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def broken(_: Path) -> Iterator[None]:
        raise OSError(13, "no")
        yield

    with monkeypatch.context() as patched:
        patched.setattr(committing, "write_lock", broken)
        for _ in range(2):
            with pytest.raises(OSError, match="no"):
                writing.commit(room.door, room.rights(), create(1), None)
    assert isinstance(writing.commit(room.door, room.rights(), create(1), None), Receipt)


# --- whose verdict hangs on another ----------------------------------------------------------------


def test_the_same_request_twice_is_done_once(paged: Room) -> None:
    prepare(paged, [0])
    first, second, third = together(
        paged, [create(1), create(1), create(2)], [Request("r", "x"), Request("r", "x"), Request("r", "y")]
    )
    assert isinstance(first, Receipt)
    assert isinstance(second, writing.Replayed)
    assert second.entry.event == first.event
    assert isinstance(third, Refusal)
    assert third.code is Code.INVALID_ARGUMENTS
    assert paged.bytes_of(name(2)) is None


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("d/a.md", "d/A.md", Code.EXISTS),
        ("d/é.md", "d/É.md", Code.EXISTS),
        ("new/a.md", "New/b.md", Code.EXISTS),
        ("x/a.md", "x/a.md/b.md", Code.EXISTS),
        ("x/a.md/b.md", "x/a.md", Code.EXISTS),
    ],
)
@pytest.mark.parametrize("pages", [True, False])
def test_names_that_exclude_each_other_are_judged_one_after_the_other(
    tmp_path: Path, first: str, second: str, code: Code, pages: bool
) -> None:
    room = furnish(tmp_path, "index.md" if pages else None)
    prepare(room, [0])
    one, other = together(room, [create(1, first), create(2, second)])
    assert isinstance(one, Receipt)
    assert isinstance(other, Refusal)
    assert other.code is code
    assert room.bytes_of(second) is None
    assert_whole(room)
    room.door.ledger.close()


def test_a_new_folders_page_lists_all_that_came_together(paged: Room) -> None:
    came = together(paged, [create(number) for number in range(N)])
    assert kinds(came) == ["Receipt"] * N
    assert lines(paged) == listed(range(N))
    assert_whole(paged)


def test_a_page_that_is_made_does_not_list_what_is_archived_with_it(paged: Room) -> None:
    paged.lay(name(1), OLD)
    gone = ArchiveDraft(path(name(1)), ContentHash.of(OLD), "obsolete", None)
    assert kinds(together(paged, [gone, create(2)])) == ["Receipt", "Receipt"]
    assert lines(paged) == listed([2])


def test_a_write_of_the_page_itself_and_one_of_its_notes(paged: Room) -> None:
    prepare(paged, [0])
    page = paged.bytes_of(PAGE) or b""
    own = page + b"\nBelow the block.\n"
    for drafts in (
        [write(PAGE, own, page), overwrite(0)],
        [write(name(0), OLD, text(0)), write(PAGE, page, own)],
    ):
        first, second = together(paged, drafts)
        assert isinstance(first, Receipt)
        assert isinstance(second, Receipt)
    assert_whole(paged)


def test_archives_restores_and_overwrites_of_one_folder_go_together(paged: Room) -> None:
    prepare(paged)
    drafts = [ArchiveDraft(path(name(0)), ContentHash.of(OLD), "obsolete", None), overwrite(1), create(8), overwrite(2)]
    with counting() as passed:
        came = together(paged, drafts)
    assert kinds(came) == ["Receipt"] * 4
    assert passed["ledger.commit"] == 1
    assert lines(paged) == [*listed([1, 2]), *[f"d/{n}|Canary gate" for n in (3, 4, 5)], *listed([8])]
    events = paged.door.ledger.history(path(PAGE), None, 4)
    assert {event.kind for event in events} == {Kind.INDEX}
    assert_whole(paged)


def test_a_pending_write_is_finished_before_those_that_build_on_it(paged: Room) -> None:
    prepare(paged)
    at("folder_index.apply", breaking())
    assert isinstance(writing.commit(paged.door, paged.rights(), overwrite(0), None), Pending)
    seams.arm(None)
    assert kinds(together(paged, [overwrite(1), overwrite(2)])) == ["Receipt", "Receipt"]
    assert lines(paged)[:3] == listed([0, 1, 2])
    assert_whole(paged)


def test_no_write_goes_over_the_page_of_one_that_is_done_and_has_no_end(paged: Room) -> None:
    prepare(paged)
    at("ledger.settle", breaking())
    first = writing.commit(paged.door, paged.rights(), overwrite(0), None)
    at("ledger.settle", breaking())
    second = writing.commit(paged.door, paged.rights(), overwrite(1), None)
    seams.arm(None)
    assert isinstance(first, Pending)
    assert isinstance(second, Refusal)
    assert (second.code, paged.bytes_of(name(1))) == (Code.CONFLICT, OLD)
    assert isinstance(writing.commit(paged.door, paged.rights(), overwrite(1), None), Receipt)
    assert lines(paged)[:2] == listed([0, 1])
    assert_whole(paged)


# --- when the process dies -------------------------------------------------------------------------

DEATHS = [
    ("vault.write", 1),
    ("vault.exchange", 2),
    ("vault.exchange", 4),
    ("folder_index.apply", 1),
    ("vault.fsync_folder", 1),
    ("ledger.settle", 1),
    ("ledger.commit", 1),
]


def die(folder: Path, point: str, nth: int) -> None:
    """Write together, and end the process at the n-th passing of a point. Runs in a process of its own."""
    room = furnish(folder, "index.md")
    left = nth

    def hook(passed: str, where: str | None) -> None:
        nonlocal left
        left -= passed == point
        if left == 0:
            os._exit(70)

    seams.arm(hook)
    together(room, [overwrite(number) for number in range(4)])


_DRIVER = """
import pathlib, sys
from tests.writing.test_grouping import die
die(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
"""


@pytest.mark.parametrize(("point", "nth"), DEATHS)
def test_after_a_death_a_start_finishes_all_that_was_kept(tmp_path: Path, point: str, nth: int) -> None:
    room = furnish(tmp_path, "index.md")
    prepare(room)
    room.door.ledger.close()
    command = [sys.executable, "-P", "-c", _DRIVER, str(tmp_path), point, str(nth)]
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": root}, timeout=60, check=False)
    assert done.returncode == 70, done.stderr
    room = furnish(tmp_path, "index.md")
    settled = writing.recover_all(room.door)
    if point == "ledger.commit":
        assert settled == []
        assert [room.bytes_of(name(number)) for number in range(4)] == [OLD] * 4
    else:
        assert [(entry.state, entry.settled_at_start) for entry in settled] == [("committed", True)] * 4
        assert [room.bytes_of(name(number)) for number in range(4)] == [text(number) for number in range(4)]
        assert lines(room)[:4] == listed(range(4))
    assert writing.recover_all(room.door) == []
    assert room.door.ledger.head()[1] == 0
    assert_whole(room)
    room.door.ledger.close()


def test_an_outsider_after_a_death_supersedes_his_own_note_and_what_was_not_done_after_it(tmp_path: Path) -> None:
    room = furnish(tmp_path, "index.md")
    prepare(room)
    at("ledger.settle", breaking())
    came = together(room, [overwrite(number) for number in range(3)])
    room.lay(name(1), FOREIGN)
    settled = writing.recover_all(room.door)
    assert kinds(came) == ["Pending"] * 3
    assert [(entry.state, entry.landed) for entry in settled] == [
        ("committed", (name(0), PAGE)),
        ("superseded", (PAGE,)),
        ("committed", (name(2), PAGE)),
    ]
    assert room.bytes_of(name(1)) == FOREIGN
    room.door.ledger.close()


# --- in a crowd ------------------------------------------------------------------------------------


def test_eight_writers_at_once_need_fewer_transactions_than_writes(paged: Room) -> None:
    prepare(paged, range(8))
    writes, barrier = 6, threading.Barrier(8)
    failures: list[Came] = []

    def work(number: int) -> None:
        barrier.wait()
        last = OLD
        for turn in range(writes):
            content = note_text("x\n", title=f"Note {number}.{turn}")
            draft = write(name(number), content, last)
            outcome = writing.commit(paged.door, paged.rights(f"c{number}"), draft, None)
            failures.extend([] if isinstance(outcome, Receipt) else [outcome])
            last = content

    events = paged.door.ledger.head()[0]
    with counting() as passed:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    assert passed["ledger.commit"] < 8 * writes
    assert paged.door.ledger.head()[:2] == (events + 8 * writes, 0)
    assert lines(paged) == [f"d/{number}|Note {number}.{writes - 1}" for number in range(8)]
    assert_whole(paged)


def test_plans_are_connected_over_the_paths_they_share(paged: Room) -> None:
    prepare(paged)
    at("ledger.settle", breaking())
    together(paged, [overwrite(0), overwrite(1), create(9, "e/a.md")])
    entries = paged.door.ledger.open_entries()
    of = [[entry.terms.path for entry in playing.connected(entries, [path(where)])] for where in (name(0), "e/a.md")]
    assert of == [[name(0), name(1)], ["e/a.md"]]
    assert playing.connected(entries, [path("none.md")]) == []


def test_who_writes_a_large_note_tells_the_index_of_it_and_no_other_waits_for_that(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[int, list[str]] = {}

    def nudge(_: object, paths: list[NotePath], look: Callable[[NotePath], Sight]) -> None:
        told.setdefault(threading.get_ident(), []).extend(paths)

    monkeypatch.setattr(type(room.nudges), "nudge", nudge)
    large = write("e/large.md", note_text("long " * 40_000, title="Large"), None)
    assert all(isinstance(one, Receipt) for one in together(room, [create(1), large]))
    by_leader, by_writer = told.values()
    assert name(1) in by_leader
    assert "e/large.md" not in by_leader
    assert "e/large.md" in by_writer
