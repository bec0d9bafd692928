"""Search as a client sees it: plain words, rights before counts, text that matches its hash."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import IndexSettings
from muninn.model.content import ContentHash
from muninn.model.errors import VaultUnavailableError
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Globs, Rights
from muninn.searching import Asked
from tests.index.room import CLIENT, KEEPER, PRIVATE, Room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.index.close()


@pytest.fixture(scope="module")
def shared_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    room = Room(tmp_path_factory.mktemp("search"))
    room.put(
        "ops/canary.md",
        "---\ntitle: Canary gate\ntype: note\nstatus: active\ntags: [ops, canary-deploy]\ndate: 2026-05-04\n---\n"
        "the canary-deploy gate for v2.1 runs nightly, see JWT-123 and getUserName and a_b.c\n",
    )
    room.put("dev/langs.md", "---\ntitle: Interop\ntype: Note\n---\nC++ and node.js over a 90 km/h link\n")
    room.put("home/panic.md", "---\ntitle: \"Don't panic\"\n---\na towel is enough, don't panic\n")
    room.put("misc/bool.md", "---\ntitle: Truth tables\n---\nNEAR OR AND NOT are words here\n")
    room.put("dev/colon.md", "---\ntitle: Notes\n---\nstd::vector and title: gate of the park\n")
    room.put("zh/patrol.md", '---\ntitle: "园区"\n---\n园区夜间巡逻值班安排\n')
    room.put("ja/minutes.md", "---\ntitle: Minutes\n---\n倉庫の棚卸しは毎月末に行う。\n")
    room.put("ko/plan.md", "---\ntitle: Plan\n---\n서버백업계획을 세운다\n")
    room.put("tr/city.md", "---\ntitle: Isparta\n---\nISPARTA ılık çiçek\n")
    room.put("de/haus.md", "---\ntitle: Häuser\n---\nGrüße aus den Häusern\n")
    room.sweep()
    yield room
    room.index.close()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("canary-deploy", "ops/canary.md"), ("don't panic", "home/panic.md"), ("don’t panic", "home/panic.md"),
        ("C++", "dev/langs.md"), ("km/h", "dev/langs.md"), ("node.js", "dev/langs.md"), ("v2.1", "ops/canary.md"),
        ('"unclosed canary', "ops/canary.md"), ("(canary", "ops/canary.md"), ("^canary", "ops/canary.md"),
        ("canary*", "ops/canary.md"), ("- canary", "ops/canary.md"), ("canary AND", "ops/canary.md"),
        ("NEAR(canary gate", "ops/canary.md"), ("std::vector", "dev/colon.md"), ("tags:ops", "ops/canary.md"),
        ("{title}: towel", "home/panic.md"), ("canary\0deploy", "ops/canary.md"), ("夜间巡逻", "zh/patrol.md"),
        ("值班", "zh/patrol.md"), ("班", "zh/patrol.md"), ("棚卸し", "ja/minutes.md"), ("백업", "ko/plan.md"),
        ("巡逻", "zh/patrol.md"), ("巡", "zh/patrol.md"), ("园", "zh/patrol.md"), ("毎月", "ja/minutes.md"),
        ("倉", "ja/minutes.md"), ("계획", "ko/plan.md"), ("획", "ko/plan.md"), ("夜间 值班", "zh/patrol.md"),
        ("jwt-123", "ops/canary.md"), ("JWT", "ops/canary.md"), ("user name", "ops/canary.md"),
        ("a_b.c", "ops/canary.md"), ("nightly runs", "ops/canary.md"),
        ("isparta", "tr/city.md"), ("ılik", "tr/city.md"), ("cicek", "tr/city.md"), ("hauser", "de/haus.md"),
        ("canry", "ops/canary.md"), ("towle", "home/panic.md"), ("towels", "home/panic.md"),
    ],
)  # fmt: skip
def test_plain_words_find_the_note(shared_room: Room, query: str, first: str) -> None:
    found = shared_room.ask(query)
    assert not found.degraded
    assert found.engine == "bm25"
    assert found.hits[0].path == first


@pytest.mark.parametrize("query", ["OR", "AND", "NOT", "foo:bar", "*", "NEAR", "a" * 5000, "x" * 70 + "!"])
def test_operators_are_words(shared_room: Room, query: str) -> None:
    assert not shared_room.ask(query).degraded


def test_a_colon_changes_nothing(shared_room: Room) -> None:
    assert shared_room.ask("title: gate").hits == shared_room.ask("title gate").hits


@pytest.mark.parametrize("query", ["", "   ", ":", "...", "**", "()", '"', "—", "\0", "\u200b"])
def test_no_words_means_no_hits_and_a_note(shared_room: Room, query: str) -> None:
    found = shared_room.ask(query)
    assert found.hits == ()
    assert found.query_note
    assert found.confidence == "none"


def test_a_title_with_more_words_than_the_question_is_not_named_by_it_but_articles_stand_for_nothing(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, fillers=9)
    room.put("old.md", "---\ntitle: Token library choice\n---\nthe first token library for token checks, token token\n")
    room.put("new.md", "---\ntitle: Token library now\n---\nuse the second library for checks\n")
    room.put("portal.md", "---\ntitle: The harbour doors\n---\nbells\n")
    room.put("list.md", "---\ntitle: Harbour doors list\n---\nharbour doors: harbour door, doors of a harbour\n")
    room.sweep()
    assert room.hits("token library")[0] == "old.md"
    portal, listed = room.ask("harbour doors").hits[:2]
    assert (portal.path, listed.path) == ("portal.md", "list.md")
    assert portal.score > 1.2 * listed.score
    room.index.close()


def test_before_the_first_scan_the_files_are_searched_and_no_index_is_called_broken(tmp_path: Path) -> None:
    room = Room(tmp_path, fillers=3)
    room.put("a.md", "---\ntitle: Harbour\n---\ndoors\n")
    (warning,) = room.ask("harbour doors").warnings
    assert (warning.code, "for the first time" in warning.message) == ("degraded", True)
    room.index.close()
    room.sweep()
    assert room.ask("harbour doors").warnings == ()
    room.index.close()


def test_common_words_alone_look_through_titles_and_say_so(shared_room: Room) -> None:
    found = shared_room.ask("not")
    assert found.query_note is not None
    assert "common words" in found.query_note


def test_over_64_words_the_rest_is_cut_and_said(shared_room: Room) -> None:
    found = shared_room.ask(" ".join(f"word{number}" for number in range(20_000)) + " canary")
    assert "64" in (found.query_note or "")
    assert found.hits == ()
    assert shared_room.ask("canary " + " ".join(f"word{number}" for number in range(63))).query_note is not None
    assert "64" not in (shared_room.ask("canary " + "gate " * 63).query_note or "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120)
@given(st.text(max_size=80) | st.text(alphabet="\"*()^:{}-+AND OR NOT NEAR canary'", max_size=60))
def test_no_query_is_an_error(shared_room: Room, query: str) -> None:
    found = shared_room.ask(query)
    assert not found.degraded
    assert found.hits or found.query_note or found.confidence in ("none", "low")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (Asked("x", limit=0), "limit"), (Asked("x", limit=101), "limit"), (Asked("x", since="2026-02-30"), "since"),
        (Asked("x", until="yesterday"), "until"), (Asked("x", since="20260101"), "since"),
        (Asked("x", folder="../up"), "folder"), (Asked("x", folder=".git"), "folder"),
        (Asked("x", folder="/abs"), "folder"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_by_name(room: Room, asked: Asked, named: str) -> None:
    refusal = room.refuse(asked)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert refusal.message.startswith(named)


def test_snippet_stands_in_the_file_on_the_lines_it_names(room: Room) -> None:
    lines = [f"line {number} speaks of many things and of nothing in particular" for number in range(80)]
    lines[50] = "here the quokka lives and eats"
    text = "---\ntitle: Zoo\ntags: [zoo, list]\n---\n" + "\r\n".join(lines)
    room.put("zoo.md", text)
    room.sweep()
    (hit,) = room.ask("quokka lives").hits
    raw = (room.root / "zoo.md").read_bytes()
    assert hit.source_hash == ContentHash.of(raw)
    assert len(hit.snippet) <= 400
    assert "quokka" in hit.snippet
    named = "\n".join(raw.decode().split("\n")[hit.start_line - 1 : hit.end_line])
    assert hit.snippet in named
    assert hit.start_line == 55


def test_snippet_of_one_endless_line(room: Room) -> None:
    room.put("long.md", "word " * 5000 + "quokka " + "tail " * 5000)
    room.sweep()
    (hit,) = room.ask("quokka").hits
    assert "quokka" in hit.snippet
    assert len(hit.snippet) <= 400
    assert (hit.start_line, hit.end_line) == (1, 1)


def test_a_changed_file_is_answered_with_its_new_text_or_not_at_all(room: Room) -> None:
    path = room.put("a.md", "# A\n\nthe quokka sleeps\n")
    room.sweep()
    room.put("a.md", "# B\n\nnow the quokka runs\n")
    (hit,) = room.ask("quokka").hits
    assert hit.title == "B"
    assert "runs" in hit.snippet
    assert hit.source_hash == ContentHash.of((room.root / "a.md").read_bytes())
    room.put("a.md", "# C\n\nnothing of it\n")
    assert room.hits("quokka") == []
    room.put("a.md", "---\nstatus: archived\n---\nquokka\n")
    assert room.hits("quokka") == []
    room.remove(path)
    assert room.hits("quokka") == []


def test_a_changed_file_must_still_fit_the_filters(room: Room) -> None:
    room.put("a.md", "---\ntype: plan\n---\nquokka\n")
    room.sweep()
    assert room.hits(Asked("quokka", type="plan")) == ["a.md"]
    room.put("a.md", "---\ntype: idea\n---\nquokka\n")
    assert room.hits(Asked("quokka", type="plan")) == []


def test_filters(room: Room) -> None:
    head = "---\ntitle: T{0}\ntype: {1}\nstatus: {2}\ntags: [{3}]\ndate: {4}\n---\nquokka\n"
    room.put("a/one.md", head.format(1, "note", "active", "red, blue", "2026-01-10"))
    room.put("a/b/two.md", head.format(2, "Plan", "Active", "red, green", "2026-02-10T10:00:00Z"))
    room.put("ab/three.md", head.format(3, "note", "draft", "Blue, red", "2026-03-10"))
    dated = room.put("c/four.md", "quokka\n")
    os.utime(room.root / dated, (1_767_225_600, 1_767_225_600))  # 2026-01-01 in UTC
    room.sweep()

    def hits(**filters: object) -> list[str]:
        return sorted(room.hits(replace(Asked("quokka"), **filters)))  # type: ignore[arg-type]

    assert hits(folder="a") == ["a/b/two.md", "a/one.md"]
    assert hits(folder="a/b/") == ["a/b/two.md"]
    assert hits(type="plan") == ["a/b/two.md"]
    assert hits(status="active") == ["a/b/two.md", "a/one.md"]
    assert hits(tags=("red", "blue")) == ["a/one.md", "ab/three.md"]
    assert hits(tags=("#green",)) == ["a/b/two.md"]
    assert hits(since="2026-01-10", until="2026-02-10") == ["a/b/two.md", "a/one.md"]
    assert hits(until="2026-01-01") == ["c/four.md"]
    assert hits(folder="nowhere") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 10, 50, 100])
def test_retired_notes_are_left_out_before_scoring(room: Room, limit: int) -> None:
    for number in range(5):
        room.put(
            f"old/r{number}.md", f"---\nstatus: {'Superseded' if number % 2 else 'archived'}\n---\n" + "quokka " * 9
        )
        room.put(f"new/n{number}.md", f"quokka once among other words, number {number}\n")
    room.sweep()
    found = room.ask(Asked("quokka", limit=limit))
    assert len(found.hits) == min(5, limit)
    assert all(hit.path.startswith("new/") for hit in found.hits)
    assert "5 retired" in (found.query_note or "")
    named = room.ask(Asked("quokka", status="archived", limit=limit))
    assert {hit.status for hit in named.hits} == {"archived"}
    assert "retired" not in (named.query_note or "")


def test_logs_count_half(room: Room) -> None:
    room.put("logs/2026-05-04.md", "quokka quokka here\n")
    room.put("notes/animal.md", "quokka quokka here\n")
    room.put("notes/diary.md", "---\ntype: daily\n---\nquokka quokka here\n")
    room.sweep()
    assert room.hits("quokka")[0] == "notes/animal.md"
    worth = {hit.path: (hit.explain or {})["bm25"] for hit in room.ask(Asked("quokka", explain=True)).hits}
    assert worth["notes/diary.md"] == pytest.approx(worth["notes/animal.md"] / 2, rel=0.1)
    assert worth["logs/2026-05-04.md"] < 0.7 * worth["notes/animal.md"]


def test_conflict_copies_rank_below_their_original(room: Room) -> None:
    room.put("a (conflicted copy 2026-05-04).md", "# A\n\nquokka quokka quokka quokka\n")
    room.put("b.sync-conflict-20260504-1.md", "quokka quokka\n")
    room.put("a.md", "# A\n\nquokka and much more text that makes it longer\n")
    room.put("b.md", "quokka and much more text that makes it longer\n")
    room.sweep()
    found = room.ask("quokka")
    order = [hit.path for hit in found.hits]
    assert order.index("a.md") < order.index("a (conflicted copy 2026-05-04).md")
    assert order.index("b.md") < order.index("b.sync-conflict-20260504-1.md")
    assert [warning.code for warning in found.warnings] == ["conflict_copy"]
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_order_is_the_same_every_time_and_a_larger_limit_only_adds(room: Room) -> None:
    for number in range(30):
        room.put(f"same/n{number:02}.md", "quokka stands here\n")
    room.sweep()
    whole = room.hits(Asked("quokka", limit=100))
    assert whole == sorted(whole)
    assert len(whole) == 30
    for limit in (1, 10, 25):
        found = room.ask(Asked("quokka", limit=limit))
        assert [hit.path for hit in found.hits] == whole[:limit]
        assert found.more
    assert not room.ask(Asked("quokka", limit=30)).more


def test_an_answer_is_at_most_32_kib(room: Room) -> None:
    for number in range(100):
        room.put(f"big/n{number:02}.md", f"---\ntitle: {'長い題名' * 40}\n---\nquokka {'漢字' * 400}\n")
    room.sweep()
    found = room.ask(Asked("quokka", limit=100))
    assert len(json.dumps(asdict(found), ensure_ascii=False).encode()) <= 32 * 1024
    assert found.hits
    assert found.more


def test_private_notes_are_not_there_without_the_scope(room: Room) -> None:
    room.put("w/zebra.md", "the zebra budget\n")
    room.sweep()
    before = room.ask(Asked("zebra salary budget", limit=1))
    room.put("private/salary.md", "# Salary of the zebra\n\nzebra budget salary zebra\n")
    room.put("private/old.md", "---\nstatus: archived\n---\nzebra\n")
    room.sweep()
    after = room.ask(Asked("zebra salary budget", limit=1))
    assert replace(before, index_age_s=None) == replace(after, index_age_s=None)
    assert set(room.hits("zebra salary budget", KEEPER)) == {"w/zebra.md", "private/salary.md"}
    assert "1 retired" in (room.ask("zebra", KEEPER).query_note or "")


def test_read_globs_hold_before_the_limit_and_before_counting(room: Room) -> None:
    for number in range(40):
        room.put(f"hidden/n{number}.md", "quokka quokka quokka\n")
        room.put(f"hidden/r{number}.md", "---\nstatus: archived\n---\nquokka\n")
    room.put("seen/a.md", "a quokka in a longer line of text than the others have\n")
    room.sweep()
    narrow = Rights("n", frozenset({"read"}), read=Globs(("seen/**",)), private_paths=PRIVATE)
    found = room.ask(Asked("quokka", limit=1), narrow)
    assert [hit.path for hit in found.hits] == ["seen/a.md"]
    assert not found.more
    assert found.query_note is None


def test_confidence_names_the_words_that_no_hit_holds(room: Room) -> None:
    room.put("a.md", "# Battery\n\nthe inverter battery is charged at night\n")
    room.sweep()
    sure = room.ask("when is the inverter battery charged")
    assert sure.confidence == "high"
    assert sure.query_note is None
    unsure = room.ask("zymurgy kiosk opening of the inverter")
    assert unsure.confidence in ("low", "none")
    assert "zymurgy" in (unsure.query_note or "")
    assert room.ask("zymurgy").confidence == "none"


def test_folder_page_block_is_not_searched(room: Room) -> None:
    page = "# Index\n\nownwords\n\n<!-- muninn:index -->\n- [[a/x|quokka]] – quokka line\n<!-- /muninn:index -->\n"
    room.put("a/index.md", page)
    room.put("a/other.md", page.replace("ownwords", "elsewhere"))
    room.sweep()
    assert room.hits("quokka") == ["a/other.md"]
    (hit,) = room.ask("ownwords").hits
    assert hit.path == "a/index.md"
    assert hit.snippet in page


def test_without_a_vault_there_is_no_answer(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.sweep()
    room.gone = True
    with pytest.raises(VaultUnavailableError):
        room.ask("quokka")
    with pytest.raises(VaultUnavailableError):
        room.sweep()
    room.gone = False
    assert room.hits("quokka") == ["a.md"]


def test_a_file_that_cannot_be_read_is_no_hit(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.put("b.md", "quokka\n")
    room.sweep()
    room.unreadable.add("a.md")
    assert room.hits("quokka") == ["b.md"]


def test_title_in_other_languages(tmp_path: Path) -> None:
    room = Room(tmp_path, IndexSettings(language="spanish"))
    room.put("a.md", "# Corazón\n\nlas canciones del corazón\n")
    room.sweep()
    assert room.hits("canción corazon", CLIENT) == ["a.md"]
    room.index.close()


def test_more_tags_than_the_index_can_be_asked_for_are_refused(shared_room: Room) -> None:
    asked = Asked("canary", tags=tuple(f"t{number}" for number in range(2_000)))
    refusal = shared_room.refuse(asked)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert "tags" in refusal.message
    assert not shared_room.ask(Asked("canary", tags=("ops",) * 2_000)).degraded


def test_of_a_very_long_query_the_beginning_counts(shared_room: Room) -> None:
    began = time.process_time()
    found = shared_room.ask("canary " + "a_" * 400_000 + " panic")
    assert time.process_time() - began < 1
    assert [hit.path for hit in found.hits] == ["ops/canary.md"]
    assert "only the first 16,384 characters were read" in (found.query_note or "")
