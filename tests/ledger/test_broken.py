"""A broken ledger: damage that was met stops every write until it is opened anew; reads go on as far as they can."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ledger import Ledger, Terms, glance, verify
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, ContentHash
from muninn.model.errors import LedgerUnavailableError
from tests.conftest import path
from tests.ledger.alone import open_entry, settle
from tests.ledger.filled import fill, make, text_of

NEW = b"new\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make(tmp_path, 40)


def change_outside(file: Path, statement: str) -> None:
    with closing(apsw.Connection(str(file))) as other:
        for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {name}")
        other.execute(statement)
        assert other.changes()


def write(book: Ledger) -> None:
    name, digest = path("new.md"), ContentHash.of(NEW)
    terms = Terms("ada", Kind.CREATE, name, MISSING, digest, "pn-new", "1")
    open_entry(book, terms, [Change(name, MISSING, digest)], {digest: NEW})


def every_write(book: Ledger) -> list[Callable[[], object]]:
    change = Change(path("new.md"), MISSING, ContentHash.of(NEW))
    entry = book.entry("pn-open")
    assert entry is not None
    return [
        lambda: write(book),
        lambda: settle(book, entry, "committed", [path("open.md")]),
        lambda: book.witness([change], {ContentHash.of(NEW): NEW}),
        lambda: book.begin_with([change], {}, complete=True),
        lambda: book.keep_found({ContentHash.of(NEW): NEW}),
        lambda: book.name_key("ef" * 32),
        lambda: book.belong_to("1" * 32),
        lambda: book.purge([ContentHash.of(text_of(0))], "why", force=True),
    ]


def test_a_clean_ledger_has_no_fault(file: Path) -> None:
    book = Ledger(file)
    assert book.glance(expected=True) is None
    write(book)
    assert book.fault is None
    book.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blobs SET packed = x'00' WHERE id = 1",
        "UPDATE blobs SET packed = (SELECT packed FROM blobs WHERE id = 2) WHERE id = 1",
        "UPDATE blobs SET size = size + 1 WHERE id = 1",
        # A frame that says it holds a pebibyte.
        "UPDATE blobs SET packed = x'28b52ffde0000000000000040009000061' WHERE id = 1",
    ],
)
def test_damaged_bytes_stop_every_write_until_the_ledger_is_opened_anew(file: Path, statement: str) -> None:
    change_outside(file, statement)
    book = Ledger(file)
    assert book.glance(expected=True) is None, "kept bytes are not hashed at start"
    write(book)
    first = ContentHash.of(text_of(0))
    with pytest.raises(LedgerUnavailableError, match="damaged"):
        book.content(first)
    assert book.fault is not None
    rows = book.tip().rows
    for attempt in every_write(book):
        with pytest.raises(LedgerUnavailableError, match="muninn ledger verify"):
            attempt()
    assert book.tip().rows == rows
    assert book.content(ContentHash.of(text_of(1))) == text_of(1)
    assert book.history(path("folder-0/note-0.md"), None, 9)
    book.close()
    again = Ledger(file)
    again.keep_found({ContentHash.of(b"x"): b"x"})
    assert again.tip().rows == rows + 1
    again.close()


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("UPDATE rows SET body = '{' WHERE kind = 'plan'", lambda book: book.open_entries()),
        ("UPDATE rows SET body = '[]' WHERE kind = 'plan'", lambda book: book.entry("pn-open")),
        ("UPDATE rows SET body = CAST(x'ff' AS TEXT) WHERE kind = 'plan'", lambda book: book.open_entries()),
        ("DELETE FROM rows WHERE seq = 4", lambda book: book.entry("pn-0")),
    ],
)
def test_rows_that_cannot_be_read_are_damage(file: Path, statement: str, question: Callable[[Ledger], object]) -> None:
    change_outside(file, statement)
    book = Ledger(file)
    with pytest.raises(LedgerUnavailableError):
        question(book)
    assert book.fault is not None
    book.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"no database\n" * 1000,
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:4096] + bytes(len(raw) - 4096),
        lambda raw: raw[:-4096],
        lambda raw: b"",
    ],
)
def test_a_torn_file_is_seen_at_start_and_left_as_it_is(file: Path, damage: Callable[[bytes], bytes]) -> None:
    torn = damage(file.read_bytes())
    file.write_bytes(torn)
    book = Ledger(file)
    book.glance(expected=True)
    assert book.fault is not None
    with pytest.raises(LedgerUnavailableError, match="damaged"):
        write(book)
    book.close()
    if torn:
        assert file.read_bytes() == torn


def test_a_newest_row_that_does_not_fit_is_seen_at_start(file: Path) -> None:
    change_outside(file, "UPDATE rows SET client = 'eve' WHERE seq = (SELECT max(seq) FROM rows)")
    book = Ledger(file)
    book.glance(expected=True)
    assert book.fault is not None
    assert book.vault_id is not None
    book.close()


def test_a_new_ledger_is_no_emptied_one(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    assert book.glance(expected=False) is None
    assert book.fault is None
    book.belong_to("0" * 32)
    assert book.glance(expected=True) is None
    assert book.fault is None
    book.close()


def test_the_look_is_bounded_in_size_and_in_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger(file)
    monkeypatch.setattr(glance, "MOST_SECONDS", -1.0)
    monkeypatch.setattr(glance, "_STEPS", 10)
    assert "not looked at to the end" in str(book.glance(expected=True))
    monkeypatch.setattr(glance, "MOST_BYTES", 1000)
    assert "run muninn ledger verify" in str(book.glance(expected=True))
    assert book.fault is None
    assert book.history(path("folder-0/note-0.md"), None, 9), "the reader is not interrupted any more"
    book.close()


def test_a_full_disk_or_a_busy_ledger_is_no_damage(file: Path) -> None:
    book = Ledger(file)
    book._file._ready().set_busy_timeout(1)
    with closing(apsw.Connection(str(file))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailableError, match="another process"):
            write(book)
    assert book.fault is None
    write(book)
    book.close()


def test_verify_beside_a_writer_gives_no_false_alarm(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    book = Ledger(file)
    fill(book, 5)
    stop = threading.Event()
    rows: list[int] = []

    def writing() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            content = f"{number}\n".encode()
            digest, name = ContentHash.of(content), path(f"w-{number}.md")
            terms = Terms("ada", Kind.CREATE, name, MISSING, digest, f"pn-w{number}", "1")
            entry = open_entry(book, terms, [Change(name, MISSING, digest)], {digest: content})
            settle(book, entry, "committed", [name])

    writer = threading.Thread(target=writing)
    writer.start()
    try:
        end = time.monotonic() + 20
        while len(rows) < 15 or (rows[-1] == rows[0] and time.monotonic() < end):
            verdict = verify(file)
            assert verdict.faults == ()
            rows.append(verdict.rows)
    finally:
        stop.set()
        writer.join()
        book.close()
    assert rows[-1] > rows[0], "it was written to meanwhile"
