"""Claims: held at exactly the bytes they were bound to, abstaining without a word otherwise, seen by those who may."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from index import Index
from ledger import verify
from muninn import writing
from muninn.bound import claims, echoes
from muninn.bound.claims import ClaimDraft
from muninn.model import seams
from muninn.model.bound import Claimed, ClaimsAnswer
from muninn.model.change import Receipt, Request
from muninn.model.claim import Claim
from muninn.model.content import MISSING, ContentHash
from muninn.model.draft import ArchiveDraft, Kept, RestoreDraft, WriteDraft
from muninn.model.errors import LedgerUnavailableError
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import DEFAULT_SCOPES, Globs, Rights
from tests.conftest import Room, at, breaking, furnish, note_text, path

PORT = note_text("the port is 8443\n", "Port list")
SOURCE = "c/src.md"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A room with an index that answers."""
    made = furnish(tmp_path)
    index = Index(tmp_path / "cache", made.door.contract.private.cover)
    made = replace(made, door=replace(made.door, index=index))
    yield made
    seams.arm(None)
    index.close()
    made.door.ledger.close()


def rights(room: Room, name: str = "ada", read: str = "**", scopes: frozenset[str] = DEFAULT_SCOPES) -> Rights:
    return Rights(name, scopes, read=Globs((read,)), private_paths=room.door.contract.private)


def insider(room: Room) -> Rights:
    return rights(room, "ben", scopes=DEFAULT_SCOPES | {"private"})


def made(
    room: Room, statement: str = "port is 8443", name: str = SOURCE, who: Rights | None = None, **more: Any
) -> str:
    content = room.bytes_of(name)
    assert content is not None
    draft = ClaimDraft(statement, path(name), ContentHash.of(content), **more)
    answer = claims.claim(room.door, who or rights(room), draft, dry_run=False, request=None)
    assert isinstance(answer, Claimed), answer
    assert answer.claim_id is not None
    return answer.claim_id


def refused(answer: object, code: Code) -> Refusal:
    assert isinstance(answer, Refusal), answer
    assert answer.code is code, answer
    return answer


def of_path(room: Room, name: str = SOURCE, who: Rights | None = None) -> ClaimsAnswer:
    answer = claims.of_path(room.door, who or rights(room), path(name), None)
    assert isinstance(answer, ClaimsAnswer)
    return answer


def whys(answer: ClaimsAnswer) -> list[str]:
    return [row.why for row in answer.abstaining]


def attempt(room: Room, draft: ClaimDraft, who: Rights | None = None) -> Claimed | Refusal:
    """A claim, and before it the dry run, which must come to the same verdict and touch nothing."""
    before = room.state()
    dry = claims.claim(room.door, who or rights(room), draft, dry_run=True, request=None)
    assert room.state() == before
    answer = claims.claim(room.door, who or rights(room), draft, dry_run=False, request=None)
    assert isinstance(dry, Refusal) == isinstance(answer, Refusal)
    if isinstance(dry, Refusal) and isinstance(answer, Refusal):
        assert (dry.code, dry.message) == (answer.code, answer.message)
    return answer


# --- held, or not ----------------------------------------------------------------------------------


def test_a_claim_is_held_with_all_that_was_said(room: Room) -> None:
    room.lay(SOURCE, PORT)
    claim_id = made(room, start_line=8, end_line=8)
    (row,) = of_path(room).held
    assert (row.claim_id, row.statement, row.path) == (claim_id, "port is 8443", SOURCE)
    assert (row.revision, row.client, row.start_line, row.end_line) == (ContentHash.of(PORT), "ada", 8, 8)
    assert room.door.ledger.content(ContentHash.of(PORT)) == PORT
    assert verify(room.home / "ledger.db").faults == ()


@pytest.mark.parametrize("other", [PORT + b" ", PORT[:-1], PORT.replace(b"\n", b"\r\n"), b""])
def test_one_byte_of_difference_abstains_and_the_bytes_coming_back_hold_it_again(room: Room, other: bytes) -> None:
    room.lay(SOURCE, PORT)
    claim_id = made(room)
    room.lay(SOURCE, other)
    answer = of_path(room)
    assert (answer.held, whys(answer), answer.abstaining[0].claim_id) == ((), ["changed"], claim_id)
    assert "8443" not in repr(answer)
    room.lay(SOURCE, PORT)
    assert [row.claim_id for row in of_path(room).held] == [claim_id]


def test_an_archive_keeps_the_claim_abstaining_and_a_restore_brings_it_back(room: Room) -> None:
    room.lay(SOURCE, PORT)
    made(room)
    digest = ContentHash.of(PORT)
    archived = writing.commit(room.door, rights(room), ArchiveDraft(path(SOURCE), digest, "retracted", None), None)
    assert isinstance(archived, Receipt)
    answer = of_path(room)
    assert (answer.held, whys(answer)) == ((), ["archived"])
    assert "8443" not in repr(answer)
    restored = writing.commit(room.door, rights(room), RestoreDraft(path(SOURCE), Kept(digest, PORT, 0o644)), None)
    assert isinstance(restored, Receipt)
    assert len(of_path(room).held) == 1


def test_why_a_claim_abstains(room: Room) -> None:
    for name in ("gone", "link", "folder", "cloud", "big"):
        room.lay(f"c/{name}.md", PORT)
        made(room, name=f"c/{name}.md")
        (room.root / f"c/{name}.md").unlink()
    (room.root / "c/link.md").symlink_to("src.md")
    (room.root / "c/folder.md").mkdir()
    room.lay("c/.cloud.md.icloud", b"")
    with (room.root / "c/big.md").open("wb") as big:
        big.truncate(17 * 1024 * 1024)
    expected = {
        "gone": ["missing"],
        "link": ["unreadable"],
        "folder": ["unreadable"],
        "cloud": ["unreadable"],
        "big": ["changed"],
    }
    assert {name: whys(of_path(room, f"c/{name}.md")) for name in expected} == expected


def test_a_file_that_cannot_be_read_makes_its_claims_abstain(room: Room) -> None:
    room.lay(SOURCE, PORT)
    made(room)
    at("vault.read", breaking(), where=SOURCE)
    assert whys(of_path(room)) == ["unreadable"]
    assert len(of_path(room).held) == 1


# --- refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"statement": ""}, "`statement` holds no word"),
        ({"statement": " \n…"}, "`statement` holds no word"),
        ({"statement": "x" * 2001}, "2001 characters"),
        ({"statement": "port\x00 is"}, "U+0000"),
        ({"statement": "port \u202e is"}, "U+202E"),
        ({"statement": "a\u200db \ud800"}, "U+D800"),
        ({"end_line": 2}, "`start_line`"),
        ({"start_line": 3, "end_line": 2}, "before"),
        ({"start_line": 9}, "`start_line` 9 is past the end: c/src.md has 8 lines"),
        ({"start_line": 8, "end_line": 9}, "`end_line` 9 is past the end"),
    ],
)
def test_what_is_no_claim_is_refused_and_said(room: Room, more: dict[str, Any], named: str) -> None:
    room.lay(SOURCE, PORT)
    draft = replace(ClaimDraft("port is 8443", path(SOURCE), ContentHash.of(PORT)), **more)
    assert named in refused(attempt(room, draft), Code.INVALID_ARGUMENTS).message
    assert of_path(room).held == ()


def test_several_faults_are_named_at_once(room: Room) -> None:
    room.lay(SOURCE, PORT)
    draft = ClaimDraft("", path(SOURCE), ContentHash.of(PORT), None, 3)
    message = refused(attempt(room, draft), Code.INVALID_ARGUMENTS).message
    assert "`statement`" in message
    assert "`start_line`" in message


def test_lines_of_what_is_no_text_are_refused(room: Room) -> None:
    room.lay("c/pic.png", b"\xff\xfe\x00\n")
    digest = ContentHash.of(b"\xff\xfe\x00\n")
    refused(attempt(room, ClaimDraft("a picture", path("c/pic.png"), digest, 1)), Code.NOT_TEXT)
    assert isinstance(attempt(room, ClaimDraft("a picture", path("c/pic.png"), digest)), Claimed)


def test_another_revision_than_the_present_is_a_conflict_that_tells_what_changed(room: Room) -> None:
    writing.commit(room.door, rights(room), WriteDraft(path(SOURCE), SOURCE, PORT, MISSING), None)
    new = PORT.replace(b"8443", b"8080")
    writing.commit(room.door, insider(room), WriteDraft(path(SOURCE), SOURCE, new, ContentHash.of(PORT)), None)
    found = refused(attempt(room, ClaimDraft("x1", path(SOURCE), ContentHash.of(PORT))), Code.CONFLICT)
    assert "revision" in found.message
    assert found.details["expected_hash"] == ContentHash.of(PORT)
    assert found.details["current_hash"] == ContentHash.of(new)
    assert found.details["changed_by"] == "ben"
    assert "+the port is 8080" in found.details["diff"]


def test_a_vanished_file_is_a_conflict(room: Room) -> None:
    found = refused(attempt(room, ClaimDraft("x1", path("none.md"), ContentHash.of(PORT))), Code.CONFLICT)
    assert found.details["current_hash"] == "missing"


def test_an_event_id_names_the_bytes_that_it_ended(room: Room) -> None:
    new = PORT.replace(b"8443", b"8080")
    who, where = rights(room), path(SOURCE)
    for before, after in ((MISSING, PORT), (ContentHash.of(PORT), new), (ContentHash.of(new), PORT)):
        writing.commit(room.door, who, WriteDraft(where, SOURCE, after, before), None)
    back, away, _ = room.door.ledger.history(where, None, 9)
    assert isinstance(attempt(room, ClaimDraft("x1", where, away.id)), Claimed)
    refused(attempt(room, ClaimDraft("x1", where, back.id)), Code.CONFLICT)
    for odd in ("ev-1-000000000000", "latest", ""):
        assert "revision" in refused(attempt(room, ClaimDraft("x1", where, odd)), Code.UNKNOWN_ID).message


def test_what_cannot_be_read_is_refused_as_by_a_read(room: Room) -> None:
    room.lay("c/.cloud.md.icloud", b"")
    (room.root / "link.md").symlink_to("x")
    with (room.root / "big.md").open("wb") as big:
        big.truncate(17 * 1024 * 1024)
    digest = ContentHash.of(b"")
    for name, code in (
        ("c/cloud.md", Code.VAULT_UNAVAILABLE),
        ("link.md", Code.INVALID_PATH),
        ("big.md", Code.TOO_LARGE),
        ("a.tmp", Code.CONFLICT),
    ):
        refused(attempt(room, ClaimDraft("x1", path(name), digest)), code)


def test_an_outsiders_edit_that_a_claim_finds_is_an_event_although_the_claim_is_refused(room: Room) -> None:
    writing.commit(room.door, rights(room), WriteDraft(path(SOURCE), SOURCE, PORT, MISSING), None)
    room.door.ledger.begin_with([], {}, complete=True)
    room.lay(SOURCE, b"outside\n")
    before = room.door.ledger.head()[0]
    draft = ClaimDraft("x1", path(SOURCE), ContentHash.of(PORT))
    claims.claim(room.door, rights(room), draft, dry_run=False, request=None)
    assert room.door.ledger.head()[0] == before + 1
    assert room.door.ledger.content(ContentHash.of(b"outside\n")) == b"outside\n"


def test_a_ledger_that_cannot_commit_keeps_nothing(room: Room) -> None:
    room.lay(SOURCE, PORT)
    at("ledger.commit", breaking())
    draft = ClaimDraft("x1", path(SOURCE), ContentHash.of(PORT))
    with pytest.raises(LedgerUnavailableError):
        claims.claim(room.door, rights(room), draft, dry_run=False, request=None)
    assert of_path(room).held == ()
    assert not room.door.ledger.keeps(ContentHash.of(PORT))


# --- retracted, repeated ---------------------------------------------------------------------------


def retract(room: Room, claim_id: str, who: Rights | None = None, reason: str = "wrong", **more: Any) -> Any:
    more = {"dry_run": False, "request": None} | more
    answer = claims.retract(room.door, who or rights(room), claim_id, reason, **more)
    return answer if isinstance(answer, Refusal) else answer[1]


def test_a_retracted_claim_is_told_to_nobody_any_more(room: Room) -> None:
    room.lay(SOURCE, PORT)
    first, second = made(room), made(room, "gateway listens on 8443")
    assert retract(room, first, insider(room)) == Claimed(first, "committed")
    assert [row.claim_id for row in of_path(room).held] == [second]
    again = refused(retract(room, first), Code.UNKNOWN_ID)
    assert "retracted already, by ben" in again.message
    room.lay(SOURCE, b"other\n")
    assert [row.claim_id for row in of_path(room).abstaining] == [second]
    assert verify(room.home / "ledger.db").faults == ()


def test_an_abstaining_claim_can_be_retracted(room: Room) -> None:
    room.lay(SOURCE, PORT)
    claim_id = made(room)
    (room.root / SOURCE).unlink()
    assert retract(room, claim_id).state == "committed"
    assert of_path(room).abstaining == ()


def test_a_dry_run_of_a_retraction_touches_nothing(room: Room) -> None:
    room.lay(SOURCE, PORT)
    claim_id = made(room)
    before = room.state()
    assert retract(room, claim_id, dry_run=True) == Claimed(claim_id, "dry_run")
    refused(retract(room, "cl-9-000000000000", dry_run=True), Code.UNKNOWN_ID)
    refused(retract(room, claim_id, reason=" ", dry_run=True), Code.INVALID_ARGUMENTS)
    assert room.state() == before


def test_a_request_id_gives_the_stored_answer_and_belongs_to_one_call(room: Room) -> None:
    room.lay(SOURCE, PORT)
    draft, request = ClaimDraft("x1", path(SOURCE), ContentHash.of(PORT)), Request("r", "digest")

    def ask(who: Rights, asked: Request) -> Claimed | Refusal:
        return claims.claim(room.door, who, draft, dry_run=False, request=asked)

    first = ask(rights(room), request)
    assert isinstance(first, Claimed)
    room.lay(SOURCE, b"other\n")
    assert ask(rights(room), request) == Claimed(first.claim_id, "replayed")
    refused(ask(rights(room), Request("r", "another")), Code.INVALID_ARGUMENTS)
    refused(ask(insider(room), request), Code.CONFLICT)
    assert first.claim_id is not None
    refused(retract(room, first.claim_id, request=Request("r", "another")), Code.INVALID_ARGUMENTS)
    ended = Request("s", "digest")
    assert retract(room, first.claim_id, request=ended).state == "committed"
    assert retract(room, first.claim_id, request=ended) == Claimed(first.claim_id, "replayed")
    assert len(room.door.ledger.claims.newest()) == 0


def test_a_request_id_is_one_over_all_writing_tools(room: Room) -> None:
    room.lay(SOURCE, PORT)
    who, request = rights(room), Request("r", "claim's")
    draft = ClaimDraft("x1", path(SOURCE), ContentHash.of(PORT))
    claims.claim(room.door, who, draft, dry_run=False, request=request)
    write = WriteDraft(path("a.md"), "a.md", PORT, MISSING)
    refused(writing.commit(room.door, who, write, Request("r", "write's")), Code.INVALID_ARGUMENTS)
    assert room.bytes_of("a.md") is None
    assert isinstance(writing.commit(room.door, who, write, Request("w", "write's")), Receipt)
    answer = claims.claim(room.door, who, draft, dry_run=False, request=Request("w", "claim's"))
    refused(answer, Code.INVALID_ARGUMENTS)


# --- who may see them ------------------------------------------------------------------------------


def test_claims_on_private_sources_are_not_there_for_others(room: Room) -> None:
    room.lay("private/salary.md", PORT)
    room.lay(SOURCE, PORT)
    secret = made(room, "salary is 8443", "private/salary.md", insider(room))
    outsider, name = rights(room), path("private/salary.md")
    refused(claims.of_path(room.door, outsider, name, None), Code.NOT_FOUND)
    for found in (
        claims.everywhere(room.door, outsider, None),
        echoes.matching(room.door, outsider, "salary 8443", None),
    ):
        assert found == ClaimsAnswer((), (), None)
    unknown = refused(retract(room, "cl-9-000000000000"), Code.UNKNOWN_ID).message.replace("cl-9-000000000000", secret)
    assert refused(retract(room, secret), Code.UNKNOWN_ID).message == unknown
    there = ClaimDraft("x1", name, ContentHash.of(PORT))
    nowhere = replace(there, path=path("private/none.md"))
    messages = {
        refused(attempt(room, draft), Code.FORBIDDEN).message.replace("none", "salary") for draft in (there, nowhere)
    }
    assert len(messages) == 1
    assert [row.claim_id for row in of_path(room, name, insider(room)).held] == [secret]
    (room.root / "private/salary.md").unlink()
    assert claims.everywhere(room.door, outsider, None) == ClaimsAnswer((), (), None)


def test_read_globs_hold_for_claims(room: Room) -> None:
    room.lay("team/a.md", PORT)
    room.lay("other/b.md", PORT)
    made(room, "team port", "team/a.md")
    made(room, "other port", "other/b.md")
    narrow = rights(room, read="team/**")
    for found in (claims.everywhere(room.door, narrow, None), echoes.matching(room.door, narrow, "port", None)):
        assert isinstance(found, ClaimsAnswer)
        assert [row.statement for row in found.held] == ["team port"]
    refused(claims.of_path(room.door, narrow, path("other/b.md"), None), Code.NOT_FOUND)


# --- pages -----------------------------------------------------------------------------------------


def test_pages_hold_every_claim_once_newest_first(room: Room) -> None:
    room.lay(SOURCE, PORT)
    room.lay("private/p.md", PORT)
    for number in range(230):
        made(room, f"number {number} of many")
        if number % 50 == 0:
            made(room, "private many", "private/p.md", insider(room))
    expected = [f"number {number} of many" for number in reversed(range(230))]
    who = rights(room)
    asks: list[Callable[[str | None], ClaimsAnswer | Refusal]] = [
        lambda cursor: claims.of_path(room.door, who, path(SOURCE), cursor),
        lambda cursor: claims.everywhere(room.door, who, cursor),
        lambda cursor: echoes.matching(room.door, who, "many", cursor),
    ]
    for ask in asks:
        found: list[str] = []
        cursor: str | None = None
        pages = 0
        while cursor is not None or pages == 0:
            answer = ask(cursor)
            assert isinstance(answer, ClaimsAnswer)
            found += [row.statement for row in answer.held]
            cursor, pages = answer.next_cursor, pages + 1
        assert found == expected
        assert pages == 3
    refused(claims.of_path(room.door, who, path(SOURCE), "odd"), Code.INVALID_ARGUMENTS)


def test_a_page_ends_when_it_has_read_enough(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muninn.bound.claims._PAGE_BYTES", 2 * len(PORT))
    for number in range(5):
        room.lay(f"c/{number}.md", PORT)
        made(room, f"number {number}", f"c/{number}.md")
    first = claims.everywhere(room.door, rights(room), None)
    assert isinstance(first, ClaimsAnswer)
    assert [row.statement for row in first.held] == ["number 4", "number 3"]
    second = claims.everywhere(room.door, rights(room), first.next_cursor)
    assert isinstance(second, ClaimsAnswer)
    assert [row.statement for row in second.held] == ["number 2", "number 1"]


# --- by their words --------------------------------------------------------------------------------


def test_a_question_finds_held_statements_by_folded_and_stemmed_words(room: Room) -> None:
    room.lay(SOURCE, PORT)
    room.lay("c/other.md", PORT)
    made(room, "The gateways listen on port 8443")
    made(room, "Backups run at Zürich every night")
    made(room, "port list is owned by the gateway team", "c/other.md")

    def found(query: str) -> list[str]:
        answer = echoes.matching(room.door, rights(room), query, None)
        assert isinstance(answer, ClaimsAnswer)
        assert answer.abstaining == ()
        return [row.statement[:8] for row in answer.held]

    assert found("which PORT does a gateway listen on?") == ["The gate", "port lis"]
    assert found("zurich backup") == ["Backups "]
    assert found("the") == ["port lis", "The gate"]
    assert found("nothing of the kind") == []
    assert found("") == []
    assert found('"port" AND ( NEAR *') != []
    room.lay(SOURCE, b"other\n")
    assert found("port") == ["port lis"]
    assert found("zurich") == []


# --- what repeats them -----------------------------------------------------------------------------


def test_notes_that_carry_nearly_the_same_sentence_are_named(room: Room) -> None:
    room.lay(SOURCE, PORT)
    room.lay("d/copy.md", note_text("Some words.\n\n- The port is: 8443.\n", "Copy"))
    room.lay("d/far.md", note_text("The port of the harbour has 8443 boats and a crane.\n", "Harbour"))
    room.lay("d/index.md", note_text("<!-- muninn:index -->\nport is 8443\n<!-- /muninn:index -->\n", "Page"))
    room.lay("private/copy.md", note_text("The port is 8443.\n", "Secret"))
    room.door.index.sweep(room.door.vault.walk, room.door.vault.look)
    made(room)
    digest, who = ContentHash.of(PORT), rights(room)
    (warned,) = echoes.of_source(room.door, who, path(SOURCE), digest)
    assert (warned.code, warned.paths) == ("possible_duplicate", ("d/copy.md",))
    (inside,) = echoes.of_source(room.door, insider(room), path(SOURCE), digest)
    assert set(inside.paths) == {"d/copy.md", "private/copy.md"}
    assert echoes.of_source(room.door, rights(room, read="c/**"), path(SOURCE), digest) == ()
    assert echoes.of_source(room.door, who, path(SOURCE), ContentHash.of(b"x")) == ()
    (claim,) = room.door.ledger.claims.of_path(path(SOURCE))
    (ended,) = echoes.of_claim(room.door, who, claim)
    assert ended.paths == ("d/copy.md",)
    assert (room.root / "d/copy.md").read_bytes() == note_text("Some words.\n\n- The port is: 8443.\n", "Copy")


def test_where_the_index_cannot_answer_nothing_is_named(room: Room) -> None:
    room.lay(SOURCE, PORT)
    made(room)
    assert echoes.of_source(room.door, rights(room), path(SOURCE), ContentHash.of(PORT)) == ()


def test_a_question_reads_no_more_of_the_statements_than_it_may(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.lay(SOURCE, PORT)
    oldest = made(room, "the quokka has a port")
    made(room, "the quokka " + "sleeps a lot " * 20)
    newest = made(room, "the quokka eats")
    monkeypatch.setattr(echoes, "MOST_COMPARED", 290)
    answer = echoes.matching(room.door, rights(room), "quokka", None)
    assert isinstance(answer, ClaimsAnswer)
    assert newest in [row.claim_id for row in answer.held]
    assert oldest not in [row.claim_id for row in answer.held]
    assert len(answer.held) == 2


def test_one_word_of_many_parts_takes_no_long_time(room: Room) -> None:
    room.lay(SOURCE, PORT)
    for number in range(30):
        made(room, f"the quokka eats {number}")
    began = time.process_time()
    answer = echoes.matching(room.door, rights(room), "quokka_" * 200_000 + "zebra", None)
    assert time.process_time() - began < 2
    assert isinstance(answer, ClaimsAnswer)
    assert len(answer.held) == 30  # what is cut off of the word counts no more


def test_a_client_that_sees_few_claims_asks_the_ledger_a_few_times(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.lay(SOURCE, PORT)
    for number in range(60):
        made(room, f"the port is {number}")
    asked: list[int] = []
    whole = room.door.ledger.claims.newest

    def counted(below: int | None = None, limit: int = 100) -> list[Claim]:
        asked.append(limit)
        return whole(below, limit)

    monkeypatch.setattr(room.door.ledger.claims, "newest", counted)
    monkeypatch.setattr(claims, "_BATCH", 2)
    answer = claims.everywhere(room.door, rights(room, "eva", "d/**"), None)
    assert isinstance(answer, ClaimsAnswer)
    assert (answer.held, answer.abstaining) == ((), ())
    assert asked == [2, 8, 32, 128]  # each time all retractions are read, too
