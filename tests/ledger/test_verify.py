"""Verify: whatever was changed, removed, inserted or swapped is found, and a clean ledger has no faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ledger import Ledger, Terms, verify
from muninn.model.change import Change, Kind, Request
from muninn.model.content import MISSING, ContentHash
from tests.conftest import path
from tests.ledger.alone import open_entry, settle

A, B, C = b"a\n" * 50, b"b\n" * 50, b"c\n" * 50


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A ledger with plans of every end, and one that is still open."""
    book = Ledger(tmp_path / "ledger.db")
    book.belong_to("0" * 32)
    ends = ["committed", "superseded", "refused", "committed", "open"]
    for number, end in enumerate(ends):
        name, digest = path(f"{number}.md"), ContentHash.of(A)
        changes = [Change(name, MISSING, digest, 0o644), Change(path("index.md"), ContentHash.of(B), digest, 0o600)]
        request = Request(f"r{number}", "digest")
        terms = Terms("ada", Kind.CREATE, name, MISSING, digest, f"pn-{number}", "1", "why", "note", request)
        entry = open_entry(book, terms, changes, {digest: A, ContentHash.of(B): B})
        if end == "committed":
            settle(book, entry, "committed", [name, path("index.md")])
        elif end == "superseded":
            settle(book, entry, "superseded", [name], at_start=True, found={ContentHash.of(C): C})
        elif end == "refused":
            settle(book, entry, "refused", ())
    yield tmp_path / "ledger.db"
    book.close()


def tamper(file: Path, *statements: str) -> tuple[str, ...]:
    """Change the file as somebody with a database tool would; gives the faults that are found then."""
    with closing(apsw.Connection(str(file))) as other:
        triggers = other.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            other.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            other.execute(statement)
            assert other.changes()
        for _, sql in triggers:
            other.execute(str(sql))
    return verify(file).faults


def test_a_clean_ledger_has_no_faults(file: Path) -> None:
    verdict = verify(file)
    assert verdict.faults == ()
    assert (verdict.rows, verdict.events, verdict.contents) == (10, 3, 3)


def test_an_empty_and_a_missing_ledger(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    assert book.head() == (0, 0, "0" * 64)
    assert verify(tmp_path / "ledger.db").faults == ()
    book.close()
    assert verify(tmp_path / "none.db").faults
    assert not (tmp_path / "none.db").exists()


_FLIPPED = "CAST(substr({0}, 1, length({0}) - 1) || char(unicode(substr({0}, -1)) + 1) AS TEXT)"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rows SET seq = 99 WHERE seq = 10",
        "UPDATE rows SET seq = 99 WHERE seq = 4",
        "UPDATE rows SET kind = 'external' WHERE seq = 3",
        f"UPDATE rows SET at = {_FLIPPED.format('at')} WHERE seq = 5",
        f"UPDATE rows SET client = {_FLIPPED.format('client')} WHERE seq = 5",
        "UPDATE rows SET client = NULL WHERE seq = 5",
        "UPDATE rows SET events = events + 1 WHERE seq = 10",
        "UPDATE rows SET open = open + 1 WHERE seq = 10",
        "UPDATE rows SET body = replace(body, 'why', 'who') WHERE seq = 2",
        "UPDATE rows SET body = 'no json' WHERE seq = 2",
        "UPDATE rows SET body = '7' WHERE seq = 3",
        "UPDATE rows SET body = replace(body, '}', ' }') WHERE seq = 10",
        "UPDATE rows SET chain = randomblob(32) WHERE seq = 10",
        "UPDATE rows SET chain = randomblob(32) WHERE seq = 1",
        "UPDATE changes SET seq = 3 WHERE seq = 2 AND n = 1",
        "UPDATE changes SET n = 5 WHERE seq = 2 AND n = 1",
        "UPDATE changes SET path = 'x.md' WHERE seq = 2 AND n = 0",
        "UPDATE changes SET before = randomblob(32) WHERE seq = 2 AND n = 0",
        "UPDATE changes SET before = NULL WHERE seq = 2 AND n = 1",
        "UPDATE changes SET after = NULL WHERE seq = 2 AND n = 0",
        "UPDATE changes SET mode = 511 WHERE seq = 2 AND n = 0",
        "UPDATE changes SET mode = NULL WHERE seq = 2 AND n = 0",
        "UPDATE ends SET plan = 10 WHERE seq = 3",
        "UPDATE ends SET seq = 1 WHERE seq = 3",
        "UPDATE ends SET at_start = 1 WHERE seq = 3",
        f"UPDATE requests SET client = {_FLIPPED.format('client')} WHERE seq = 2",
        f"UPDATE requests SET request_id = {_FLIPPED.format('request_id')} WHERE seq = 2",
        "UPDATE requests SET seq = 4 WHERE seq = 2",
        f"UPDATE pendings SET pending_id = {_FLIPPED.format('pending_id')} || 'x' WHERE seq = 2",
        "UPDATE pendings SET seq = 3 WHERE seq = 2",
        "UPDATE blobs SET hash = randomblob(32) WHERE id = 1",
        "UPDATE blobs SET size = size + 1 WHERE id = 1",
        "UPDATE blobs SET size = size - 1 WHERE id = 1",
        "UPDATE blobs SET packed = CAST('rot' AS BLOB) WHERE id = 1",
        "UPDATE blobs SET packed = (SELECT packed FROM blobs WHERE id = 2) WHERE id = 1",
        "DELETE FROM rows WHERE seq = 4",
        "DELETE FROM rows WHERE seq = 1",
        "DELETE FROM rows WHERE seq = 10",
        "DELETE FROM changes WHERE seq = 2 AND n = 1",
        "DELETE FROM changes WHERE seq = 10",
        "DELETE FROM ends WHERE plan = 2",
        "DELETE FROM requests WHERE seq = 2",
        "DELETE FROM pendings WHERE seq = 2",
        "DELETE FROM blobs WHERE id = 1",
        "DELETE FROM blobs WHERE id = 3",
        "INSERT INTO rows SELECT 11, kind, at, client, events, open, body, chain FROM rows WHERE seq = 10",
        "INSERT INTO rows SELECT 0, kind, at, client, events, open, body, chain FROM rows WHERE seq = 10",
        "INSERT INTO changes SELECT 3, n, path, before, after, mode FROM changes WHERE seq = 2",
        "INSERT INTO changes SELECT 99, n, path, before, after, mode FROM changes WHERE seq = 2",
        "INSERT INTO ends VALUES (10, 9, 0)",
        "INSERT INTO requests VALUES ('eve', 'r', 2)",
        "INSERT INTO pendings VALUES ('pn-eve', 2)",
    ],
)
def test_every_touch_is_found(file: Path, statement: str) -> None:
    assert tamper(file, statement)


def test_putting_the_triggers_away_and_back_is_no_fault(file: Path) -> None:
    assert tamper(file) == ()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER rows_kept",
        "DROP INDEX rows_by_time",
        "DROP TRIGGER rows_kept; CREATE TRIGGER rows_kept BEFORE DELETE ON rows BEGIN SELECT 1; END",
        "CREATE TRIGGER more AFTER INSERT ON rows BEGIN DELETE FROM changes; END",
        "CREATE TABLE more (a)",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 99",
        "DROP INDEX rows_by_source",
        "PRAGMA journal_mode = DELETE",
    ],
)
def test_a_file_that_is_not_made_as_a_ledger_is_found(file: Path, statement: str) -> None:
    book = Ledger(file)
    book.close()
    copy = file.with_name("copy.db")
    with closing(apsw.Connection(str(file))) as source, closing(apsw.Connection(str(copy))) as other:
        with other.backup("main", source, "main") as backup:
            backup.step()
        other.execute(statement)
    assert any(fault.startswith("file: ") for fault in verify(copy).faults)


def test_bytes_of_a_baseline_and_of_an_outsider_are_missed_when_they_go(file: Path) -> None:
    book = Ledger(file)
    change = Change(path("b.md"), MISSING, ContentHash.of(b"seen"), 0o644)
    book.begin_with([change], {ContentHash.of(b"seen"): b"seen"}, complete=True)
    book.witness([Change(path("b.md"), change.after, ContentHash.of(b"came"))], {ContentHash.of(b"came"): b"came"})
    book.close()
    assert verify(file).faults == ()
    for content in (b"seen", b"came"):
        gone = f"kept bytes {ContentHash.of(content)}: they are gone"
        assert gone in tamper(file, f"DELETE FROM blobs WHERE hash = x'{ContentHash.of(content)}'")


def test_two_swapped_rows_are_found(file: Path) -> None:
    def swapped(table: str) -> tuple[str, str, str]:
        return (
            f"UPDATE {table} SET seq = -1 WHERE seq = 2",
            f"UPDATE {table} SET seq = 2 WHERE seq = 4",
            f"UPDATE {table} SET seq = 4 WHERE seq = -1",
        )

    assert tamper(file, *swapped("rows"), *swapped("changes"), *swapped("pendings"), *swapped("requests"))


def test_faults_name_the_row(file: Path) -> None:
    faults = tamper(file, "UPDATE changes SET path = 'x.md' WHERE seq = 6 AND n = 0")
    assert [fault for fault in faults if fault.startswith("row 6:")]
    assert not [fault for fault in faults if fault.startswith("row 7:")]


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"x" * len(raw)])
def test_a_damaged_file_gives_a_verdict(file: Path, damage: Callable[[bytes], bytes]) -> None:
    with closing(apsw.Connection(str(file))) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = file.with_name("copy.db")
    copy.write_bytes(damage(file.read_bytes()))
    assert verify(copy).faults


def test_verify_changes_nothing_and_tells_its_progress(file: Path) -> None:
    before = file.read_bytes()
    told: list[tuple[int, int | None]] = []
    verify(file, lambda done, total: told.append((done, total)))
    assert file.read_bytes() == before
    assert told[-1] == (13, 13)
