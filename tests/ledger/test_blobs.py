"""Kept bytes: whole or against an earlier revision, they come back the same, and what others need is never missed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import Ledger, Terms, blobs, verify
from ledger.export import lines
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, ContentHash
from muninn.model.errors import LedgerUnavailableError
from tests.conftest import path
from tests.ledger.alone import open_entry, settle

NOTE = path("a.md")
DICTIONARY = b"\x37\xa4\x30\xec"
"""What a trained dictionary of zstandard begins with: bytes of a note may, too."""


def h(content: bytes) -> ContentHash:
    return ContentHash.of(content)


def note(*sentences: str) -> bytes:
    """Some 2 KB that do not pack well, with these sentences among them."""
    filler = "".join(h(f"{number}".encode()) + "\n" for number in range(30))
    return (filler[:975] + "".join(sentences) + filler[975:]).encode()


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.db")
    made.belong_to("0" * 32)
    yield made
    made.close()


def write(book: Ledger, before: bytes | None, after: bytes | None) -> None:
    was, becomes = (MISSING if side is None else h(side) for side in (before, after))
    number = book.tip().rows
    terms = Terms("ada", Kind.OVERWRITE, NOTE, was, becomes, f"pn-{number}", "1")
    contents = {h(side): side for side in (before, after) if side is not None}
    settle(book, open_entry(book, terms, [Change(NOTE, was, becomes)], contents), "committed", [NOTE])


def revisions(book: Ledger, *contents: bytes) -> None:
    for before, after in zip((None, *contents), contents, strict=False):
        write(book, before, after)


def sizes(file: Path) -> dict[str, int]:
    """How many bytes each kept content takes."""
    with closing(apsw.Connection(str(file))) as other:
        return {row[0].hex(): row[1] for row in other.execute("SELECT hash, length(packed) FROM blobs")}


def test_a_small_change_costs_little_and_all_come_back(book: Ledger, tmp_path: Path) -> None:
    contents = [note(f"Sentence {number} of many that were written here.\n") for number in range(20)]
    revisions(book, *contents)
    assert [book.content(h(content)) for content in contents] == contents
    first, *others = (sizes(tmp_path / "ledger.db")[h(content)] for content in contents)
    assert first > 900
    assert max(others) < 200
    assert verify(tmp_path / "ledger.db").faults == ()
    told = [line["content"]["hash"] for line in lines(book, contents=True) if "content" in line]
    assert told == [h(content) for content in contents]


def test_what_has_little_in_common_is_packed_whole(book: Ledger, tmp_path: Path) -> None:
    other = "".join(h(f"other {number}".encode()) for number in range(30)).encode()
    revisions(book, note(), other, other + b"and a little more\n")
    found = sizes(tmp_path / "ledger.db")
    assert found[h(other)] > 900
    assert found[h(other + b"and a little more\n")] < 100


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([b"", DICTIONARY, b"a", note(), note("x"), note()[:100], b"\x01" * 40]), max_size=8))
def test_whatever_follows_what_it_comes_back(book: Ledger, contents: list[bytes]) -> None:
    salted = [content + bytes([number]) * (number % 3) for number, content in enumerate(contents)]
    revisions(book, *salted)
    assert [book.content(h(content)) for content in salted] == salted


def test_large_notes_are_packed_against_one_another(book: Ledger, tmp_path: Path) -> None:
    big = "".join(h(f"{number}".encode()) for number in range(16_000)).encode()
    revisions(book, big, big[:500_000] + b"in the middle" + big[500_000:])
    assert book.content(h(big[:500_000] + b"in the middle" + big[500_000:])) is not None
    assert sizes(tmp_path / "ledger.db")[h(big[:500_000] + b"in the middle" + big[500_000:])] < 100_000


@pytest.mark.parametrize("purged", [[0], [1], [0, 1], [2]])
def test_a_purge_takes_nothing_from_what_was_packed_against_it(book: Ledger, tmp_path: Path, purged: list[int]) -> None:
    contents = [note(f"secret-{number}\n") for number in range(4)]
    revisions(book, *contents)
    done = book.purge([h(contents[number]) for number in purged], "gdpr")
    assert done.row is not None
    assert done.gone
    for number, content in enumerate(contents):
        assert book.content(h(content)) == (None if number in purged else content)
    assert verify(tmp_path / "ledger.db").faults == ()
    write(book, contents[3], note("after the purge\n"))
    assert book.content(h(note("after the purge\n"))) == note("after the purge\n")
    assert verify(tmp_path / "ledger.db").faults == ()


def tamper(file: Path, statement: str, *values: Any) -> None:
    with closing(apsw.Connection(str(file))) as other:
        other.execute("DROP TRIGGER blobs_stay; DROP TRIGGER blobs_kept")
        other.execute(statement, values)


@pytest.mark.parametrize("base", [bytes(32), None, b"itself"])
@pytest.mark.parametrize("frame", [True, False])
def test_bytes_whose_base_cannot_be_had_are_damage(
    book: Ledger, tmp_path: Path, base: bytes | None, frame: bool
) -> None:
    contents = [note("one\n"), note("two\n")]
    revisions(book, *contents)
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        packed = other.execute("SELECT packed FROM blobs WHERE id = 2").get
    named = bytes.fromhex(h(contents[1])) if base == b"itself" else base
    head = b"" if named is None else packed[:1] + named
    tamper(tmp_path / "ledger.db", "UPDATE blobs SET packed = ? WHERE id = 2", head + packed[33:] * frame)
    assert any(h(contents[1]) in fault for fault in verify(tmp_path / "ledger.db").faults)
    with pytest.raises(LedgerUnavailableError):
        book.content(h(contents[1]))


def test_without_its_base_a_revision_is_damaged(book: Ledger, tmp_path: Path) -> None:
    contents = [note("one\n"), note("two\n")]
    revisions(book, *contents)
    tamper(tmp_path / "ledger.db", "DELETE FROM blobs WHERE id = 1")
    assert any(h(contents[1]) in fault for fault in verify(tmp_path / "ledger.db").faults)
    with pytest.raises(LedgerUnavailableError):
        book.content(h(contents[1]))


def test_a_purge_that_would_lose_what_others_need_changes_nothing(book: Ledger, tmp_path: Path) -> None:
    contents = [note("one\n"), note("two\n"), note("three\n")]
    revisions(book, *contents)
    tamper(tmp_path / "ledger.db", "UPDATE blobs SET size = size + 1 WHERE id = 2")
    with pytest.raises(LedgerUnavailableError):
        book.purge([h(contents[0])], "gdpr")
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as other:
        assert other.execute("SELECT count(*) FROM blobs").get == 3


def test_the_bit_that_a_decoder_ignores_is_damage_where_it_is_set() -> None:
    content = b"what was kept\n" * 5
    frame = zstandard.ZstdCompressor(level=3).compress(content)
    flipped = frame[:4] + bytes([frame[4] ^ 0b0001_0000]) + frame[5:]
    assert zstandard.ZstdDecompressor().decompress(flipped) == content, "it reads the same"
    assert (blobs.unpacked(len(content), frame), blobs.unpacked(len(content), flipped)) == (content, None)
