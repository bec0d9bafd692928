"""The verdict on a draft: for everything that may stand at a path and every verb, and the dry run touches nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from muninn import contract, writing
from muninn.model import note as notes
from muninn.model.change import Kind, Plan
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.draft import Append, ArchiveDraft, Draft, EditDraft, Kept, RestoreDraft, SetFields, View, WriteDraft
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import SCOPES, Globs, Rights
from muninn.model.sight import Absent, File
from muninn.writing import planning
from tests.conftest import Room, note_text, path

OLD, NEW = note_text("old\n"), note_text("new\n")
NO_TEXT = b"\xff\xfe"
WRONG = ContentHash.of(b"something else")


def lay_link(room: Room) -> None:
    (room.root / "d").mkdir()
    (room.root / "d/a.md").symlink_to("elsewhere")


def lay_pipe(room: Room) -> None:
    (room.root / "d").mkdir()
    os.mkfifo(room.root / "d/a.md")


SITUATIONS: dict[str, Callable[[Room], object]] = {
    "absent": lambda room: None,
    "present": lambda room: room.lay("d/a.md", OLD),
    "no text": lambda room: room.lay("d/a.md", NO_TEXT),
    "folder": lambda room: (room.root / "d/a.md").mkdir(parents=True),
    "link": lay_link,
    "pipe": lay_pipe,
    "file on the way": lambda room: room.lay("d", b"x"),
    "twin": lambda room: room.lay("d/A.md", OLD),
    "twin folder": lambda room: room.lay("D/x.md", OLD),
    "placeholder": lambda room: room.lay("d/.a.md.icloud", b"x"),
}
BLOCKED: dict[str, Code | None] = {
    "create": Code.EXISTS,
    "overwrite": Code.INVALID_PATH,
    "overwrite wrong": Code.INVALID_PATH,
    "edit": Code.INVALID_PATH,
    "edit wrong": Code.INVALID_PATH,
    "archive": Code.INVALID_PATH,
    "archive wrong": Code.INVALID_PATH,
    "restore": Code.EXISTS,
}
GONE: dict[str, Code | None] = dict.fromkeys(BLOCKED, Code.CONFLICT)
EXPECTED: dict[str, dict[str, Code | None]] = {
    "absent": GONE | {"create": None, "restore": None},
    "present": {
        "create": Code.EXISTS,
        "overwrite": None,
        "overwrite wrong": Code.CONFLICT,
        "edit": None,
        "edit wrong": Code.CONFLICT,
        "archive": None,
        "archive wrong": Code.CONFLICT,
        "restore": Code.EXISTS,
    },
    "no text": {
        "create": Code.EXISTS,
        "overwrite": None,
        "overwrite wrong": Code.CONFLICT,
        "edit": Code.NOT_TEXT,
        "edit wrong": Code.CONFLICT,
        "archive": None,
        "archive wrong": Code.CONFLICT,
        "restore": Code.EXISTS,
    },
    "folder": {**BLOCKED},
    "link": {**BLOCKED},
    "pipe": {**BLOCKED},
    "file on the way": {**BLOCKED},
    "twin": GONE | {"create": Code.EXISTS, "restore": Code.EXISTS},
    "twin folder": GONE | {"create": Code.EXISTS, "restore": Code.EXISTS},
    "placeholder": dict.fromkeys(BLOCKED, Code.VAULT_UNAVAILABLE),
}
MATRIX = [(there, verb, code) for there, verbs in EXPECTED.items() for verb, code in verbs.items()]


def draft(verb: str, right: Basis, name: str = "d/a.md", content: bytes = NEW) -> Draft:
    where = path(name)
    base = WRONG if verb.endswith("wrong") else right
    match verb.split()[0]:
        case "create":
            return WriteDraft(where, name, content, MISSING)
        case "overwrite":
            return WriteDraft(where, name, content, base)
        case "edit":
            return EditDraft(where, (Append("more\n"),), base)
        case "archive":
            return ArchiveDraft(where, base, "obsolete", None)
        case _:
            return RestoreDraft(where, Kept(ContentHash.of(NEW), NEW, None))


def right_hash(there: str) -> ContentHash:
    return ContentHash.of(NO_TEXT if there == "no text" else OLD)


@pytest.mark.parametrize(("there", "verb", "code"), MATRIX)
def test_the_verdict(room: Room, there: str, verb: str, code: Code | None) -> None:
    SITUATIONS[there](room)
    asked = draft(verb, right_hash(there))
    before = room.state()
    verdict = writing.judge(room.door, room.rights(), asked)
    assert room.state() == before
    assert (verdict.code if isinstance(verdict, Refusal) else None) == code
    head = room.door.ledger.head()
    outcome = writing.commit(room.door, room.rights(), asked, None)
    assert (outcome.code if isinstance(outcome, Refusal) else None) == code
    if isinstance(verdict, Refusal):
        assert isinstance(outcome, Refusal)
        assert (outcome.message, outcome.details) == (verdict.message, verdict.details)
        after = room.state()
        after.pop(str(room.home / "write.lock"))
        assert {name: seen[2] for name, seen in after.items()} == {name: seen[2] for name, seen in before.items()}
        assert room.door.ledger.head() == head
        assert room.nudges.paths == []
    assert room.temps() == []


@pytest.mark.parametrize(("there", "verb", "code"), [row for row in MATRIX if row[2] is Code.CONFLICT])
def test_a_conflict_tells_both_hashes(room: Room, there: str, verb: str, code: Code) -> None:
    SITUATIONS[there](room)
    asked = draft(verb, right_hash(there))
    verdict = writing.judge(room.door, room.rights(), asked)
    assert isinstance(verdict, Refusal)
    current = str(right_hash(there)) if there in ("present", "no text") else "missing"
    expected = WRONG if verb.endswith("wrong") else right_hash(there)
    assert (verdict.details["current_hash"], verdict.details["expected_hash"]) == (current, expected)
    assert str(expected) in verdict.message
    assert current in verdict.message


@pytest.mark.parametrize(
    ("verb", "there", "in_place"),
    [
        ("create", NEW, True),
        ("create", OLD, False),
        ("overwrite wrong", NEW, True),
        ("overwrite wrong", OLD, False),
        ("archive", None, True),
        ("archive wrong", OLD, False),
        ("restore", NEW, True),
        ("restore", OLD, False),
    ],
)
def test_what_is_in_place_already_is_said(room: Room, verb: str, there: bytes | None, in_place: bool) -> None:
    if there is not None:
        room.lay("d/a.md", there)
    verdict = writing.judge(room.door, room.rights(), draft(verb, ContentHash.of(OLD)))
    assert isinstance(verdict, Refusal)
    assert verdict.details.get("already_in_place", False) is in_place
    assert verdict.details["current_hash"] == ("missing" if there is None else ContentHash.of(there))


@pytest.mark.parametrize("verb", BLOCKED)
@pytest.mark.parametrize("name", ["d/a.txt", "d/a", "~$a.md"])
def test_attachments_and_temporary_files_are_never_written(room: Room, verb: str, name: str) -> None:
    room.lay(name, OLD)
    outcome = writing.commit(room.door, room.rights(), draft(verb, ContentHash.of(OLD), name), None)
    assert isinstance(outcome, Refusal)
    assert outcome.code in (Code.INVALID_PATH, Code.CONFLICT, Code.EXISTS)
    assert room.bytes_of(name) == OLD


@pytest.mark.parametrize("name", ["d/a.txt", "con.md", "a?.md", "caf\u0065\u0301.md"])
def test_new_names_are_judged_as_typed(room: Room, name: str) -> None:
    verdict = writing.judge(room.door, room.rights(), WriteDraft(path(name), name, NEW, MISSING))
    assert isinstance(verdict, Refusal)
    assert verdict.code is Code.INVALID_PATH


@pytest.mark.parametrize("name", ["con.md", "a?.md", "caf\u0065\u0301.md", "what: this.md"])
def test_old_names_that_are_odd_stay_writable(room: Room, name: str) -> None:
    room.lay(name, OLD)
    verdict = writing.judge(room.door, room.rights(), WriteDraft(path(name), name, NEW, ContentHash.of(OLD)))
    assert isinstance(verdict, Plan)


def test_the_twin_is_named_to_who_may_see_it_alone(room: Room) -> None:
    room.lay("d/A.md", OLD)
    asked = WriteDraft(path("d/a.md"), "d/a.md", NEW, MISSING)
    seeing = writing.judge(room.door, room.rights(), asked)
    blind = Rights("ben", frozenset(SCOPES), read=Globs(("d/a*",)), write=Globs(("**",)))
    assert isinstance(seeing, Refusal)
    assert seeing.details["existing"] == "d/A.md"
    shown = planning.plan(asked, View(Absent(asked.path, "x/A.md")), room.door.contract, blind, "2026-05-04")
    assert isinstance(shown, Refusal)
    assert "x/A.md" not in shown.message + str(shown.details)


def test_all_faults_are_named_in_one_answer(room: Room) -> None:
    room.lay("a.md", OLD)
    verdict = writing.judge(room.door, room.rights(), WriteDraft(path("a.md"), "a.md", b"plain\n", WRONG))
    assert isinstance(verdict, Refusal)
    assert verdict.code is Code.INVALID_NOTE
    assert {row["rule"] for row in verdict.details["findings"]} > {"frontmatter", "title"}
    assert verdict.details["current_hash"] == ContentHash.of(OLD)
    named = writing.judge(room.door, room.rights(), WriteDraft(path("b?.md"), "b?.md", b"plain\n", MISSING))
    assert isinstance(named, Refusal)
    assert named.code is Code.INVALID_PATH
    assert "title" in named.message


def test_a_note_over_the_limit(room: Room) -> None:
    limit = contract.MAX_NOTE_BYTES
    fits, too_large = (note_text("x" * (limit - len(note_text("")) + more)) for more in (0, 1))
    assert len(fits) == limit
    for content, code in ((fits, None), (too_large, Code.TOO_LARGE)):
        for name in ("a.md", "private/a.md"):
            verdict = writing.judge(room.door, room.rights(), WriteDraft(path(name), name, content, MISSING))
            assert (verdict.code if isinstance(verdict, Refusal) else None) == code


@pytest.mark.parametrize("name", ["a.md", "private/a.md"])
def test_what_is_no_text_is_not_written(room: Room, name: str) -> None:
    verdict = writing.judge(room.door, room.rights(), WriteDraft(path(name), name, b"\xff", MISSING))
    assert isinstance(verdict, Refusal)
    assert verdict.code is Code.NOT_TEXT


def test_a_private_note_needs_no_frontmatter(room: Room) -> None:
    asked = WriteDraft(path("private/a.md"), "private/a.md", b"plain\n", MISSING)
    assert isinstance(writing.judge(room.door, room.rights(), asked), Plan)


def test_what_a_client_may_not_write_is_forbidden_whether_it_is_there_or_not(room: Room) -> None:
    room.lay("private/a.md", OLD)
    room.lay("d/a.md", OLD)
    narrow = room.rights(scopes=frozenset({"read", "write"}), write="w/")
    answers = set()
    for name in ("private/a.md", "private/b.md", "d/a.md", "d/b.md"):
        for verb in ("create", "overwrite", "overwrite wrong", "edit", "archive", "restore"):
            verdict = writing.judge(room.door, narrow, draft(verb, ContentHash.of(OLD), name))
            assert isinstance(verdict, Refusal)
            assert verdict.details == {}
            answers.add((verdict.code, verdict.message.replace(name, "")))
    assert len(answers) == 1
    assert next(iter(answers))[0] is Code.FORBIDDEN


def test_right_hash_and_same_bytes_change_nothing(room: Room) -> None:
    room.lay("a.md", OLD)
    verdict = writing.judge(room.door, room.rights(), draft("overwrite", ContentHash.of(OLD), "a.md", OLD))
    assert isinstance(verdict, Plan)
    assert (verdict.changes, verdict.before, verdict.after) == ((), ContentHash.of(OLD), ContentHash.of(OLD))


def test_a_plan_carries_the_bytes_it_needs(room: Room) -> None:
    room.lay("a.md", OLD).chmod(0o604)
    verdict = writing.judge(room.door, room.rights(), draft("overwrite", ContentHash.of(OLD), "a.md"))
    assert isinstance(verdict, Plan)
    assert verdict.kind is Kind.OVERWRITE
    assert verdict.reason == "superseded"
    assert set(verdict.contents.values()) == {OLD, NEW}
    assert [change.mode for change in verdict.changes] == [0o604]


def test_an_edit_shows_its_diff_and_its_result_is_judged(room: Room) -> None:
    room.lay("a.md", OLD)
    verdict = writing.judge(room.door, room.rights(), draft("edit", ContentHash.of(OLD), "a.md"))
    assert isinstance(verdict, Plan)
    assert "+more" in (verdict.diff or "")
    assert verdict.contents[ContentHash.of(OLD + b"more\n")] == OLD + b"more\n"
    breaking = EditDraft(path("a.md"), (SetFields({"tags": ["One"]}),), ContentHash.of(OLD))
    refused = writing.judge(room.door, room.rights(), breaking)
    assert isinstance(refused, Refusal)
    assert refused.code is Code.INVALID_NOTE


@pytest.mark.parametrize("verb", ["archive", "restore"])
def test_archive_and_restore_are_not_judged_by_the_contract(room: Room, verb: str) -> None:
    plain = b"no frontmatter\n"
    asked: Draft = RestoreDraft(path("a.md"), Kept(ContentHash.of(plain), plain, 0o600))
    if verb == "archive":
        room.lay("a.md", plain)
        asked = ArchiveDraft(path("a.md"), ContentHash.of(plain), "retracted", "why")
    verdict = writing.judge(room.door, room.rights(), asked)
    assert isinstance(verdict, Plan)


def test_planning_is_pure() -> None:
    """The verdict is made of the view alone: no vault, no ledger, no clock."""
    where = NotePath("a.md")
    sight = File(where, "a.md", OLD, ContentHash.of(OLD), 0o644, 0)
    asked = WriteDraft(where, "a.md", NEW, ContentHash.of(OLD))
    rights = Rights("ada", frozenset(SCOPES))
    verdicts: list[Any] = [planning.plan(asked, View(sight), contract.build(), rights, "2026-05-04") for _ in range(2)]
    assert verdicts[0] == verdicts[1]
    assert isinstance(verdicts[0], Plan)
    assert notes.parse(where, NEW).hash == verdicts[0].after


def test_a_dry_run_of_a_conflict_with_a_known_base_touches_nothing(room: Room) -> None:
    first = writing.commit(room.door, room.rights(), draft("create", MISSING, "a.md", OLD), None)
    assert not isinstance(first, Refusal)
    room.lay("a.md", NEW)
    before = room.state()
    verdict = writing.judge(room.door, room.rights(), draft("overwrite", ContentHash.of(OLD), "a.md", OLD))
    assert isinstance(verdict, Refusal)
    assert "-old\n+new\n" in verdict.details["diff"]
    assert "changed_by" not in verdict.details
    assert room.state() == before


def test_a_conflict_tells_who_changed_it_last(room: Room) -> None:
    writing.commit(room.door, room.rights("ada"), draft("create", MISSING, "a.md", OLD), None)
    writing.commit(room.door, room.rights("ben"), draft("overwrite", ContentHash.of(OLD), "a.md", NEW), None)
    verdict = writing.judge(room.door, room.rights("ada"), draft("overwrite", ContentHash.of(OLD), "a.md", OLD + b"x"))
    assert isinstance(verdict, Refusal)
    (newest, _) = room.door.ledger.history(path("a.md"), None, 9)
    assert (verdict.details["changed_by"], verdict.details["changed_at"]) == ("ben", newest.at)
    writing.commit(room.door, room.rights("cat"), draft("archive", ContentHash.of(NEW), "a.md"), None)
    gone = writing.judge(room.door, room.rights("ada"), draft("archive", ContentHash.of(NEW), "a.md"))
    assert isinstance(gone, Refusal)
    assert (gone.details["changed_by"], gone.details["current_hash"]) == ("cat", "missing")
