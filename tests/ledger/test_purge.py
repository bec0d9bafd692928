"""A purge removes bytes so that they are really gone, records it, and nothing else changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ledger import Entry, Ledger, Terms, verify
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, ContentHash
from muninn.model.errors import LedgerUnavailableError
from tests.conftest import path
from tests.ledger.alone import open_entry, settle

SECRET = os.urandom(9000)
"""Nothing packs it smaller, so its bytes stand in the file as they are."""
AFTER = b"what came after\n"
NOTE = path("a.md")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.db")
    made.belong_to("0" * 32)
    yield made
    made.close()


def plan(book: Ledger, before: bytes | None, after: bytes | None) -> Entry:
    sides = [MISSING if side is None else ContentHash.of(side) for side in (before, after)]
    contents = {ContentHash.of(side): side for side in (before, after) if side is not None}
    terms = Terms("ada", Kind.OVERWRITE, NOTE, sides[0], sides[1], f"pn-{book.tip().rows}", "1")
    return open_entry(book, terms, [Change(NOTE, sides[0], sides[1], 0o644)], contents)


def write(book: Ledger, before: bytes | None, after: bytes | None) -> None:
    settle(book, plan(book, before, after), "committed", [NOTE])


def holding(folder: Path) -> list[str]:
    """Files that hold a piece of the secret."""
    return [file.name for file in folder.iterdir() if SECRET[4000:4032] in file.read_bytes()]


def test_purged_bytes_are_gone_from_file_and_log_and_the_chain_holds(book: Ledger, tmp_path: Path) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    assert holding(tmp_path)
    reader = Ledger(tmp_path / "ledger.db")
    assert reader.keeps(ContentHash.of(SECRET))
    ended = book.purge([ContentHash.of(SECRET)], "a password")
    assert (ended.refusals, ended.gone, ended.copies) == ((), True, ())
    assert holding(tmp_path) == []
    verdict = verify(tmp_path / "ledger.db")
    assert (verdict.faults, verdict.contents, verdict.rows) == ((), 1, ended.row)
    (row,) = book.rows(verdict.rows - 1, 1)
    assert (row["kind"], row["body"]) == ("purge", {"hashes": [ContentHash.of(SECRET)], "reason": "a password"})
    assert not reader.keeps(ContentHash.of(SECRET))
    assert reader.content(ContentHash.of(AFTER)) == AFTER
    reader.close()


def test_history_stays_and_its_bytes_cannot_be_had(book: Ledger) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    newest, oldest = book.history(NOTE, None, 9)
    assert book.revision(NOTE, newest.id) is not None
    book.purge([ContentHash.of(SECRET)], "why")
    assert book.history(NOTE, None, 9) == [newest, oldest]
    assert book.revision(NOTE, newest.id) is None
    assert book.revision(NOTE, ContentHash.of(SECRET)) is None
    assert book.content(ContentHash.of(SECRET)) is None


def test_everybody_else_still_cannot_remove(book: Ledger, tmp_path: Path) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    book.purge([ContentHash.of(SECRET)], "why")
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        for statement in ("DELETE FROM blobs", "UPDATE blobs SET size = 1", "DELETE FROM rows"):
            with pytest.raises(apsw.ConstraintError, match="append-only"):
                other.execute(statement)


def test_what_a_path_holds_now_is_refused_unless_forced(book: Ledger, tmp_path: Path) -> None:
    write(book, None, SECRET)
    rows = book.tip().rows
    ended = book.purge([ContentHash.of(SECRET)], "why")
    assert ended.row is None
    assert "a.md holds these bytes now" in ended.refusals[0]
    assert (book.tip().rows, book.keeps(ContentHash.of(SECRET))) == (rows, True)
    assert book.purge([ContentHash.of(SECRET)], "why", force=True).row == rows + 1
    assert verify(tmp_path / "ledger.db").faults == ()


def test_what_an_open_plan_needs_is_refused_even_when_forced(book: Ledger) -> None:
    write(book, None, SECRET)
    entry = plan(book, SECRET, AFTER)
    for wanted in (SECRET, AFTER):
        (refusal,) = book.purge([ContentHash.of(wanted)], "why", force=True).refusals
        assert "not finished" in refusal
    settle(book, entry, "committed", [NOTE])
    assert book.purge([ContentHash.of(SECRET)], "why").refusals == ()


def test_one_refusal_stops_the_whole_purge(book: Ledger) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    unknown = ContentHash.of(b"never kept")
    (refusal,) = book.purge([ContentHash.of(SECRET), unknown], "why").refusals
    assert refusal.startswith(unknown)
    assert book.keeps(ContentHash.of(SECRET))


def test_the_same_purge_again_adds_no_row_but_rewrites(book: Ledger) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    assert book.purge([ContentHash.of(SECRET)], "why").row is not None
    rows = book.tip().rows
    again = book.purge([ContentHash.of(SECRET)], "why")
    assert (again.row, again.refusals, again.gone, book.tip().rows) == (None, (), True, rows)


def test_bytes_that_come_again_are_kept_again_and_missed_when_they_go(book: Ledger, tmp_path: Path) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    book.purge([ContentHash.of(SECRET)], "why")
    write(book, AFTER, SECRET)
    assert book.content(ContentHash.of(SECRET)) == SECRET
    assert verify(tmp_path / "ledger.db").faults == ()
    raw = bytes.fromhex(ContentHash.of(SECRET))
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        guard = other.execute("SELECT sql FROM sqlite_master WHERE name = 'blobs_kept'").get
        other.execute("DROP TRIGGER blobs_kept")
        other.execute("DELETE FROM blobs WHERE hash = ?", (raw,))
        other.execute(guard)
    assert verify(tmp_path / "ledger.db").faults == (f"kept bytes {ContentHash.of(SECRET)}: they are gone",)


def test_a_purge_that_was_recorded_and_not_done_is_found(book: Ledger, tmp_path: Path) -> None:
    from ledger.append import append, counters

    write(book, None, SECRET)
    with book._file.transaction("lie") as writer:
        append(writer, "purge", None, {"hashes": [ContentHash.of(SECRET)], "reason": ""}, (), counters(writer))
    (fault,) = verify(tmp_path / "ledger.db").faults
    assert "were purged, and are there" in fault


def test_a_reader_that_holds_an_older_state_is_said(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.purge._TRIES", 1)
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    book._file._ready().set_busy_timeout(50)
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM rows").get
        assert book.purge([ContentHash.of(SECRET)], "why").gone is False
    assert holding(tmp_path)
    assert book.purge([ContentHash.of(SECRET)], "why").gone is True
    assert holding(tmp_path) == []


def test_a_failed_purge_changes_nothing(book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    rows = book.tip().rows
    monkeypatch.setattr("ledger.purge._TRIGGER", "none_of_this_name")
    with pytest.raises(LedgerUnavailableError):
        book.purge([ContentHash.of(SECRET)], "why")
    assert (book.tip().rows, book.content(ContentHash.of(SECRET))) == (rows, SECRET)
    assert verify(tmp_path / "ledger.db").faults == ()


def test_copies_that_a_migration_left_are_named(book: Ledger, tmp_path: Path) -> None:
    write(book, None, SECRET)
    write(book, SECRET, AFTER)
    (tmp_path / "ledger.db.before-v2").write_bytes(SECRET)
    assert book.purge([ContentHash.of(SECRET)], "why").copies == ("ledger.db.before-v2",)
