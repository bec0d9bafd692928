"""What an answer says of itself: names looked up, words mended, signals, and why a named note is not among the hits."""

from __future__ import annotations

import doctest
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muninn import explaining
from muninn.model.rights import Globs, Rights
from muninn.searching import Asked
from tests.index.room import CLIENT, KEEPER, PRIVATE, Room

NARROW = Rights("narrow", frozenset({"read"}), read=Globs(("seen/**",)), private_paths=PRIVATE)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    made = Room(tmp_path_factory.mktemp("explaining"))
    for number in range(40):
        made.put(f"plans/p{number:02}.md", f"# Plan for the plan of {number}\n\nplan plan plan, the plan of the plan\n")
    made.put(
        "plans/plan.md", "---\ntitle: Overview\n---\nOne sentence about something else, long enough to weigh little.\n"
    )
    made.put("seen/threshold.md", "# Surge threshold\n\nthe number that rings a harbour\n")
    made.put("seen/numbers.md", "# Numbers\n\nsurge surge threshold threshold surge threshold harbour\n")
    made.put("seen/alias.md", "---\ntitle: Lock gates\naliases: [Big Door, schleusentor]\n---\nthey open twice a day\n")
    made.put("old/threshold-2019.md", "---\ntitle: Former threshold\nstatus: superseded\n---\nsurge threshold of old\n")
    made.put("seen/depot.md", "# Depot\n\nThe interface of it; it interferes with others, interfering a lot\n")
    made.put("seen/speed.md", "# Speed\n\ninterference interfered\n")
    made.put("hidden/quokka.md", "# Quokka\n\nthe quokka quokka wombat\n")
    made.put("hidden/quokka2.md", "# More\n\nthe quokka again\n")
    made.put("private/quokka.md", "# Quokka\n\nprivate quokka and the platypus\n")
    made.put("private/platypus.md", "# Platypus list\n\nplatypus platypus\n")
    made.sweep()
    yield made
    made.index.close()


def note_of(room: Room, query: str, rights: Rights = CLIENT) -> str:
    return room.ask(query, rights).query_note or ""


def named(room: Room, asked: Asked, rights: Rights = CLIENT) -> list[dict[str, Any]]:
    found = room.ask(replace(asked, explain=True), rights)
    assert found.explain is not None
    told: list[dict[str, Any]] = found.explain["named"]
    return told


def test_examples_of_the_docstrings_run() -> None:
    assert doctest.testmod(explaining).failed == 0


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("plan", "plans/plan.md"), ("PLAN", "plans/plan.md"), ("surge threshold", "seen/threshold.md"),
        ("Surge-Threshold", "seen/threshold.md"), ("big door", "seen/alias.md"), ("Schleusentor", "seen/alias.md"),
        ("lock gates", "seen/alias.md"), ("numbers", "seen/numbers.md"), ("overview", "plans/plan.md"),
    ],
)  # fmt: skip
def test_a_short_question_that_is_a_name_is_looked_up(room: Room, query: str, path: str) -> None:
    assert room.hits(Asked(query, limit=1)) == [path]


def test_a_name_that_filters_leave_out_is_told_with_the_reason(room: Room) -> None:
    assert "old/threshold-2019.md bears this name and is left out: it is retired (status superseded)" in note_of(
        room, "former threshold"
    )
    elsewhere = room.ask(Asked("surge threshold", folder="plans")).query_note or ""
    assert "seen/threshold.md bears this name and is left out: it is not in the folder plans" in elsewhere
    shown = room.ask(Asked("former threshold", status="superseded"))
    assert [hit.path for hit in shown.hits] == ["old/threshold-2019.md"]
    assert "bears this name" not in (shown.query_note or "")


def test_names_of_notes_that_a_client_may_not_see_are_no_names(room: Room) -> None:
    for query in ("platypus list", "quokka"):
        assert "platypus" not in str(room.ask(Asked(query, folder="seen"), CLIENT).query_note or "").replace(
            "no hit holds: platypus", ""
        )
    assert "bears this name" not in (room.ask(Asked("quokka", folder="seen"), NARROW).query_note or "")
    assert "bears this name" not in (room.ask(Asked("platypus list", folder="seen"), CLIENT).query_note or "")
    assert "private/platypus.md bears" in (room.ask(Asked("platypus list", folder="seen"), KEEPER).query_note or "")


def test_a_mistyped_word_is_mended_and_said(room: Room) -> None:
    assert "did you mean threshold for treshold?" in note_of(room, "surge treshold of the harbour")
    assert "did you mean harbour for habrour?" in note_of(room, "habrour number")
    assert set(room.hits("habrour number")) >= {"seen/threshold.md", "seen/numbers.md"}
    assert "did you mean" not in note_of(room, "surge threshold of the harbour")
    # A word that only begins alike is found, and is no mending.
    assert "did you mean interface for interfase?" in note_of(room, "interfase depot")


def test_what_a_word_was_taken_for_comes_from_notes_the_client_sees(room: Room) -> None:
    assert "did you mean Quokka for quoka?" in note_of(room, "quoka")
    assert "did you mean" not in note_of(room, "quoka", NARROW)
    assert "did you mean" not in note_of(room, "platypu harbour", CLIENT)
    assert "did you mean Platypus for platpus?" in note_of(room, "platpus", KEEPER)


def test_each_hit_tells_its_signals(room: Room) -> None:
    found = room.ask(Asked("surge threshold harbours", explain=True))
    first = found.hits[0].explain
    assert first is not None
    assert set(first) == {"bm25", "near", "passage", "title", "words", "named", "log"}
    assert first["words"] == ["surge", "threshold", "harbours"]
    assert found.explain is not None
    assert {row["word"]: row["hits"] for row in found.explain["words"]}["harbours"] == 2
    assert found.explain["languages"] == ["english"]
    assert room.ask("surge threshold").explain is None
    assert room.ask("surge threshold").hits[0].explain is None


def test_a_named_note_is_told_about(room: Room) -> None:
    def why(query: str, rights: Rights = CLIENT, **filters: object) -> tuple[str | None, str]:
        (row,) = named(room, replace(Asked(query), **filters), rights)  # type: ignore[arg-type]
        return row["path"], row["why"]

    assert why("surge threshold [[numbers]]") in (
        ("seen/numbers.md", "it is hit 2"),
        ("seen/numbers.md", "it is hit 1"),
    )
    assert why("surge [[Former threshold]]")[1] == "there is no note of this name"
    assert why("surge [[threshold-2019]]") == ("old/threshold-2019.md", "it is retired (status superseded)")
    assert why("surge old/threshold-2019.md")[1] == "it is retired (status superseded)"
    assert why("surge [[alias|the gates]]") == ("seen/alias.md", "it holds none of the words that were looked for")
    assert why("plan [[p07]]", limit=1)[1].startswith("its words put it at place ")
    assert why("surge [[alias]]", folder="plans")[1] == "it is not in the folder plans"
    assert why("surge [[alias]]", type="x", tags=("y",))[1] == "it is not of the type x and tags y"
    assert why("surge [[alias]]", since="2999-01-01")[1].endswith("is before 2999-01-01")
    assert why("surge [[alias]]", until="1999-01-01")[1].endswith("is after 1999-01-01")


def test_a_marked_name_is_not_searched_for(room: Room) -> None:
    with_name = room.ask(Asked("surge threshold [[quokka]]", explain=True))
    without = room.ask(Asked("surge threshold", explain=True))
    assert [hit.path for hit in with_name.hits] == [hit.path for hit in without.hits]
    # A query that is nothing but the name still has something to look for.
    assert room.ask(Asked("[[quokka]]", explain=True)).hits[0].path == "hidden/quokka.md"


def test_a_note_that_may_not_be_seen_is_told_of_as_one_that_is_not_there(room: Room) -> None:
    def row(name: str, rights: Rights) -> dict[str, Any]:
        return named(room, Asked(f"surge [[{name}]]"), rights)[0] | {"name": "-"}

    absent = {"name": "-", "path": None, "why": "there is no note of this name"}
    assert row("no-such-note", NARROW) == absent
    assert row("hidden/quokka2", NARROW) == absent
    assert row("private/platypus", NARROW) == absent
    assert row("private/platypus", CLIENT) == absent
    assert row("private/platypus", KEEPER)["path"] == "private/platypus.md"


def test_at_most_five_names_are_told_about(room: Room) -> None:
    assert len(named(room, Asked("surge " + " ".join(f"[[n{number}]]" for number in range(50))))) == 5


def test_a_broken_index_says_that_it_cannot_say(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.put("a.md", "# A\n\nquokka\n")
    found = room.ask(Asked("quokka [[b]]", explain=True))
    assert found.degraded
    assert found.explain is not None
    assert found.explain["named"] == [{"name": "b", "path": None, "why": "the index cannot say just now"}]
    room.index.close()


def test_names_are_found_in_linear_time() -> None:
    began = time.process_time()
    words, names = explaining.split("a" * 30_000 + " ops/" + "b" * 30_000 + ".mdx x.md.md, y.md")
    assert time.process_time() - began < 1  # nine seconds, where each place is tried to the end of its run
    assert len(words) > 60_000
    assert names == ("x.md.md", "y.md")


def test_a_name_that_no_note_can_bear_is_none() -> None:
    assert explaining.split("a" * 1001 + ".md")[1] == ()


@pytest.mark.parametrize("filters", [{"type": "t" * 50_000}, {"status": "t" * 50_000}, {"tags": ("t" * 50_000,)}])
def test_long_filters_are_not_told_back_whole(room: Room, filters: dict[str, Any]) -> None:
    found = room.ask(Asked("surge threshold", explain=True, **filters))
    assert "is left out: it is not of the" in (found.query_note or "")
    assert len(json.dumps(found.query_note)) < 2_000


def narrow_answers(folder: Path, hidden: str) -> list[tuple[str, list[str], str | None]]:
    """What a client with narrow globs gets for words near ``harbour`` and ``Hafenschule``, where hidden notes hold
    these words."""
    folder.mkdir()
    made = Room(folder)
    made.put("seen/one.md", "# One\n\nthe harbour is in the north of it, and it is deep\n")
    made.put(
        "seen/zwei.md", "# Zwei\n\ndas ist nicht der Rand, und auch nicht die Tiefe von einem Hafen mit Hafenschule\n"
    )
    for number in range(4):
        made.put(f"hidden/{number}.md", f"# Das ist auch {number}\n\nund nicht die, von der {hidden}\n")
    made.sweep()
    queries = ("hrabour", "habrour north", "ist das auch nicht die schule", "ist das auch nicht die Hafentiefe")
    found = [(query, made.ask(query, NARROW)) for query in queries]
    made.index.close()
    return [(query, [hit.path for hit in one.hits], one.query_note) for query, one in found]


@pytest.mark.parametrize(
    "hidden", ["hrabour habrour", "hrxbour hrbour hraboux", "altschule neuschule ostschule", "hafentiefe schule"]
)
def test_no_mending_tells_which_words_stand_in_notes_that_may_not_be_seen(tmp_path: Path, hidden: str) -> None:
    plain = narrow_answers(tmp_path / "plain", "nothing at all")
    assert plain[0][1] == ["seen/one.md"]
    assert plain[2][1] == plain[3][1] == ["seen/zwei.md"]
    assert narrow_answers(tmp_path / "other", hidden) == plain
