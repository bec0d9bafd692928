"""The time line: everything that was done and may be seen, nothing that may not, in bounded work."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ledger import Ledger
from muninn.model.change import Kind
from muninn.model.content import NotePath
from muninn.model.refusal import Refusal
from muninn.web import activity, lanes
from muninn.web.activity import OUTSIDE, OWNER, Lately, Step
from tests.ledger.filled import fill
from tests.web.desk import Desk


def steps(desk: Desk, rights: object = None, who: str | None = None) -> tuple[Step, ...]:
    found = activity.lately(desk.door, rights or desk.insider(), who, None)  # type: ignore[arg-type]
    assert isinstance(found, Lately)
    return found.steps


def told(rows: tuple[Step, ...]) -> list[tuple[str, str, str]]:
    return [(row.who, row.kind, row.path) for row in rows]


def test_all_kinds_of_deeds_are_told_newest_first(desk: Desk) -> None:
    desk.write("s/a.md", "one")
    desk.write("s/a.md", "two", "ben")
    desk.claim("it is so", "s/a.md")
    desk.write("s/sum.md", "in short")
    desk.register("s/sum.md", "s/a.md")
    desk.outside("s/a.md", "three")
    desk.archive("s/a.md", "ben", "superseded")
    assert told(steps(desk)) == [
        ("ben", "archive", "s/a.md"),
        (OUTSIDE, "external", "s/a.md"),
        ("ada", "summary", "s/sum.md"),
        ("ada", "create", "s/sum.md"),
        ("ada", "claim", "s/a.md"),
        ("ben", "overwrite", "s/a.md"),
        ("ada", "create", "s/a.md"),
    ]
    newest = steps(desk)[0]
    assert newest.reason == "superseded"
    assert newest.restorable == newest.before
    assert newest.after == "missing"
    assert [row.path for row in steps(desk, who="ben")] == ["s/a.md", "s/a.md"]
    assert [row.kind for row in steps(desk, who=OUTSIDE)] == ["external"]
    assert steps(desk, who=OWNER) == ()


def test_what_may_not_be_seen_does_not_exist(desk: Desk) -> None:
    desk.write("open/a.md", "one")
    shown = told(steps(desk, desk.rights(read="open/**")))
    pages = activity.lately(desk.door, desk.rights(read="open/**"), None, None)
    desk.write("private/p.md", "hidden")
    desk.outside("private/p.md", "hidden too")
    desk.claim("a secret", "private/p.md")
    desk.write("shut/b.md", "out of sight")
    desk.claim("of b", "shut/b.md")
    desk.register("open/a.md", "shut/b.md")
    desk.archive("private/p.md")
    assert told(steps(desk, desk.rights(read="open/**"))) == shown == [("ada", "create", "open/a.md")]
    assert activity.lately(desk.door, desk.rights(read="open/**"), None, None) == pages
    assert not any("private" in row.path for row in steps(desk, desk.rights()))
    assert sum("private" in row.path for row in steps(desk)) == 4


def test_of_a_note_out_of_sight_its_page_is_all_that_is_told(paged_desk: Desk) -> None:
    paged_desk.write("s/a.md", "one")
    rows = steps(paged_desk, paged_desk.rights(read="s/index.md"))
    assert told(rows) == [("ada", "index", "s/index.md")]
    assert told(steps(paged_desk)) == [("ada", "create", "s/a.md")]


def test_pages_follow_one_another_without_a_gap(desk: Desk) -> None:
    for number in range(120):
        desk.outside(f"n/{number}.md", "text")
    found: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        page = activity.lately(desk.door, desk.rights(), None, cursor)
        assert isinstance(page, Lately)
        found += [step.path for step in page.steps]
        cursor = page.next_cursor
    assert cursor is None
    assert found == [f"n/{number}.md" for number in reversed(range(120))]
    assert isinstance(activity.lately(desk.door, desk.rights(), None, "no cursor"), Refusal)
    first = activity.lately(desk.door, desk.rights(), None, None)
    assert isinstance(first, Lately)
    assert isinstance(activity.lately(desk.door, desk.rights(), "ada", first.next_cursor), Refusal)


def test_refused_plans_are_no_deeds_and_what_is_told_is_what_history_tells(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    fill(book, 200)
    deeds, below = book.lately(None, 10_000)
    assert below == 0
    assert all(deed.changes for deed in deeds if isinstance(deed.kind, Kind))
    found = {(deed.id, change.path) for deed in deeds for change in deed.changes}
    names = {path for _, path in found}
    expected = {(event.id, event.path) for name in names for event in book.history(NotePath(name), None, 1_000)}
    assert found == expected
    assert len(found) > 100
    book.close()


def test_the_work_of_a_page_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "MOST_ROWS", 400)
    monkeypatch.setattr(activity, "_AT_ONCE", 200)
    fill(desk.door.ledger, 500, paths=40)
    nobody = desk.rights(read="nowhere/**")
    begun = time.perf_counter()
    page = activity.lately(desk.door, nobody, None, None)
    assert time.perf_counter() - begun < 5
    assert isinstance(page, Lately)
    assert page.steps == ()
    assert page.ended
    cursor, pages = page.next_cursor, 1
    while cursor is not None:
        page = activity.lately(desk.door, nobody, None, cursor)
        assert isinstance(page, Lately)
        assert page.steps == ()
        cursor, pages = page.next_cursor, pages + 1
    assert 2 < pages < 8


def test_the_drawing_has_a_lane_a_name_and_a_dot_a_step(desk: Desk) -> None:
    assert lanes.drawn(()) is None
    desk.write("s/a.md", "one")
    desk.write("s/b.md", "one", "a-client-with-a-very-long-name-indeed")
    for number in range(15):
        desk.write(f"s/{number}.md", "x", f"c{number}")
    rows = steps(desk)
    drawing = lanes.drawn(rows)
    assert drawing is not None
    assert len(drawing.lanes) == lanes.MOST_LANES
    assert drawing.left_out == 5
    assert len(drawing.dots) == 12
    assert all(lanes.LEFT <= dot.x <= lanes.WIDTH - lanes.RIGHT for dot in drawing.dots)
    assert {dot.y for dot in drawing.dots} == {lane.y for lane in drawing.lanes}
    assert activity.actors(rows)[0].name == "c14"
    assert [day for day, _ in activity.by_day(rows)] == [rows[0].at[:10]]
