"""Questions go through indexes however long the ledger is, and a plan costs two transactions and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from ledger import Ledger, Terms
from muninn.model.change import Change, Kind, Request
from muninn.model.content import MISSING, ContentHash
from tests.conftest import path
from tests.ledger.alone import open_entry, settle
from tests.ledger.filled import fill, text_of

NOTE = path("folder-0/note-0.md")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.db")
    fill(made, 40)
    yield made
    made.close()


def traced(connection: apsw.Connection, act: Callable[[], object]) -> list[str]:
    """The statements that an act runs on a connection."""
    asked: list[str] = []

    def note(cursor: object, sql: str, values: object) -> bool:
        asked.append(sql)
        return True

    connection.exec_trace = note
    try:
        act()
    finally:
        connection.exec_trace = None
    return asked


def scans(file: Path, sql: str) -> list[str]:
    """The steps of a statement's plan that walk over a whole table or sort."""
    with closing(apsw.Connection(str(file))) as other:
        steps = [str(row[3]) for row in other.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * sql.count("?"))]
    found = [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]
    # One row from the end of the chain, or of a partial index, is no walk; nor are the few plans a start has settled.
    few = [step for step in found if "INDEX ends_at_start" not in step]
    return [] if sql.endswith("ORDER BY seq DESC LIMIT 1") else few


@pytest.mark.parametrize(
    "question",
    [
        lambda book: book.history(NOTE, None, 101),
        lambda book: book.history(NOTE, 20, 5),
        lambda book: book.last(NOTE),
        lambda book: book.revision(NOTE, ContentHash.of(text_of(0))),
        lambda book: book.revision(NOTE, book.history(NOTE, None, 1)[0].id),
        lambda book: book.between("ada", "2026", "9999"),
        lambda book: book.between(None, "2026", "9999"),
        lambda book: book.entry("pn-0"),
        lambda book: book.request("ben", "request-1"),
        lambda book: book.open_entries(),
        lambda book: book.settled_at_start("ben", 5),
        lambda book: book.has_begun(),
        lambda book: book.keeps(ContentHash.of(text_of(0))),
        lambda book: book.content(ContentHash.of(text_of(0))),
        lambda book: (book.key, book.tip(), book.vault_id),
        lambda book: book.rows(10, 5),
    ],
)
def test_no_question_walks_over_a_table(book: Ledger, tmp_path: Path, question: Callable[[Ledger], Any]) -> None:
    with book._file.reading() as connection:
        pass
    asked = traced(connection, lambda: question(book))
    assert asked
    assert {sql: found for sql in asked if (found := scans(tmp_path / "ledger.db", sql))} == {}


def test_between_leaves_everything_outside_of_its_times_alone(book: Ledger, tmp_path: Path) -> None:
    from ledger.history import BETWEEN

    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        (step,) = [row[3] for row in other.execute(f"EXPLAIN QUERY PLAN {BETWEEN}", (None,) * 4)]
    assert "rows_by_time (kind=? AND at>? AND at<?)" in str(step)


def test_a_plan_is_two_transactions(book: Ledger) -> None:
    name, digest = path("new.md"), ContentHash.of(b"new")
    terms = Terms("ada", Kind.CREATE, name, MISSING, digest, "pn-new", "1", request=Request("r", "d"))

    def write() -> None:
        entry = open_entry(book, terms, [Change(name, MISSING, digest)], {digest: b"new"})
        settle(book, entry, "committed", [name])

    asked = traced(book._file._ready(), write)
    assert [sql for sql in asked if sql in ("BEGIN IMMEDIATE", "COMMIT")] == ["BEGIN IMMEDIATE", "COMMIT"] * 2
    assert len(asked) <= 21
