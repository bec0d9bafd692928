"""Summaries: registered whole or not at all, stale as soon as a source is not what it was, seen by those who may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from index import Index
from ledger import verify
from muninn import writing
from muninn.bound import freshness, refreshing, sentences, summaries
from muninn.bound.summaries import SummaryDraft
from muninn.model import seams
from muninn.model.bound import BecauseRow, Registered, SourceRow, StalenessAnswer, SummaryRow
from muninn.model.change import Receipt, Request
from muninn.model.content import ContentHash, Revision
from muninn.model.draft import ArchiveDraft
from muninn.model.errors import LedgerUnavailableError, VaultUnavailableError
from muninn.model.note import Note
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import DEFAULT_SCOPES, Globs, Rights
from tests.conftest import Room, at, breaking, furnish, note_text, path

A, B, SUM = note_text("fact one\n", "A"), note_text("fact two\n", "B"), note_text("the facts in short\n", "Sum")


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Two sources and a note that sums them up."""
    made = furnish(tmp_path)
    index = Index(tmp_path / "cache", made.door.contract.private.cover)
    made = replace(made, door=replace(made.door, index=index))
    made.lay("s/a.md", A)
    made.lay("s/b.md", B)
    made.lay("s/sum.md", SUM)
    yield made
    seams.arm(None)
    index.close()
    made.door.ledger.close()


def rights(room: Room, read: str = "**", write: str = "**", scopes: frozenset[str] = DEFAULT_SCOPES) -> Rights:
    return Rights("ada", scopes, Globs((read,)), Globs((write,)), room.door.contract.private)


def insider(room: Room) -> Rights:
    return rights(room, scopes=DEFAULT_SCOPES | {"private"})


def hash_of(room: Room, name: str) -> str:
    content = room.bytes_of(name)
    return ContentHash.of(content) if content is not None else "missing"


def draft(room: Room, name: str, *sources: str) -> SummaryDraft:
    return SummaryDraft(path(name), hash_of(room, name), tuple((source, hash_of(room, source)) for source in sources))


def attempt(room: Room, asked: SummaryDraft, who: Rights | None = None) -> Registered | Refusal:
    """A registration, and before it the dry run, which must come to the same verdict and touch nothing."""
    before = room.state()
    dry = summaries.register(room.door, who or rights(room), asked, dry_run=True, request=None)
    assert room.state() == before
    answer = summaries.register(room.door, who or rights(room), asked, dry_run=False, request=None)
    assert isinstance(dry, Refusal) == isinstance(answer, Refusal)
    if isinstance(dry, Refusal):
        assert dry == answer
        assert room.door.ledger.claims.bound([asked.path]) == {}
    return answer


def register(room: Room, name: str, *sources: str, who: Rights | None = None) -> Registered:
    answer = attempt(room, draft(room, name, *sources), who)
    assert isinstance(answer, Registered), answer
    return answer


def refused(answer: object, code: Code) -> Refusal:
    assert isinstance(answer, Refusal), answer
    assert answer.code is code, answer
    return answer


def ask(room: Room, name: str | None, who: Rights | None = None, detail: bool = False) -> StalenessAnswer:
    where = None if name is None else path(name)
    answer = summaries.staleness(room.door, who or rights(room), where, detail=detail, cursor=None)
    assert isinstance(answer, StalenessAnswer), answer
    return answer


def told(room: Room, name: str, who: Rights | None = None) -> tuple[str, list[tuple[str, str]]]:
    (row,) = ask(room, name, who).summaries
    return row.state, [(reason.path, reason.why) for reason in row.because]


# --- registering -----------------------------------------------------------------------------------


def test_a_registration_keeps_its_sources_and_is_current(room: Room) -> None:
    answer = register(room, "s/sum.md", "s/a.md", "s/b.md")
    assert answer.state == "committed"
    assert answer.sources == (SourceRow("s/a.md", ContentHash.of(A)), SourceRow("s/b.md", ContentHash.of(B)))
    assert [room.door.ledger.content(ContentHash.of(content)) for content in (A, B)] == [A, B]
    assert told(room, "s/sum.md") == ("current", [])
    assert verify(room.home / "ledger.db").faults == ()


def test_every_fault_is_named_and_nothing_is_kept(room: Room) -> None:
    asked = draft(room, "s/sum.md", "s/a.md", "s/b.md", "s/none.md")
    room.lay("s/b.md", b"other\n")
    wrong = replace(asked, hash=ContentHash.of(b"x"), sources=(*asked.sources[:2], ("s/none.md", ContentHash.of(B))))
    found = refused(attempt(room, wrong), Code.CONFLICT)
    assert [fault["path"] for fault in found.details["faults"]] == ["s/sum.md", "s/b.md", "s/none.md"]
    assert [fault["current_hash"] for fault in found.details["faults"]] == [
        ContentHash.of(SUM),
        ContentHash.of(b"other\n"),
        "missing",
    ]
    assert all(name in found.message for name in ("s/sum.md", "s/b.md", "s/none.md"))
    assert "s/a.md" not in found.message
    assert (found.details["expected_hash"], found.details["current_hash"]) == (
        ContentHash.of(b"x"),
        ContentHash.of(SUM),
    )
    assert not room.door.ledger.keeps(ContentHash.of(A))


def test_arguments_that_are_none_are_named_all(room: Room) -> None:
    good = ContentHash.of(A)
    asked = SummaryDraft(
        path("s/sum.md"), "latest", (("s/a.md", good), ("../x", good), ("s/a.md", good), ("y.md", "z"))
    )
    message = refused(attempt(room, asked), Code.INVALID_ARGUMENTS).message
    for named in ("`hash` 'latest'", "sources.1.path", "sources.2.path` stands there twice", "sources.3.hash"):
        assert named in message
    only_path = replace(asked, hash=hash_of(room, "s/sum.md"), sources=(("/abs.md", good),))
    refused(attempt(room, only_path), Code.INVALID_PATH)
    refused(attempt(room, replace(only_path, sources=())), Code.INVALID_ARGUMENTS)


def test_over_a_hundred_and_twenty_eight_sources_are_over_the_budget(room: Room) -> None:
    for number in range(129):
        room.lay(f"t/{number}.md", b"%d\n" % number)
    names = [f"t/{number}.md" for number in range(129)]
    refused(attempt(room, draft(room, "s/sum.md", *names)), Code.BUDGET_EXCEEDED)
    assert told_of(register(room, "s/sum.md", *names[:128])) == 128
    assert told(room, "s/sum.md") == ("current", [])


def told_of(answer: Registered) -> int:
    return len(answer.sources)


def test_over_sixteen_mebibytes_are_over_the_budget(room: Room) -> None:
    for number in range(17):
        room.lay(f"t/{number}.md", b"%02d" % number * (1 << 19))
    names = [f"t/{number}.md" for number in range(17)]
    found = refused(attempt(room, draft(room, "s/sum.md", *names)), Code.BUDGET_EXCEEDED)
    assert [fault["path"] for fault in found.details["faults"]] == ["t/16.md"]
    assert not room.door.ledger.keeps(ContentHash.of(b"00" * (1 << 19)))
    # The summary's own file does not count.
    room.lay("s/sum.md", b"x" * (1 << 20))
    assert told_of(register(room, "s/sum.md", *names[:16])) == 16


def test_what_is_no_note_and_what_cannot_be_read(room: Room) -> None:
    room.lay("s/pic.png", b"\x00")
    room.lay("s/.cloud.md.icloud", b"")
    (room.root / "s/link.md").symlink_to("a.md")
    digest = ContentHash.of(A)
    refused(attempt(room, draft(room, "s/pic.png", "s/a.md")), Code.INVALID_PATH)
    asked = draft(room, "s/sum.md", "s/a.md")
    for name, code in (("s/cloud.md", Code.VAULT_UNAVAILABLE), ("s/link.md", Code.INVALID_PATH)):
        refused(attempt(room, replace(asked, sources=((name, digest),))), code)
    assert told_of(register(room, "s/sum.md", "s/pic.png")) == 1


def test_rights_decide_on_the_path_alone(room: Room) -> None:
    room.lay("private/p.md", A)
    there, nowhere = (
        replace(draft(room, "s/sum.md"), sources=((name, ContentHash.of(A)),))
        for name in ("private/p.md", "private/none.md")
    )
    messages = {refused(attempt(room, one), Code.FORBIDDEN).message.replace("none", "p") for one in (there, nowhere)}
    assert len(messages) == 1
    narrow = rights(room, read="s/**", write="t/**")
    refused(attempt(room, draft(room, "s/sum.md", "s/a.md"), narrow), Code.FORBIDDEN)
    refused(attempt(room, draft(room, "s/sum.md", "s/a.md"), rights(room, read="t/**")), Code.FORBIDDEN)


def test_a_request_id_gives_the_stored_answer(room: Room) -> None:
    asked, request = draft(room, "s/sum.md", "s/a.md"), Request("r", "digest")

    def call(bound: Request) -> Registered | Refusal:
        return summaries.register(room.door, rights(room), asked, dry_run=False, request=bound)

    first = call(request)
    assert isinstance(first, Registered)
    room.lay("s/a.md", b"other\n")
    assert call(request) == replace(first, state="replayed")
    refused(call(Request("r", "another")), Code.INVALID_ARGUMENTS)
    refused(call(Request("s", "digest")), Code.CONFLICT)
    assert len(list(room.door.ledger.claims.registrations(path("s/sum.md")))) == 1


def test_a_ledger_that_cannot_commit_keeps_nothing(room: Room) -> None:
    at("ledger.commit", breaking())
    with pytest.raises(LedgerUnavailableError):
        summaries.register(room.door, rights(room), draft(room, "s/sum.md", "s/a.md"), dry_run=False, request=None)
    assert ask(room, "s/sum.md").summaries == ()
    assert not room.door.ledger.keeps(ContentHash.of(A))


# --- current, stale, unknown -----------------------------------------------------------------------


def test_a_changed_source_makes_it_stale_and_the_same_bytes_make_it_current_again(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md", "s/b.md")
    room.lay("s/b.md", B + b" ")
    (row,) = ask(room, "s/sum.md").summaries
    assert row == SummaryRow(
        "s/sum.md", "stale", (BecauseRow("s/b.md", "changed", ContentHash.of(B), ContentHash.of(B + b" ")),)
    )
    room.lay("s/b.md", B)
    assert told(room, "s/sum.md") == ("current", [])


def test_a_missing_and_an_archived_source_are_told_apart(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md", "s/b.md")
    done = writing.commit(
        room.door, rights(room), ArchiveDraft(path("s/a.md"), ContentHash.of(A), "obsolete", None), None
    )
    assert isinstance(done, Receipt)
    (room.root / "s/b.md").unlink()
    assert told(room, "s/sum.md") == ("stale", [("s/a.md", "archived"), ("s/b.md", "missing")])


def test_staleness_spreads_upwards_and_says_from_where(room: Room) -> None:
    register(room, "s/b.md", "s/a.md")
    register(room, "s/sum.md", "s/b.md")
    room.lay("s/a.md", b"other\n")
    assert told(room, "s/b.md") == ("stale", [("s/a.md", "changed")])
    assert told(room, "s/sum.md") == ("stale", [("s/b.md", "stale_source")])


def test_a_summary_whose_own_bytes_changed_is_unknown_and_stale_beats_that(room: Room) -> None:
    register(room, "s/b.md", "s/a.md")
    register(room, "s/sum.md", "s/b.md")
    room.lay("s/sum.md", SUM + b"more\n")
    assert told(room, "s/sum.md") == ("unknown", [("s/sum.md", "summary_changed")])
    room.lay("s/a.md", b"other\n")
    assert told(room, "s/sum.md") == ("stale", [("s/sum.md", "summary_changed"), ("s/b.md", "stale_source")])


def test_a_source_that_was_registered_with_other_bytes_is_unknown(room: Room) -> None:
    register(room, "s/b.md", "s/a.md")
    room.lay("s/b.md", B + b"more\n")
    register(room, "s/sum.md", "s/b.md")
    assert told(room, "s/sum.md") == ("unknown", [("s/b.md", "summary_changed")])


def test_a_cycle_is_unknown_also_for_who_leans_on_it_and_on_itself(room: Room) -> None:
    room.lay("s/top.md", b"top\n")
    register(room, "s/a.md", "s/b.md")
    register(room, "s/b.md", "s/a.md")
    register(room, "s/top.md", "s/a.md")
    register(room, "s/sum.md", "s/sum.md")
    assert told(room, "s/a.md") == ("unknown", [("s/b.md", "cycle")])
    assert told(room, "s/top.md") == ("unknown", [("s/a.md", "cycle")])
    assert told(room, "s/sum.md") == ("unknown", [("s/sum.md", "cycle")])


def test_a_placeholder_and_a_file_that_cannot_be_read_are_unknown(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md")
    at("vault.read", breaking(), where="s/a.md")
    assert told(room, "s/sum.md") == ("unknown", [("s/a.md", "unreadable")])
    (room.root / "s/a.md").unlink()
    room.lay("s/.a.md.icloud", b"")
    assert told(room, "s/sum.md") == ("unknown", [("s/a.md", "unreadable")])


def test_a_link_in_place_of_a_source_is_not_the_source(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md")
    (room.root / "s/a.md").rename(room.root / "s/moved.md")
    (room.root / "s/a.md").symlink_to("moved.md")
    assert told(room, "s/sum.md") == ("stale", [("s/a.md", "missing")])


def test_the_newest_registration_counts(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md")
    room.lay("s/a.md", b"other\n")
    assert told(room, "s/sum.md")[0] == "stale"
    register(room, "s/sum.md", "s/b.md")
    assert told(room, "s/sum.md") == ("current", [])


def test_a_note_that_is_no_summary_is_in_no_list(room: Room) -> None:
    assert ask(room, "s/a.md") == StalenessAnswer((), 0, 0, False, None)
    refused(summaries.staleness(room.door, rights(room), None, detail=False, cursor="odd"), Code.INVALID_ARGUMENTS)


def test_a_vault_that_is_not_there_is_said(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md")
    room.root.rename(room.root.with_name("away"))
    with pytest.raises(VaultUnavailableError):
        ask(room, "s/sum.md")


# --- who may see them ------------------------------------------------------------------------------


def test_a_private_source_makes_the_summary_private(room: Room) -> None:
    room.lay("private/p.md", A)
    register(room, "s/sum.md", "s/a.md", "private/p.md", who=insider(room))
    register(room, "s/b.md", "s/sum.md")
    (room.root / "private/p.md").unlink()
    assert told(room, "s/sum.md", insider(room)) == ("stale", [("private/p.md", "missing")])
    assert told(room, "s/b.md", insider(room)) == ("stale", [("s/sum.md", "stale_source")])
    # For others it is as if it had never been registered.
    assert ask(room, "s/sum.md").summaries == ()
    assert told(room, "s/b.md") == ("current", [])
    assert [row.path for row in ask(room, None).summaries] == ["s/b.md"]
    refused(
        summaries.staleness(room.door, rights(room), path("private/p.md"), detail=False, cursor=None), Code.NOT_FOUND
    )
    narrow = rights(room, read="s/b.md")
    assert ask(room, "s/b.md", narrow).summaries == ()


def test_an_older_registration_that_may_be_seen_counts_for_who_may_not_see_the_newest(room: Room) -> None:
    room.lay("private/p.md", A)
    register(room, "s/sum.md", "s/a.md")
    register(room, "s/sum.md", "s/b.md", "private/p.md", who=insider(room))
    room.lay("s/a.md", b"other\n")
    assert told(room, "s/sum.md")[0] == "stale"
    assert told(room, "s/sum.md", insider(room))[0] == "current"


# --- details ---------------------------------------------------------------------------------------


def test_details_name_the_changed_lines_and_the_sentences_that_share_their_words(room: Room) -> None:
    old = note_text("Alpha.\nThe pump holds 40 litres.\nOmega.\n", "Pump")
    room.lay("s/a.md", old)
    text = "The pump of the boat holds forty litres. Nothing else.\n\n- Omega is last.\n- Pumps are checked in May.\n"
    room.lay("s/sum.md", note_text(text, "Sum"))
    register(room, "s/sum.md", "s/a.md")
    claim = room.door.ledger.claims.add("ada", "40 litres", register_source(room), None, old)
    room.lay("s/a.md", old.replace(b"40 litres", b"45 litres"))
    (row,) = ask(room, "s/sum.md", detail=True).summaries
    (reason,) = row.because
    assert reason.diff is not None
    assert reason.diff.splitlines()[2:] == [
        "@@ -9 +9 @@",
        "-The pump holds 40 litres.",
        "+The pump holds 45 litres.",
    ]
    assert reason.sentences is not None
    assert [(one.line, one.text) for one in reason.sentences] == [
        (8, "The pump of the boat holds forty litres."),
        (11, "- Pumps are checked in May."),
    ]
    assert reason.claims == (claim.id,)
    assert ask(room, "s/sum.md").summaries[0].because[0].diff is None


def register_source(room: Room) -> Revision:
    (found,) = room.door.ledger.claims.registrations(path("s/sum.md"))
    return found.sources[0]


def test_details_of_a_source_that_is_gone_have_no_diff(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md")
    (room.root / "s/a.md").unlink()
    (reason,) = ask(room, "s/sum.md", detail=True).summaries[0].because
    assert reason.diff is None
    assert reason.sentences is not None
    assert [one.text for one in reason.sentences] == ["the facts in short"]


def test_details_are_bounded(room: Room) -> None:
    lines = "".join(f"line {number} of the pump\n" for number in range(500))
    names = [f"t/{number}.md" for number in range(60)]
    for name in names:
        room.lay(name, (name + lines).encode())
    room.lay("s/sum.md", note_text(lines, "Sum"))
    register(room, "s/sum.md", *names)
    for name in names:
        room.lay(name, (name + lines.replace("pump", "valve")).encode())
    answer = ask(room, "s/sum.md", detail=True)
    assert len(answer.summaries[0].because) == 60
    assert len(repr(answer).encode()) < 100_000


def many_changed(room: Room, count: int) -> None:
    names = [f"t/{number}.md" for number in range(count)]
    for name in names:
        room.lay(name, f"{name} of the pump\n".encode())
    register(room, "s/sum.md", *names)
    for name in names:
        room.lay(name, f"{name} of the valve\n".encode())


def test_a_summary_is_cut_into_sentences_once_for_all_its_sources(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    many_changed(room, 5)
    cut: list[str] = []
    whole = sentences.of

    def counted(note: Note) -> Iterator[sentences.Sentence]:
        cut.append(note.path)
        return whole(note)

    monkeypatch.setattr(sentences, "of", counted)
    answer = ask(room, "s/sum.md", detail=True)
    assert all(reason.diff is not None for reason in answer.summaries[0].because)
    assert cut == ["s/sum.md"]


def test_details_end_when_they_have_taken_their_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    many_changed(room, 5)
    monkeypatch.setattr(refreshing, "BUDGET_S", 0.0)
    because = ask(room, "s/sum.md", detail=True).summaries[0].because
    assert [(reason.why, reason.diff, reason.sentences) for reason in because] == [("changed", None, ())] * 5


# --- warnings --------------------------------------------------------------------------------------


def test_what_is_shown_carries_a_warning_where_it_stands_no_more(room: Room) -> None:
    register(room, "s/sum.md", "s/a.md")
    source = register_source(room)
    room.door.ledger.claims.add("ada", "fact one", source, None, A)
    shown = [("s/sum.md", ContentHash.of(SUM)), ("s/a.md", ContentHash.of(A)), ("s/b.md", ContentHash.of(B))]
    assert freshness.warnings(room.door, rights(room), shown) == ()
    room.lay("s/a.md", b"other\n")
    shown[1] = ("s/a.md", ContentHash.of(b"other\n"))
    claims, stale = freshness.warnings(room.door, rights(room), shown)
    assert (claims.code, claims.paths) == ("abstaining_claims", ("s/a.md",))
    assert (stale.code, stale.paths) == ("stale_summary", ("s/sum.md",))


def test_no_warning_tells_of_a_private_source(room: Room) -> None:
    room.lay("private/p.md", A)
    register(room, "s/sum.md", "private/p.md", who=insider(room))
    (room.root / "private/p.md").unlink()
    shown = [("s/sum.md", ContentHash.of(SUM))]
    assert freshness.warnings(room.door, rights(room), shown) == ()
    assert [warning.code for warning in freshness.warnings(room.door, insider(room), shown)] == ["stale_summary"]
