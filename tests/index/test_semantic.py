"""Notes by meaning: filled in the background, mixed with words, and never a private, retired or unseen note."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from index import filling, semantic, vectors
from index.filling import Filler, keep_filled
from index.models import Models
from index.public import PublicText
from index.semantic import Semantic
from index.vectors import FILE, Vectors
from index.waiting import Worker
from muninn.model.hits import Found
from muninn.model.rights import Globs, Rights
from muninn.searching import Asked, search

from .room import CLIENT, KEEPER, PRIVATE, Room
from .thinking import HashingEncoder, fill, semantic_of

SAME = {"automobile": "car", "saloon": "car", "motorcar": "car"}


@pytest.fixture
def encoder() -> HashingEncoder:
    return HashingEncoder(SAME)


@pytest.fixture
def garage(room: Room) -> Room:
    """One note that words cannot find: it says automobile and saloon where the question says car."""
    room.put("g/one.md", "# Automobile\n\nautomobile saloon automobile saloon\n")
    room.put("g/two.md", "# Ferry\n\nthe ferry leaves the harbour at seven and carries one car\n")
    room.put("g/three.md", "# Weather\n\nrain and wind over the bay\n")
    room.sweep()
    return room


@pytest.fixture
def by_meaning(garage: Room, encoder: HashingEncoder) -> Iterator[Semantic]:
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    yield made
    made.worker.close()


def ask(room: Room, by: Semantic, asked: Asked | str, rights: Rights = CLIENT) -> Found:
    asked = Asked(asked) if isinstance(asked, str) else asked
    found = search(room.index, room.look, room.walk, rights, asked, Models(semantic=by))
    assert isinstance(found, Found)
    return found


def paths(found: Found) -> list[str]:
    return [hit.path for hit in found.hits]


# --- ranking ---------------------------------------------------------------------------------------


def test_a_note_in_other_words_is_found_by_its_meaning(garage: Room, by_meaning: Semantic) -> None:
    assert "g/one.md" not in garage.hits("car")
    found = ask(garage, by_meaning, Asked("car", explain=True))
    assert found.engine == "hybrid"
    assert set(paths(found)[:2]) == {"g/one.md", "g/two.md"}
    hit = next(hit for hit in found.hits if hit.path == "g/one.md")
    assert hit.explain is not None
    assert hit.explain["cosine"] > 0.5
    assert "automobile" in hit.snippet
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_words_lead_where_a_note_holds_all_of_them_and_meaning_elsewhere(garage: Room, by_meaning: Semantic) -> None:
    assert paths(ask(garage, by_meaning, "car car car harbour"))[:2] == ["g/two.md", "g/one.md"]
    assert paths(ask(garage, by_meaning, "car car car zeppelin"))[0] == "g/one.md"


def test_a_hit_by_meaning_shows_the_passage_that_is_near(garage: Room, encoder: HashingEncoder) -> None:
    filler = "".join(f"plain padding line {number} about nothing at all\n" for number in range(60))
    cars = "motorcar saloon automobile " * 20
    garage.put("g/long.md", f"---\ntitle: Long\n---\n{filler}\n# Garage\n\n{cars}\n\n# End\n\n{filler}")
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    hit = next(hit for hit in ask(garage, made, "car").hits if hit.path == "g/long.md")
    assert "motorcar" in hit.snippet
    lines = (garage.root / "g/long.md").read_text().splitlines()
    assert lines[hit.start_line - 1].strip() == hit.snippet.splitlines()[0].strip()
    made.worker.close()


def test_what_is_far_away_is_no_hit(garage: Room, by_meaning: Semantic) -> None:
    assert paths(ask(garage, by_meaning, "qqzzxx")) == []


def test_without_vectors_of_most_notes_words_answer(garage: Room, encoder: HashingEncoder) -> None:
    made = semantic_of(encoder, garage.cache)
    assert ask(garage, made, "car").engine == "bm25"
    fill(made, garage, encoder)
    assert ask(garage, made, "car").engine == "hybrid"
    made.snapshot = replace(made.snapshot, share=semantic.LEAST_SHARE - 0.01)
    assert ask(garage, made, "car").engine == "bm25"
    made.worker.close()


def test_a_note_in_fewer_hits_stays_where_it_is_in_more(garage: Room, by_meaning: Semantic) -> None:
    for number in range(25):
        garage.put(f"many/n{number:02}.md", f"# Car {number}\n\ncar number {number}\n")
    garage.sweep()
    few, many = (ask(garage, by_meaning, Asked("car", limit=limit)) for limit in (3, 100))
    assert paths(many)[:3] == paths(few)
    assert few.more


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("g/old.md", "---\ntitle: Motorcar\ntype: note\nstatus: superseded\n---\n"),
        ("private/mine.md", "# Motorcar\n\n"),
        ("other/unseen.md", "# Motorcar\n\n"),
    ],
)
def test_who_may_not_be_a_hit_is_none_by_meaning_either(
    garage: Room, encoder: HashingEncoder, path: str, head: str
) -> None:
    garage.put(path, head + "motorcar saloon\n")
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    narrow = Rights("c", frozenset({"read"}), read=Globs(("g/",)), private_paths=PRIVATE)
    for limit in (1, 2, 10, 100):
        for _ in range(2):  # what a client sees is remembered
            found = ask(garage, made, Asked("car", limit=limit), narrow)
            assert found.engine == "hybrid"
            assert path not in paths(found)
            assert "g/one.md" in paths(found) or limit == 1
    if path.startswith("private/"):
        assert path not in paths(ask(garage, made, "car"))
    made.worker.close()


def test_notes_that_a_client_does_not_see_crowd_none_out(garage: Room, encoder: HashingEncoder) -> None:
    for number in range(50):
        garage.put(f"other/n{number:02}.md", f"# Car\n\nmotorcar saloon {number}\n")
    garage.put("g/further.md", "# Saloon\n\nsaloon painted green last spring\n")
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    narrow = Rights("c", frozenset({"read"}), read=Globs(("g/",)), private_paths=PRIVATE)
    found = paths(ask(garage, made, "car", narrow))
    assert "g/further.md" in found
    assert all(path.startswith("g/") for path in found)
    made.worker.close()


@pytest.mark.parametrize(
    "asked",
    [
        Asked("car", folder="h"),
        Asked("car", type="log"),
        Asked("car", tags=("boats",)),
        Asked("car", since="2130-01-01"),
        Asked("car", status="draft"),
    ],
)
def test_filters_leave_notes_out_by_meaning(garage: Room, by_meaning: Semantic, asked: Asked) -> None:
    assert "g/one.md" not in paths(ask(garage, by_meaning, asked))


def test_filters_let_the_right_notes_through(garage: Room, encoder: HashingEncoder) -> None:
    garage.put(
        "g/dated.md", "---\ntitle: Saloon\ntype: plan\nstatus: draft\ntags: [boats]\ndate: 2026-05-04\n---\nsaloon\n"
    )
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    asked = Asked(
        "car", folder="g", type="plan", status="draft", tags=("boats",), since="2026-05-04", until="2026-05-04"
    )
    assert paths(ask(garage, made, asked)) == ["g/dated.md"]
    made.worker.close()


def test_a_retired_note_is_no_hit_by_meaning_behind_a_filter_either(garage: Room, encoder: HashingEncoder) -> None:
    garage.put("g/old.md", "---\ntitle: Motorcar\nstatus: superseded\ntags: [boats]\n---\nmotorcar saloon\n")
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    assert "g/one.md" in paths(ask(garage, made, Asked("car", folder="g")))
    for asked in (Asked("car", folder="g", limit=100), Asked("car", tags=("boats",)), Asked("car", since="1990-01-01")):
        assert "g/old.md" not in paths(ask(garage, made, asked))
    made.worker.close()


def test_a_retired_note_is_found_by_meaning_where_its_status_is_asked_for(
    garage: Room, encoder: HashingEncoder
) -> None:
    garage.put("g/old.md", "---\ntitle: Motorcar\nstatus: superseded\n---\nmotorcar saloon\n")
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    assert paths(ask(garage, made, Asked("car", status="superseded"))) == ["g/old.md"]
    made.worker.close()


def test_a_vector_counts_only_for_the_bytes_it_was_made_of(garage: Room, by_meaning: Semantic) -> None:
    garage.put("g/one.md", "# Garden\n\nroses and tulips\n")
    garage.sweep()
    assert "g/one.md" not in paths(ask(garage, by_meaning, "car"))
    assert "g/one.md" in paths(ask(garage, by_meaning, "roses"))


def test_a_note_that_is_gone_or_changed_since_the_scan_is_no_hit(garage: Room, by_meaning: Semantic) -> None:
    garage.put("g/one.md", "# Garden\n\nroses and tulips\n")
    assert "g/one.md" not in paths(ask(garage, by_meaning, "car"))
    garage.remove("g/one.md")
    assert "g/one.md" not in paths(ask(garage, by_meaning, "car"))


def test_private_notes_are_placed_by_their_words_for_those_who_see_them(garage: Room, by_meaning: Semantic) -> None:
    garage.put("private/mine.md", "# Car\n\ncar papers\n")
    garage.sweep()
    assert "private/mine.md" in paths(ask(garage, by_meaning, "car papers", KEEPER))
    assert "private/mine.md" not in paths(ask(garage, by_meaning, "car papers"))


def test_a_question_whose_vector_is_late_is_answered_by_words_and_says_so(
    garage: Room, encoder: HashingEncoder
) -> None:
    gate = threading.Event()

    class Slow(HashingEncoder):
        def question(self, text: str) -> list[float]:
            gate.wait(30)
            return [1.0] * self.size

    made = semantic_of(Slow(SAME), garage.cache, budget_s=1.0)
    fill(made, garage, encoder)
    began = time.monotonic()
    for _ in range(20):
        found = ask(garage, made, "car")
        assert found.engine == "bm25"
        assert "by words alone" in (found.query_note or "")
        assert paths(found) == ["g/two.md"]
    assert time.monotonic() - began < 10
    gate.set()
    made.worker.close()


def test_an_encoder_that_breaks_leaves_the_words(garage: Room, encoder: HashingEncoder) -> None:
    class Broken(HashingEncoder):
        def question(self, text: str) -> list[float]:
            raise RuntimeError(text)

    made = semantic_of(Broken(SAME), garage.cache)
    fill(made, garage, encoder)
    assert ask(garage, made, "car").engine == "bm25"
    made.worker.close()


# --- filling ---------------------------------------------------------------------------------------


def test_no_private_text_becomes_a_vector(garage: Room, encoder: HashingEncoder) -> None:
    garage.put("private/pay.md", "# Salary zebra\n\nbudget talk\n")
    garage.put("g/zebra.md", "# Zebra\n\nopen budget\n")
    garage.sweep()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    handed = "\n".join(encoder.handed)
    assert "open budget" in handed
    assert "Salary" not in handed
    assert "budget talk" not in handed
    assert made.snapshot.matrix is not None
    assert not [path for path in made.snapshot.matrix.paths if path.startswith("private/")]
    made.worker.close()


def test_a_note_that_becomes_private_loses_its_vectors(tmp_path: Path, encoder: HashingEncoder) -> None:
    from index import Index, IndexSettings

    room = Room(tmp_path, IndexSettings(origin="open"))
    room.put("soon/pay.md", "# Salary\n\nsalary zebra\n")
    room.sweep()
    made = semantic_of(encoder, room.cache)
    fill(made, room, encoder)
    room.index.close()
    assert _kept(room) >= {"soon/pay.md"}
    room.index = Index(room.cache, Globs(("private/", "soon/")).cover, IndexSettings(origin="closed"))
    room.sweep()
    fill(made, room, encoder)
    assert "soon/pay.md" not in _kept(room)
    assert made.snapshot.matrix is not None
    assert "soon/pay.md" not in made.snapshot.matrix.paths
    made.worker.close()
    room.index.close()


def _kept(room: Room) -> set[str]:
    with sqlite3.connect(room.cache / FILE) as connection:
        found = {path for (path,) in connection.execute("SELECT path FROM notes")}
        shared = connection.execute(
            "SELECT (SELECT count(DISTINCT passage) FROM held), (SELECT count(*) FROM vectors)"
        ).fetchone()
    connection.close()
    assert shared[0] == shared[1], "a vector without a note"
    return found


def test_only_what_changed_is_made_anew_and_what_is_gone_is_dropped(garage: Room, encoder: HashingEncoder) -> None:
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    assert made.snapshot.share == 1.0
    encoder.handed.clear()
    fill(made, garage, encoder)
    assert encoder.handed == []
    garage.put("g/three.md", "# Weather\n\nsnow over the bay\n")
    garage.put("g/copy.md", "# Automobile\n\nautomobile saloon automobile saloon\n")
    garage.remove("g/two.md")
    garage.sweep()
    fill(made, garage, encoder)
    assert ["snow" in text for text in encoder.handed] == [True], "the copy shares its original's vector"
    assert "g/two.md" not in _kept(garage)
    garage.remove("g/one.md")
    garage.sweep()
    fill(made, garage, encoder)
    assert "g/copy.md" in paths(ask(garage, made, "car"))
    assert _kept(garage) >= {"g/copy.md"}
    made.worker.close()


def test_the_newest_and_most_linked_come_first(room: Room, encoder: HashingEncoder) -> None:
    for day in range(1, 8):
        room.put(
            f"d/day{day}.md", f"---\ntitle: Day {day}\ndate: 2030-01-0{day}\n---\nsomething on day {day}, see [[hub]]\n"
        )
    room.put("d/hub.md", "---\ntitle: Hub\ndate: 2030-01-07\n---\nthe middle of all\n")
    room.sweep()
    made = semantic_of(encoder, room.cache)
    fill(made, room, encoder)
    assert encoder.handed[0].startswith("Hub")
    assert encoder.handed[1].startswith("Day 7")
    assert encoder.handed[-1].startswith("Filler")
    made.worker.close()


def test_another_model_or_a_damaged_file_starts_anew(garage: Room, encoder: HashingEncoder) -> None:
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    count = len(encoder.handed)
    other = HashingEncoder(SAME, key="hashing-2")
    fill(made, garage, other)
    assert len(other.handed) == count
    (garage.cache / FILE).write_bytes(b"no database at all" * 100)
    fill(made, garage, other)
    assert len(other.handed) == 2 * count
    assert (garage.cache / FILE).stat().st_mode & 0o777 == 0o600
    made.worker.close()


def test_filling_goes_on_by_itself_and_ends_when_told(
    garage: Room, encoder: HashingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "EVERY_S", 0.02)
    made = Semantic(Worker("encoder", lambda: encoder), garage.cache)
    stop = threading.Event()
    thread = threading.Thread(target=keep_filled, args=(made, garage.index, garage.look, stop))
    thread.start()
    assert made.filled.wait(10)
    assert ask(garage, made, "car").engine == "hybrid"
    garage.put("g/new.md", "# Saloon\n\nanother saloon\n")
    garage.sweep()
    deadline = time.monotonic() + 10
    while "g/new.md" not in paths(ask(garage, made, "car")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    stop.set()
    thread.join(5)
    assert not thread.is_alive()
    made.worker.close()


def test_filling_outlives_a_model_that_breaks(
    garage: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(filling, "EVERY_S", 0.02)

    class Shy(HashingEncoder):
        def passages(self, texts: Sequence[PublicText]) -> Sequence[list[float]]:
            if len(self.handed) < 3:
                self.handed += ["refused"]
                raise RuntimeError(texts[0].text)
            return super().passages(texts)

    made = Semantic(Worker("encoder", lambda: Shy(SAME)), garage.cache)
    stop = threading.Event()
    thread = threading.Thread(target=keep_filled, args=(made, garage.index, garage.look, stop))
    thread.start()
    assert made.filled.wait(10)
    stop.set()
    thread.join(5)
    said = [row.getMessage() for row in caplog.records if "vectors cannot be made" in row.getMessage()]
    assert said == ["vectors cannot be made (RuntimeError); it will be tried again"]
    made.worker.close()


def test_a_vector_that_is_none_is_refused(garage: Room) -> None:
    class Odd(HashingEncoder):
        def passages(self, texts: Sequence[PublicText]) -> Sequence[list[float]]:
            return [[float("nan")] * self.size for _ in texts]

    made = semantic_of(HashingEncoder(), garage.cache)
    with pytest.raises(ValueError, match="expected 64 finite numbers"):
        fill(made, garage, Odd())
    made.worker.close()


def test_no_more_passages_than_the_memory_is_meant_for(
    garage: Room, encoder: HashingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MOST_IN_ALL", 5)
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    assert len(encoder.handed) == 5
    assert made.snapshot.share < 0.5
    assert ask(garage, made, "car").engine == "bm25"
    made.worker.close()


def test_the_report_makes_no_file(garage: Room, encoder: HashingEncoder) -> None:
    assert vectors.look_into(garage.cache) is None
    assert not (garage.cache / FILE).exists()
    made = semantic_of(encoder, garage.cache)
    fill(made, garage, encoder)
    kept = vectors.look_into(garage.cache)
    assert kept is not None
    assert kept.notes == 15
    assert kept.passages == 15
    made.worker.close()


def test_stopping_leaves_what_is_made(garage: Room, encoder: HashingEncoder) -> None:
    made = semantic_of(encoder, garage.cache)
    filler = Filler(made, garage.index, garage.look, encoder, rest=0.0)
    stop = threading.Event()
    stop.set()
    filler.fill(stop)
    filler.close()
    assert encoder.handed == []
    store = Vectors(garage.cache, encoder.key, encoder.size)
    assert store.matrix() is None
    store.close()
    made.worker.close()
