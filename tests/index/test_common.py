"""Words that stand in very many notes: what is looked through for them is bounded, and still answered from."""

from __future__ import annotations

from typing import Any

import pytest

from index import Filters, asking, question
from index.asking import Candidates
from muninn.model.rights import Globs, Rights
from muninn.searching import Asked, search

from .room import CLIENT, PRIVATE, Room

_WANT = 5


@pytest.fixture
def narrow(room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A vault of forty notes about a kettle, with budgets so small that the word is too common in it."""
    monkeypatch.setattr(question, "_LEAST_BUDGET", 2)
    monkeypatch.setattr(asking, "_MOST_RANKED", 10)
    for number in range(40):
        room.put(f"a/note-{number:02}.md", f"# Entry {number}\n\nThe kettle was hot, {'kettle ' * (number % 4)}.\n")
    return room


def _asked(room: Room, text: str, want: int = _WANT, **kwargs: Any) -> Candidates:
    room.index.sweep(room.walk, room.look)
    everything = kwargs.pop("everything", True)
    sees = kwargs.pop("sees", lambda _: True)
    (found,) = room.index.ask(
        room.index.read(text), Filters(), sees, want, private=False, everything=everything, **kwargs
    )
    return found


def test_titles_come_first_and_an_old_one_is_not_lost_among_newer_notes(narrow: Room) -> None:
    narrow.put("a/00-first.md", "# The kettle\n\nNothing else.\n")
    found = _asked(narrow, "kettle")
    assert found.plan.too_common
    assert found.rows[0].path == "a/00-first.md"
    assert len(found.rows) == _WANT
    assert found.more


def test_a_word_that_no_title_holds_is_found_in_the_newest_notes(narrow: Room) -> None:
    found = _asked(narrow, "kettle", want=15)
    assert {row.path for row in found.rows} == {f"a/note-{number:02}.md" for number in range(30, 40)}
    assert found.rows[0].path in {"a/note-31.md", "a/note-35.md", "a/note-39.md"}


def test_enough_titles_spare_the_bodies(narrow: Room) -> None:
    for number in range(_WANT + 1):
        narrow.put(f"b/{number}.md", f"# Kettle {number}\n\nOf its own.\n")
    assert {row.path.folder for row in _asked(narrow, "kettle").rows} == {"b"}


def test_a_client_that_sees_only_old_notes_is_answered_from_them(narrow: Room) -> None:
    found = _asked(narrow, "kettle", sees=lambda path: path == "a/note-03.md", everything=False)
    assert [row.path for row in found.rows] == ["a/note-03.md"]


def test_the_answer_says_so(narrow: Room) -> None:
    narrow.index.sweep(narrow.walk, narrow.look)
    found = search(narrow.index, narrow.look, narrow.walk, CLIENT, Asked("kettle"))
    assert not hasattr(found, "message")
    assert "so many notes" in (getattr(found, "query_note", "") or "")


def test_a_usual_word_is_ranked_over_all_that_holds_it(room: Room) -> None:
    for number in range(40):
        room.put(f"a/note-{number:02}.md", f"# Entry {number}\n\nThe kettle was hot.\n")
    found = _asked(room, "kettle", want=60)
    assert not found.plan.too_common
    assert len(found.rows) == 40


def test_a_short_word_alone_scores_as_if_its_list_was_gone_through_twice(room: Room) -> None:
    for number in range(6):
        room.put(f"a/{number}.md", f"# Entry {number}\n\nA tap, {'tap ' * number}here.\n")
    found = _asked(room, "tap", want=10)
    assert found.plan.doubled
    assert found.plan.expression == '"tap"'
    with room.index.public() as connection:
        twice = dict(
            connection.execute(
                "SELECT path, -bm25(terms, 8, 4, 2, 2, 1) FROM terms JOIN docs ON docs.id = terms.rowid"
                ' WHERE terms MATCH \'"tap" OR "tap"\''
            )
        )
    assert {row.path: pytest.approx(row.score) for row in found.rows} == twice
    assert len(twice) == 6


def test_a_client_with_part_of_the_vault_gets_only_that_part(narrow: Room) -> None:
    narrow.index.sweep(narrow.walk, narrow.look)
    part = Rights("part", frozenset({"read"}), read=Globs(("a/note-0*.md",)), private_paths=PRIVATE)
    found = search(narrow.index, narrow.look, narrow.walk, part, Asked("kettle"))
    paths = {hit.path for hit in getattr(found, "hits", ())}
    assert paths == {f"a/note-0{number}.md" for number in range(10)}
