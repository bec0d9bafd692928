"""The ledger: what is kept stays, history tells it, and a broken ledger says so at use."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import Entry, Ledger, Terms, verify
from ledger import file as files
from ledger.history import TOGETHER
from ledger.migrations import VERSION
from muninn.model import seams
from muninn.model.change import Change, Kind, Request
from muninn.model.content import MISSING, Basis, ContentHash
from muninn.model.errors import LedgerUnavailableError
from muninn.turns import MOST
from tests.conftest import at, breaking, path
from tests.ledger.alone import open_entry, settle

A, B, C = b"a\n", b"b\n", b"c\n"


def h(content: bytes) -> ContentHash:
    return ContentHash.of(content)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.db")
    made.belong_to("0" * 32)
    yield made
    seams.arm(None)
    made.close()


def keep(
    book: Ledger,
    name: str,
    before: bytes | None,
    after: bytes | None,
    *,
    client: str | None = "ada",
    page: tuple[bytes, bytes] | None = None,
    request: Request | None = None,
    reason: str | None = None,
) -> Entry:
    """Open a plan for one path, with its folder's page as a second change where one is given."""
    was: Basis = MISSING if before is None else h(before)
    becomes: Basis = MISSING if after is None else h(after)
    kind = Kind.CREATE if before is None else Kind.ARCHIVE if after is None else Kind.OVERWRITE
    changes = [Change(path(name), was, becomes, 0o644)]
    if page is not None:
        changes.append(Change(path("index.md"), h(page[0]), h(page[1]), 0o644))
    contents = {h(content): content for content in (before, after, *(page or ())) if content is not None}
    number = book.head()[0] + len(book.rows(0, 10_000))
    terms = Terms(client, kind, path(name), was, becomes, f"pn-{number}", "1", reason, "why", request)
    return open_entry(book, terms, changes, contents)


def outside(folder: Path, statements: str) -> None:
    """What somebody with a database tool does to the file."""
    other = apsw.Connection(str(folder / "ledger.db"))
    try:
        other.execute(statements)
    finally:
        other.close()


def done(book: Ledger, entry: Entry) -> str:
    event = settle(book, entry, "committed", [change.path for change in entry.changes])
    assert event is not None
    return event


def test_a_new_ledger_is_bound_once(book: Ledger, tmp_path: Path) -> None:
    assert book.vault_id == "0" * 32
    book.belong_to("1" * 32)
    assert book.vault_id == "0" * 32
    assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("table", ["rows", "changes", "ends", "requests", "pendings", "blobs"])
@pytest.mark.parametrize("verb", ["UPDATE {} SET seq = seq", "DELETE FROM {}"])
def test_every_table_is_append_only(book: Ledger, tmp_path: Path, table: str, verb: str) -> None:
    done(book, keep(book, "a.md", None, A, request=Request("r", "d")))
    statement = verb.format(table).replace("seq = seq", "id = id" if table == "blobs" else "seq = seq")
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        outside(tmp_path, statement)


def test_a_plan_is_open_until_it_is_settled(book: Ledger) -> None:
    entry = keep(book, "a.md", None, A, request=Request("r", "d"))
    assert (entry.state, book.head()[:2]) == ("pending", (0, 1))
    assert book.open_entries() == [entry] == [book.entry(entry.terms.pending_id)]
    event = done(book, entry)
    settled = book.entry(entry.terms.pending_id)
    assert settled is not None
    assert (settled.state, settled.event, settled.landed) == ("committed", event, ("a.md",))
    assert (book.head()[:2], book.open_entries()) == ((1, 0), [])
    assert settled.terms == entry.terms


def test_open_plans_come_oldest_first_and_cost_nothing_where_there_are_none(book: Ledger) -> None:
    entries = [keep(book, f"{n}.md", None, A) for n in range(4)]
    done(book, entries[1])
    assert [entry.seq for entry in book.open_entries()] == [entries[n].seq for n in (0, 2, 3)]
    for n in (0, 2, 3):
        done(book, entries[n])
    asked: list[str] = []

    def note(cursor: object, sql: str, values: object) -> bool:
        asked.append(sql)
        return True

    with book._file.reading() as connection:
        connection.exec_trace = note
    assert book.open_entries() == []
    assert len(asked) == 1
    assert "LIMIT 1" in asked[0]


def test_a_plan_is_ended_once(book: Ledger) -> None:
    entry = keep(book, "a.md", None, A)
    done(book, entry)
    with pytest.raises(LedgerUnavailableError):
        done(book, entry)
    assert book.head()[:2] == (1, 0)


def test_kept_bytes_come_back(book: Ledger) -> None:
    big = bytes(range(256)) * 5000
    done(book, keep(book, "a.md", b"", big))
    assert (book.content(h(big)), book.content(h(b""))) == (big, b"")
    assert book.keeps(h(b""))
    assert (book.content(h(C)), book.keeps(h(C))) == (None, False)


def test_history_is_newest_first_and_paged(book: Ledger) -> None:
    steps = [(None, A), (A, B), (B, None), (None, A)]
    events = [done(book, keep(book, "a.md", before, after)) for before, after in steps]
    done(book, keep(book, "b.md", None, A))
    found = book.history(path("a.md"), None, 10)
    assert [event.id for event in found] == events[::-1]
    assert [(event.kind, event.client, event.note) for event in found][1] == (Kind.ARCHIVE, "ada", "why")
    assert [(event.before, event.after) for event in found][-1] == (MISSING, h(A))
    first = book.history(path("a.md"), None, 3)
    rest = book.history(path("a.md"), first[-1].seq, 3)
    assert [event.id for event in (*first, *rest)] == events[::-1]
    assert book.history(path("none.md"), None, 3) == []


@pytest.mark.parametrize("others", [0, 3, 9, 40])
def test_history_goes_by_the_ends_of_plans(book: Ledger, others: int) -> None:
    """A plan that was pending meanwhile happened when it ended, not when it was made."""
    first = done(book, keep(book, "a.md", None, A))
    pending = keep(book, "a.md", A, B)
    meanwhile = [done(book, keep(book, "a.md", B, C)) for _ in range(others)]
    late = done(book, pending)
    newest = done(book, keep(book, "a.md", C, A))
    expected = [newest, late, *meanwhile[::-1], first]
    assert [event.id for event in book.history(path("a.md"), None, 99)] == expected
    paged: list[str] = []
    below = None
    for _ in expected:
        found = book.history(path("a.md"), below, 2)
        paged += [event.id for event in found]
        below = found[-1].seq if found else below
    assert paged == expected
    assert book.last(path("a.md")) == (h(A), False)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=4, max_size=60))
def test_history_is_in_the_order_of_the_rows_that_say_so(book: Ledger, steps: list[tuple[str, int]]) -> None:
    """Plans that stay open for any while, some that never end, and what came around the door, on two paths."""
    waiting: list[Entry] = []
    names = [path(f"{book.head()[0]}-{name}.md") for name in "ab"]
    told: dict[str, list[str]] = {name: [] for name in names}
    held: dict[str, ContentHash] = {}
    for number, (which, action) in enumerate(steps):
        name, content = names["ab".index(which)], f"{len(book.rows(0, 10_000))} {number}".encode()
        if action == 0:
            told[name] += book.witness([Change(name, MISSING, h(content))], {h(content): content})
            held[name] = h(content)
            continue
        waiting.append(keep(book, name, A, content))
        for entry in waiting[:: 3 - action] if action < 3 else ():
            waiting.remove(entry)
            told[entry.terms.path].append(done(book, entry))
            held[entry.terms.path] = ContentHash(str(entry.terms.after))
    for name in names:
        for limit in (1, 2, 99):
            assert [event.id for event in book.history(name, None, limit)] == told[name][::-1][:limit]
        found = book.last(name)
        assert (None if found is None else found[0]) == held.get(name)
    for entry in waiting:
        settle(book, entry, "refused", ())


@pytest.mark.parametrize("others", [0, 40])
def test_what_a_path_last_held_goes_by_the_ends_as_well(book: Ledger, others: int) -> None:
    pending = keep(book, "a.md", A, B)
    done(book, keep(book, "a.md", None, A))
    for number in range(others):
        done(book, keep(book, f"b{number}.md", None, A))
    assert book.last(path("a.md")) == (h(A), False)
    done(book, pending)
    assert book.last(path("a.md")) == (h(B), False)


def test_no_more_plans_go_together_than_history_counts_on() -> None:
    assert MOST <= TOGETHER


def test_the_page_knows_the_event_as_one_of_its_index(book: Ledger) -> None:
    event = done(book, keep(book, "a.md", None, A, page=(B, C), reason="superseded"))
    (of_note,), (of_page,) = book.history(path("a.md"), None, 9), book.history(path("index.md"), None, 9)
    assert of_note.id == of_page.id == event
    assert (of_note.kind, of_page.kind, of_note.reason, of_page.reason) == (
        Kind.CREATE,
        Kind.INDEX,
        "superseded",
        None,
    )
    assert book.head()[0] == 1


def test_refused_and_open_plans_are_no_history(book: Ledger) -> None:
    entry = keep(book, "a.md", None, A)
    assert settle(book, entry, "refused", ()) is None
    keep(book, "a.md", None, B)
    assert book.history(path("a.md"), None, 9) == []
    assert book.head()[:2] == (0, 1)


def test_a_superseded_plan_is_history_where_it_landed(book: Ledger) -> None:
    event = settle(book, keep(book, "a.md", None, A, page=(B, C)), "superseded", [path("a.md")])
    assert [found.id for found in book.history(path("a.md"), None, 9)] == [event]
    assert book.history(path("index.md"), None, 9) == []
    assert settle(book, keep(book, "a.md", A, B), "superseded", ()) is None


def test_bytes_found_in_the_way_are_kept_with_the_end(book: Ledger) -> None:
    settle(book, keep(book, "a.md", None, A), "refused", (), found={h(C): C})
    assert book.content(h(C)) == C


def test_revisions_are_kept_bytes_of_this_path_by_hash_or_event(book: Ledger) -> None:
    first = done(book, keep(book, "a.md", None, A))
    second = done(book, keep(book, "a.md", A, B))
    other = done(book, keep(book, "b.md", C, None))
    a = path("a.md")
    assert book.revision(a, h(A)) == (h(A), 0o644)
    assert book.revision(a, h(B)) == (h(B), 0o644)
    assert book.revision(a, second) == (h(A), 0o644)
    assert book.revision(path("b.md"), other) == (h(C), 0o644)
    for nothing in (
        first,
        other,
        h(C),
        h(b"never"),
        "",
        "ev-",
        "ev-1-x",
        "ev-²-x",
        f"ev-{'9' * 30}-x",
        second + "0",
        "x",
    ):
        assert book.revision(a, nothing) is None


def test_an_event_id_is_bound_to_the_chain(book: Ledger) -> None:
    done(book, keep(book, "a.md", None, A))
    event = done(book, keep(book, "a.md", A, B))
    seq = event.split("-")[1]
    assert book.revision(path("a.md"), f"ev-{seq}-{'0' * 12}") is None


def test_plans_that_a_start_settled_are_listed_newest_first(book: Ledger) -> None:
    for number, client in enumerate(["ada", "ada", "ben", "ada"]):
        entry = keep(book, f"{number}.md", None, A, client=client)
        settle(book, entry, "committed", [path(f"{number}.md")], at_start=number != 1)
    assert [entry.terms.path for entry in book.settled_at_start("ada", 10)] == ["3.md", "0.md"]
    assert [entry.terms.path for entry in book.settled_at_start("ada", 1)] == ["3.md"]


def test_requests_belong_to_a_client_and_refused_ones_are_not_kept(book: Ledger) -> None:
    settle(book, keep(book, "a.md", None, A, request=Request("r", "one")), "refused", ())
    assert book.request("ada", "r") is None
    entry = keep(book, "a.md", None, A, request=Request("r", "two"))
    found = book.request("ada", "r")
    assert found is not None
    assert (found.seq, found.terms.request) == (entry.seq, Request("r", "two"))
    assert book.request("ben", "r") is None


def test_rows_are_exported_with_their_changes(book: Ledger) -> None:
    done(book, keep(book, "a.md", None, A))
    rows = book.rows(0, 10)
    assert [row["kind"] for row in rows] == ["vault", "plan", "end"]
    assert rows[1]["changes"] == [{"path": "a.md", "before": "missing", "after": h(A), "mode": 0o644}]
    assert [row["seq"] for row in book.rows(1, 1)] == [2]
    assert rows[-1]["chain"] == book.head()[2]


@pytest.mark.parametrize("point", ["ledger.commit", "ledger.settle"])
def test_a_full_disk_is_said_and_undoes_the_whole_transaction(book: Ledger, tmp_path: Path, point: str) -> None:
    entry = keep(book, "a.md", None, A)
    before = book.rows(0, 99)
    at(point, breaking(errno.ENOSPC))
    with pytest.raises(LedgerUnavailableError, match="No space left"):
        keep(book, "b.md", None, C) if point == "ledger.commit" else done(book, entry)
    assert book.rows(0, 99) == before
    assert not book.keeps(h(C))
    done(book, entry)
    assert verify(tmp_path / "ledger.db").faults == ()


def test_sqlites_own_full_disk_is_said(book: Ledger) -> None:
    with book._file.transaction("grow") as writer:
        pages = writer.execute("PRAGMA page_count").fetchone()
    assert pages is not None
    book._file._ready().execute(f"PRAGMA max_page_count = {pages[0]}")
    noise = b"".join(h(bytes([n])).encode() for n in range(250)) * 40
    with pytest.raises(LedgerUnavailableError, match="disk is full"):
        keep(book, "a.md", None, noise[::-1] + noise.swapcase() + bytes(range(256)) * 9000)


def test_a_ledger_that_another_process_holds_is_said(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BUSY_MS", 50)
    quick = Ledger(tmp_path / "ledger.db")
    other = apsw.Connection(str(tmp_path / "ledger.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailableError, match="another process holds it"):
        keep(quick, "a.md", None, A)
    assert quick.vault_id == "0" * 32
    other.execute("ROLLBACK")
    other.close()
    keep(quick, "a.md", None, A)
    quick.close()


@pytest.mark.parametrize("content", [b"no database at all\n" * 500, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_garbage_file_is_said_at_use(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "ledger.db"
    file.write_bytes(content)
    book = Ledger(file)
    for use in (lambda: book.vault_id, book.head, lambda: book.content(h(A)), lambda: keep(book, "a.md", None, A)):
        with pytest.raises(LedgerUnavailableError):
            use()
    assert file.read_bytes() == content
    assert verify(file).faults
    book.close()


def test_a_ledger_of_a_later_schema_is_refused(book: Ledger, tmp_path: Path) -> None:
    book.close()
    outside(tmp_path, f"PRAGMA user_version = {VERSION + 1}")
    later = Ledger(tmp_path / "ledger.db")
    for _ in range(2):
        with pytest.raises(LedgerUnavailableError, match="update Muninn"):
            later.head()
    assert later._file._writer is None
    assert later._file._idle == []


def test_a_ledger_that_comes_back_is_used_again(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "home" / "ledger.db")
    with pytest.raises(LedgerUnavailableError):
        book.head()
    (tmp_path / "home").mkdir()
    book.belong_to("0" * 32)
    assert book.vault_id == "0" * 32
    book.close()


@pytest.mark.parametrize("packed", ["x'00'", "(SELECT packed FROM blobs WHERE id = 2)"])
def test_damaged_bytes_are_not_handed_out(book: Ledger, tmp_path: Path, packed: str) -> None:
    done(book, keep(book, "a.md", None, A))
    done(book, keep(book, "a.md", A, B))
    outside(tmp_path, f"DROP TRIGGER blobs_stay; UPDATE blobs SET packed = {packed} WHERE id = 1")
    with pytest.raises(LedgerUnavailableError, match="damaged"):
        book.content(h(A))


_WRITE = """
import pathlib, sys
from ledger import Ledger, Terms
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, ContentHash, NotePath
from tests.ledger.alone import open_entry, settle
book = Ledger(pathlib.Path(sys.argv[1]))
book.belong_to("0" * 32)
for line in sys.stdin:
    content = line.encode()
    digest, path = ContentHash.of(content), NotePath("other.md")
    terms = Terms("ben", Kind.CREATE, path, MISSING, digest, "pn-other-" + line.strip(), "1")
    entry = open_entry(book, terms, [Change(path, MISSING, digest)], {digest: content})
    settle(book, entry, "committed", [path])
    print(book.head()[0], flush=True)
"""


def test_two_processes_keep_one_chain(book: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-P", "-c", _WRITE, str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={"PYTHONPATH": root}
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for number in range(1, 6):
            done(book, keep(book, f"{number}.md", None, A))
            other.stdin.write(f"{number}\n")
            assert int(other.stdout.readline()) == 2 * number == book.head()[0]
        other.stdin.close()
    verdict = verify(file)
    assert (verdict.faults, verdict.events, verdict.head) == ((), 10, book.head()[2])


def test_processes_that_start_at_once_make_one_ledger(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-P", "-c", _WRITE, str(tmp_path / "ledger.db")]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env={"PYTHONPATH": root}) for _ in range(4)]
    for process in started:
        process.communicate("")
        assert process.returncode == 0
    verdict = verify(tmp_path / "ledger.db")
    assert (verdict.faults, verdict.rows) == ((), 1)


def test_sqlite_keeps_what_was_committed_through_a_power_cut(book: Ledger) -> None:
    with book._file.reading() as reader:
        assert reader.pragma("synchronous") == 2
        assert reader.pragma("journal_mode") == "wal"


def test_threads_that_come_and_go_leave_no_connection_open(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.belong_to("v" * 32)

    def open_files() -> int:
        return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))

    book.head()
    before = open_files()
    for _ in range(40):
        thread = threading.Thread(target=book.head)
        thread.start()
        thread.join()
    assert open_files() <= before + 2
    book.close()


def test_a_reader_in_a_new_thread_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.belong_to("v" * 32)
    took: list[float] = []

    def read() -> None:
        began = time.monotonic()
        book.head()
        took.append(time.monotonic() - began)

    with book._file.transaction("hold"):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join(timeout=4)
    assert took
    assert took[0] < 2
    book.close()
