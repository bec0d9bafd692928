"""Claims and registrations as rows: added once, found by their path and id, ended by a row, never changed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ledger import Ledger, Terms, claims, export, verify
from ledger.claims import Claims
from muninn.model import seams
from muninn.model.change import Change, Kind, Request
from muninn.model.claim import Claim, Lines
from muninn.model.content import MISSING, ContentHash, Revision
from muninn.model.errors import LedgerUnavailableError
from tests.conftest import at, path
from tests.ledger.alone import open_entry, settle
from tests.ledger.test_verify import tamper

A, B = b"the port is 8443\n", b"the port is 8080\n"
SOURCE = Revision(path("c/src.md"), ContentHash.of(A))
OTHER = Revision(path("c/other.md"), ContentHash.of(B))
SUMMARY = Revision(path("c/sum.md"), ContentHash.of(b"in short\n"))


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.db")
    made.belong_to("0" * 32)
    yield made
    seams.arm(None)
    made.close()


def made(claims: Claims, statement: str = "port is 8443", source: Revision = SOURCE, content: bytes = A) -> Claim:
    found = claims.at(claims.add("ada", statement, source, None, content).id)
    assert found is not None
    return found


def test_a_claim_comes_back_as_it_was_made_with_its_sources_bytes(book: Ledger) -> None:
    before = book.head()
    added = book.claims.add("ada", "port is 8443", SOURCE, Lines(1, 1), A)
    claim = book.claims.at(added.id)
    assert claim is not None
    assert (claim.statement, claim.source, claim.lines, claim.client) == ("port is 8443", SOURCE, Lines(1, 1), "ada")
    assert book.content(SOURCE.hash) == A
    # Rows of the chain, but no events, and nothing of a path's history.
    assert book.head()[:2] == before[:2]
    assert book.history(SOURCE.path, None, 9) == []
    assert book.last(SOURCE.path) is None
    assert SOURCE.path not in book.known_paths()


def test_claims_of_a_path_are_paged_newest_first_without_the_retracted(book: Ledger) -> None:
    claims = [made(book.claims, f"number {n}") for n in range(7)]
    made(book.claims, "elsewhere", OTHER, B)
    book.claims.retract("ben", claims[3], "wrong")
    first = book.claims.of_path(SOURCE.path, None, 4)
    assert [claim.statement for claim in first] == ["number 6", "number 5", "number 4", "number 2"]
    assert [claim.statement for claim in book.claims.of_path(SOURCE.path, first[-1].seq, 4)] == ["number 1", "number 0"]
    assert [claim.statement for claim in book.claims.newest(limit=2)] == ["elsewhere", "number 6"]
    assert [claim.statement for claim in book.claims.newest(claims[4].seq)] == ["number 2", "number 1", "number 0"]


def test_a_retraction_says_who_and_the_claim_can_still_be_had_by_its_id(book: Ledger) -> None:
    claim = made(book.claims)
    assert book.claims.retraction(claim) is None
    book.claims.retract("ben", claim, "wrong")
    ended = book.claims.retraction(claim)
    assert ended is not None
    assert (ended.claim, ended.client) == (claim.id, "ben")
    assert book.claims.at(claim.id) == claim


@pytest.mark.parametrize("odd", ["", "cl-2", "cl-2-000000000000", "ev-2-000000000000", "cl-99-000000000000", "'; --"])
def test_an_id_that_is_none_is_no_claim(book: Ledger, odd: str) -> None:
    made(book.claims)
    assert book.claims.at(odd) is None


def test_the_newest_registration_comes_first_and_paths_are_sorted(book: Ledger) -> None:
    contents = {SOURCE.hash: A, OTHER.hash: B}
    for name in ("z.md", "a.md", "ö.md", "m.md"):
        book.claims.register("ada", Revision(path(name), SUMMARY.hash), [SOURCE], contents)
    book.claims.register("ben", Revision(path("m.md"), OTHER.hash), [SOURCE, OTHER], contents)
    newest, older = book.claims.registrations(path("m.md"))
    assert (newest.client, newest.summary.hash, newest.sources) == ("ben", OTHER.hash, (SOURCE, OTHER))
    assert older.sources == (SOURCE,)
    assert newest.id != older.id
    assert book.claims.summaries() == ["a.md", "m.md", "z.md", "ö.md"]
    assert book.claims.summaries("a.md", 2) == ["m.md", "z.md"]
    assert list(book.claims.registrations(path("none.md"))) == []


def test_what_names_a_path(book: Ledger) -> None:
    claim = made(book.claims)
    book.claims.retract("ada", claim, "wrong")
    book.claims.register("ada", SUMMARY, [SOURCE], {SOURCE.hash: A})
    found = book.claims.bound([SOURCE.path, OTHER.path, SUMMARY.path])
    assert found == {SOURCE.path: {"claim", "retract"}, SUMMARY.path: {"summary"}}


def test_what_another_process_adds_is_known_a_moment_later(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert book.claims.bound([SOURCE.path, OTHER.path]) == {}
    made(book.claims)
    assert set(book.claims.bound([SOURCE.path, OTHER.path])) == {SOURCE.path}
    beside = Ledger(tmp_path / "ledger.db")
    made(beside.claims, "elsewhere", OTHER, B)
    beside.close()
    monkeypatch.setattr("ledger.claims.time.monotonic", lambda: float("inf"))
    assert set(book.claims.bound([SOURCE.path, OTHER.path])) == {SOURCE.path, OTHER.path}


def test_a_request_is_found_again_whatever_was_asked_for(book: Ledger) -> None:
    kept, request = book.claims, Request
    added = kept.add("ada", "x", SOURCE, None, A, request("one", "d1"))
    claim = kept.at(added.id)
    assert claim is not None
    ended = kept.retract("ada", claim, "wrong", request("two", "d2"))
    registered = kept.register("ada", SUMMARY, [SOURCE], {SOURCE.hash: A}, request("three", "d3"))
    found = [kept.asked("ada", name) for name in ("one", "two", "three")]
    assert [(one.kind, one.digest, one.id, one.claim) for one in found if one] == [
        ("claim", "d1", added.id, added.id),
        ("retract", "d2", ended.id, added.id),
        ("summary", "d3", registered.id, None),
    ]
    assert kept.asked("ben", "one") is None
    # Nor is it taken for a plan.
    assert book.request("ada", "one") is None


def test_a_refused_plan_gives_its_request_id_back(book: Ledger) -> None:
    terms = Terms("ada", Kind.CREATE, SOURCE.path, MISSING, SOURCE.hash, "pn-1", "1", request=Request("one", "d"))
    entry = open_entry(book, terms, [Change(SOURCE.path, MISSING, SOURCE.hash)], {SOURCE.hash: A})
    found = book.claims.asked("ada", "one")
    assert found is not None
    assert found.kind is None
    settle(book, entry, "refused", ())
    assert book.claims.asked("ada", "one") is None


def test_bytes_and_row_are_kept_together_or_not_at_all(book: Ledger) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    at("ledger.commit", fail)
    with pytest.raises(LedgerUnavailableError):
        book.claims.add("ada", "x", SOURCE, None, A)
    assert book.content(SOURCE.hash) is None
    assert book.claims.of_path(SOURCE.path) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rows SET body = replace(body, '8443', '8080') WHERE kind = 'claim'",
        "UPDATE rows SET body = replace(body, 'c/src.md', 'c/srd.md') WHERE kind = 'claim'",
        "UPDATE rows SET body = replace(body, 'wrong', 'right') WHERE kind = 'retract'",
        "UPDATE rows SET body = replace(body, 'c/other.md', 'c/othes.md') WHERE kind = 'summary'",
        "UPDATE rows SET kind = 'found' WHERE kind = 'summary'",
        "DELETE FROM rows WHERE kind = 'retract'",
        "DELETE FROM requests WHERE request_id = 'one'",
        "UPDATE requests SET request_id = 'two' WHERE request_id = 'one'",
        f"DELETE FROM blobs WHERE hash = x'{SOURCE.hash}'",
        f"DELETE FROM blobs WHERE hash = x'{OTHER.hash}'",
    ],
)
def test_every_touch_is_found(book: Ledger, tmp_path: Path, statement: str) -> None:
    claim = book.claims.at(book.claims.add("ada", "port is 8443", SOURCE, None, A, Request("one", "d")).id)
    assert claim is not None
    book.claims.retract("ada", claim, "wrong")
    book.claims.register("ada", SUMMARY, [SOURCE, OTHER], {SOURCE.hash: A, OTHER.hash: B})
    assert verify(tmp_path / "ledger.db").faults == ()
    assert tamper(tmp_path / "ledger.db", statement)


def test_rows_stay_as_they_are(book: Ledger, tmp_path: Path) -> None:
    made(book.claims)
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        for statement in ("DELETE FROM rows WHERE kind = 'claim'", "UPDATE rows SET at = '' WHERE kind = 'claim'"):
            with pytest.raises(apsw.ConstraintError, match="append-only"):
                other.execute(statement)


def test_an_export_holds_them_and_their_bytes(book: Ledger) -> None:
    made(book.claims)
    book.claims.register("ada", SUMMARY, [SOURCE, OTHER], {SOURCE.hash: A, OTHER.hash: B})
    lines = list(export.lines(book, contents=True))
    assert [line["kind"] if "kind" in line else line["content"]["hash"] for line in lines] == [
        "vault",
        "claim",
        SOURCE.hash,
        "summary",
        OTHER.hash,
    ]
    assert lines[1]["body"]["statement"] == "port is 8443"
    assert lines[3]["body"]["sources"] == [[SOURCE.path, SOURCE.hash], [OTHER.path, OTHER.hash]]


def test_looking_up_a_path_reads_no_other_rows(book: Ledger, tmp_path: Path) -> None:
    made(book.claims)
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        for query, values in (
            (claims._OF_PATH, ("a", "claim")),
            (claims._KINDS, ("a",)),
            (claims._SINCE, (5,)),
            (claims._SUMMARIES, ("", 5)),
            (claims._CLAIMS, (5, 5)),
        ):
            plan = " ".join(str(row[-1]) for row in other.execute(f"EXPLAIN QUERY PLAN {query}", values))
            assert "rows_by_source" in plan or "rows_of_claim" in plan or "PRIMARY KEY" in plan, plan
            assert "SCAN" not in plan, plan


def test_of_many_registrations_no_more_are_read_than_are_asked_for(book: Ledger) -> None:
    sources = [Revision(path(f"c/{number}.md"), SOURCE.hash) for number in range(100)]
    ids = [book.claims.register("ada", SUMMARY, sources, {SOURCE.hash: A}).id for _ in range(300)]
    tracemalloc.start()
    newest = next(book.claims.registrations(SUMMARY.path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert newest.id == ids[-1]
    assert peak < 300_000  # all of them come to three megabytes
    assert [one.id for one in book.claims.registrations(SUMMARY.path)] == ids[::-1]
