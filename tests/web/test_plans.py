"""Undo and restore, shown first: what is carried out is what was shown, or nothing."""

from __future__ import annotations

from muninn.model.content import MISSING
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.web import restore_plan, undo_plan
from muninn.web.activity import OUTSIDE
from muninn.web.restore_plan import Restored, RestorePlan
from muninn.web.shown import Sides
from muninn.web.undo_plan import Done, UndoPlan
from tests.web.desk import Desk, text

LONG_AGO = "2020-01-01"


def planned(desk: Desk, rights: Rights | None = None, name: str = "ada") -> UndoPlan:
    before = desk.room.state()
    found = undo_plan.plan(desk.door, rights or desk.rights(), name, LONG_AGO)
    assert desk.room.state() == before
    assert isinstance(found, UndoPlan), found
    return found


def test_the_plan_shows_both_sides_and_what_is_left_and_why(desk: Desk) -> None:
    desk.outside("s/old.md", "as it was")
    desk.write("s/old.md", "as ada has it")
    desk.write("s/new.md", "made by ada")
    desk.write("s/both.md", "by ada")
    desk.write("s/both.md", "then by ben", "ben")
    found = planned(desk)
    sides = {str(item.reversal.path): item.sides or Sides() for item in found.planned}
    assert sides["s/old.md"].before == text("s/old.md", "as ada has it")
    assert sides["s/old.md"].after == text("s/old.md", "as it was")
    assert sides["s/new.md"].after is None
    assert [(item.reversal.path, item.reversal.why) for item in found.left] == [
        ("s/both.md", "changed since then by ben")
    ]


def test_what_was_shown_is_done_under_the_clients_own_name(desk: Desk) -> None:
    desk.outside("s/old.md", "as it was")
    desk.write("s/old.md", "as ada has it")
    desk.write("s/new.md", "made by ada")
    found = planned(desk)
    done = undo_plan.carry_out(desk.door, desk.rights(), "ada", found.since, found.until, found.digest)
    assert isinstance(done, Done)
    assert {one.path for one in done.undone} == {"s/old.md", "s/new.md"}
    assert desk.room.bytes_of("s/old.md") == text("s/old.md", "as it was")
    assert desk.room.bytes_of("s/new.md") is None
    newest = desk.door.ledger.history(done.undone[0].path, None, 1)[0]
    assert (newest.client, newest.kind.value) == ("person", "undo")
    again = undo_plan.carry_out(desk.door, desk.rights(), "ada", found.since, found.until, found.digest)
    assert isinstance(again, UndoPlan)
    assert again.planned == []


def test_where_anything_changed_meanwhile_nothing_is_done(desk: Desk) -> None:
    desk.write("s/a.md", "one")
    desk.write("s/b.md", "one")
    found = planned(desk)
    desk.write("s/b.md", "two", "ben")
    state = desk.room.state()
    answer = undo_plan.carry_out(desk.door, desk.rights(), "ada", found.since, found.until, found.digest)
    assert isinstance(answer, UndoPlan)
    assert answer.digest != found.digest
    assert desk.room.state() == state
    third = undo_plan.carry_out(desk.door, desk.rights(), "ada", answer.since, answer.until, answer.digest)
    assert isinstance(third, Done)
    assert [one.path for one in third.undone] == ["s/a.md"]


def test_a_digest_is_for_one_client_one_name_and_one_time(desk: Desk) -> None:
    desk.write("s/a.md", "one")
    found = planned(desk)
    digests = {found.digest, planned(desk, desk.rights("other")).digest, planned(desk, name="ben").digest}
    shorter = undo_plan.plan(desk.door, desk.rights(), "ada", "2021-01-01", found.until)
    assert isinstance(shorter, UndoPlan)
    assert len(digests | {shorter.digest}) == 4
    for carried in ("", "x", digests.difference({found.digest}).pop(), "\udcff"):
        answer = undo_plan.carry_out(desk.door, desk.rights(), "ada", found.since, found.until, carried)
        assert isinstance(answer, UndoPlan)
    assert desk.room.bytes_of("s/a.md") is not None


def test_paths_the_client_may_not_change_are_in_no_plan(desk: Desk) -> None:
    desk.write("s/a.md", "one")
    desk.write("other/b.md", "one")
    desk.write("private/p.md", "one")
    assert [item.reversal.path for item in planned(desk, desk.rights(write="s/**")).items] == ["s/a.md"]
    assert {item.reversal.path for item in planned(desk).items} == {"s/a.md", "other/b.md"}
    for missing in ("read", "write", "archive"):
        scopes = frozenset({"read", "write", "archive", "code"} - {missing})
        refused = undo_plan.plan(desk.door, desk.rights(scopes=scopes), "ada", LONG_AGO)
        assert isinstance(refused, Refusal)
        assert refused.code is Code.FORBIDDEN
        late = undo_plan.carry_out(desk.door, desk.rights(scopes=scopes), "ada", LONG_AGO, "", "x")
        assert isinstance(late, Refusal)


def test_what_came_around_the_door_can_be_undone_as_well(desk: Desk) -> None:
    desk.write("s/a.md", "one")
    desk.outside("s/a.md", "by an editor")
    found = planned(desk, name=OUTSIDE)
    done = undo_plan.carry_out(desk.door, desk.rights(), OUTSIDE, found.since, found.until, found.digest)
    assert isinstance(done, Done)
    assert desk.room.bytes_of("s/a.md") == text("s/a.md", "one")


def test_more_than_a_person_looks_through_is_refused(desk: Desk) -> None:
    for number in range(undo_plan.MOST + 1):
        desk.outside(f"n/{number}.md", "text")
    refused = undo_plan.plan(desk.door, desk.rights(), OUTSIDE, LONG_AGO)
    assert isinstance(refused, Refusal)
    assert refused.code is Code.BUDGET_EXCEEDED
    assert undo_plan.plan(desk.door, desk.rights(), OUTSIDE, "soon").code is Code.INVALID_ARGUMENTS  # type: ignore[union-attr]


def test_large_changes_are_named_and_not_shown(desk: Desk) -> None:
    big = "word " * 40_000
    desk.write("s/a.md", big)
    desk.write("s/b.md", big)
    shown = [item.sides is not None for item in planned(desk).items]
    assert sorted(shown) == [False, True]


# --- restore ----------------------------------------------------------------------------------------


def test_a_restore_shows_the_note_and_its_page_and_brings_both_back(paged_desk: Desk) -> None:
    desk = paged_desk
    desk.write("s/a.md", "one")
    revision = str(desk.now("s/a.md"))
    desk.archive("s/a.md")
    before = desk.room.state()
    found = restore_plan.plan(desk.door, desk.rights(), "s/a.md", revision)
    assert desk.room.state() == before
    assert isinstance(found, RestorePlan)
    assert [(row.path, row.before == str(MISSING)) for row in found.rows] == [("s/a.md", True), ("s/index.md", False)]
    assert found.rows[0].sides.after == text("s/a.md", "one")
    assert b"a.md" not in (found.rows[1].sides.before or b"")
    done = restore_plan.carry_out(desk.door, desk.rights(), "s/a.md", revision, found.digest)
    assert isinstance(done, Restored)
    assert desk.room.bytes_of("s/a.md") == text("s/a.md", "one")
    again = restore_plan.carry_out(desk.door, desk.rights(), "s/a.md", revision, found.digest)
    assert isinstance(again, Refusal)
    assert again.code is Code.EXISTS


def test_a_restore_that_is_not_what_was_shown_is_shown_again(paged_desk: Desk) -> None:
    desk = paged_desk
    desk.write("s/a.md", "one")
    revision = str(desk.now("s/a.md"))
    desk.archive("s/a.md")
    found = restore_plan.plan(desk.door, desk.rights(), "s/a.md", revision)
    assert isinstance(found, RestorePlan)
    desk.write("s/b.md", "the page has another line now")
    answer = restore_plan.carry_out(desk.door, desk.rights(), "s/a.md", revision, found.digest)
    assert isinstance(answer, RestorePlan)
    assert desk.room.bytes_of("s/a.md") is None


def test_who_may_not_restore_is_refused_whatever_is_kept(desk: Desk) -> None:
    desk.write("private/p.md", "one")
    revision = str(desk.now("private/p.md"))
    desk.archive("private/p.md")
    there = restore_plan.plan(desk.door, desk.rights(), "private/p.md", revision)
    never = restore_plan.plan(desk.door, desk.rights(), "private/q.md", revision)
    assert isinstance(there, Refusal)
    assert isinstance(never, Refusal)
    assert there.code is never.code is Code.FORBIDDEN
    assert there.message == never.message.replace("q.md", "p.md")
    readers = desk.rights(scopes=frozenset({"read", "write"}))
    refused = restore_plan.plan(desk.door, readers, "private/p.md", revision)
    assert isinstance(refused, Refusal)
    assert refused.code is Code.FORBIDDEN
