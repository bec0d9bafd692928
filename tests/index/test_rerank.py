"""Close calls: only they are reordered, in time, by finite scores, and never by a private text."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from index.models import NO_MODELS, Models
from index.public import PublicText, public_text
from index.rerank import Reranker, Reranking
from index.waiting import Worker
from muninn.model import seams
from muninn.model.hits import Found
from muninn.searching import Asked, search

from .room import CLIENT, KEEPER, PRIVATE, Room, note_path
from .thinking import Judge, reranking, turned


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    seams.arm(None)


@pytest.fixture
def close(room: Room) -> Room:
    """Two notes that words hardly tell apart, and one that is far behind."""
    room.put("r/a.md", "# Backup window\n\nbackup window at night\n")
    room.put("r/b.md", "# Backup window\n\nbackup window at nighttime\n")
    room.put("r/far.md", "# Other\n\n" + "plain words about the weather and the sea. " * 30 + "one backup\n")
    room.sweep()
    return room


def ask(room: Room, models: Models, asked: Asked | str = "backup window", rights: object = CLIENT) -> Found:
    asked = Asked(asked) if isinstance(asked, str) else asked
    found = search(room.index, room.look, room.walk, rights, asked, models)  # type: ignore[arg-type]
    assert isinstance(found, Found)
    return found


def paths(found: Found) -> list[str]:
    return [hit.path for hit in found.hits]


def test_without_a_model_it_is_off(close: Room) -> None:
    assert ask(close, NO_MODELS).reranked == "off"


def test_a_close_call_is_reordered_and_scores_still_fall(close: Room) -> None:
    plain = ask(close, NO_MODELS)
    with reranking(turned()) as models:
        found = ask(close, models)
    assert (found.reranked, found.engine) == ("yes", "bm25")
    assert paths(found)[0] != paths(plain)[0]
    assert sorted(paths(found)) == sorted(paths(plain))
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_model_may_have_a_share_of_the_order_only(close: Room) -> None:
    worker = Worker[Reranker]("reranker", turned)
    assert worker.wait_ready(5)
    words = "which backup window is open"
    first, second, far = paths(ask(close, NO_MODELS, words))
    assert paths(ask(close, Models(reranking=Reranking(worker, 5.0)), words)) == [far, second, first]
    assert paths(ask(close, Models(reranking=Reranking(worker, 5.0, 0.5)), words)) == [second, first, far]
    worker.close()


def test_a_note_that_the_question_names_stays_first(room: Room) -> None:
    room.put("r/backup-window.md", "# Plan\n\nplain words\n")
    room.put("r/y.md", "# Backup window tonight\n\nplain words\n")
    room.put("r/z.md", "# Backup window tomorrow\n\nplain words\n")
    room.sweep()
    with reranking(turned()) as models:
        found = ask(room, models)
    assert found.reranked == "yes"
    assert paths(found) == ["r/backup-window.md", "r/z.md", "r/y.md"]


def test_scores_far_apart_are_never_reordered(close: Room) -> None:
    close.put("r/ferret.md", "# Ferret plan\n\nferret plan\n")
    close.put("r/zoo.md", "# Zoo\n\n" + "plain words about the weather and the sea. " * 30 + "one ferret\n")
    close.sweep()
    plain = ask(close, NO_MODELS, Asked("ferret plan", explain=True))
    first, second = (hit.explain or {} for hit in plain.hits[:2])
    assert second["bm25"] < 0.9 * first["bm25"]
    judge = turned()
    with reranking(judge) as models:
        found = ask(close, models, "ferret plan")
    assert (found.reranked, judge.calls, paths(found)) == ("no", [], paths(plain))


def test_close_is_judged_by_plain_bm25_and_not_by_the_boosted_score(room: Room) -> None:
    # The first is boosted for its title, which is the whole question; by BM25 the two are close.
    room.put("t/ferry.md", "# Ferry plan\n\nthe ferry plan of the harbour\n")
    room.put("t/other.md", "# Ferry plan two\n\nthe ferry plan of the harbour\n")
    room.sweep()
    plain = ask(room, NO_MODELS, Asked("ferry plan", explain=True))
    first, second = (hit.explain or {} for hit in plain.hits[:2])
    assert plain.hits[1].score < 0.9 * plain.hits[0].score
    assert second["bm25"] >= 0.9 * first["bm25"]
    with reranking(turned()) as models:
        assert ask(room, models, "ferry plan").reranked == "yes"


def test_only_the_best_fifteen_are_looked_at(room: Room) -> None:
    for number in range(30):
        room.put(f"m/n{number:02}.md", f"# Walrus\n\nwalrus watching on day {number}\n")
    room.sweep()
    judge = turned()
    plain = ask(room, NO_MODELS, Asked("walrus", limit=30))
    with reranking(judge) as models:
        found = ask(room, models, Asked("walrus", limit=30))
    assert found.reranked == "yes"
    assert len(judge.calls[0][1]) == 15
    assert paths(found)[15:] == paths(plain)[15:]
    assert paths(found)[:15] == paths(plain)[:15][::-1]


@pytest.mark.parametrize(
    "odd",
    [
        lambda count: [math.nan] * count,
        lambda count: [math.nan, *range(1, count)],
        lambda count: [math.inf, *range(1, count)],
        lambda count: list(range(count - 1)),
        lambda count: list(range(count + 1)),
        lambda count: ["high"] * count,
    ],
)
def test_what_is_no_finite_number_for_each_text_has_failed(close: Room, odd: Callable[[int], list[float]]) -> None:
    class Odd:
        def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
            return odd(len(texts))

    plain = ask(close, NO_MODELS)
    with reranking(Odd()) as models:
        found = ask(close, models)
    assert (found.reranked, paths(found)) == ("failed", paths(plain))


def test_one_score_for_all_is_no_opinion(close: Room) -> None:
    plain = ask(close, NO_MODELS)
    with reranking(Judge(lambda question, text: 0.0)) as models:
        found = ask(close, models)
    assert (found.reranked, paths(found)) == ("no", paths(plain))


def test_a_model_that_breaks_leaves_the_order(close: Room) -> None:
    def broken(question: str, text: str) -> float:
        raise RuntimeError(text)

    plain = ask(close, NO_MODELS)
    with reranking(Judge(broken)) as models:
        found = ask(close, models)
    assert (found.reranked, paths(found)) == ("failed", paths(plain))


def test_a_model_that_hangs_is_late_once_and_then_costs_nothing(close: Room) -> None:
    gate = threading.Event()
    with reranking(Judge(lambda question, text: float(gate.wait(30))), budget_s=1.0) as models:
        assert ask(close, models).reranked == "timeout"
        began = time.monotonic()
        assert [ask(close, models).reranked for _ in range(20)] == ["timeout"] * 20
        assert time.monotonic() - began < 10
        gate.set()


def test_a_model_on_its_way_says_loading(close: Room) -> None:
    gate = threading.Event()

    def load() -> Reranker:
        gate.wait(30)
        return turned()

    worker = Worker[Reranker]("reranker", load)
    models = Models(reranking=Reranking(worker))
    assert ask(close, models).reranked == "loading"
    gate.set()
    assert worker.wait_ready(5)
    assert ask(close, models).reranked == "yes"
    models.close()


def test_faults_put_their_scores_in_the_models_place(close: Room) -> None:
    seen: list[str] = []
    values: list[str | None] = [None, "nan", "one_nan", "zeros"]

    def hook(point: str, path: str | None) -> object:
        seen.append(point)
        return values.pop(0) if point == "reranker.call" else None

    seams.arm(hook)
    with reranking(turned()) as models:
        assert [ask(close, models).reranked for _ in range(4)] == ["yes", "failed", "failed", "no"]
    assert seen.count("reranker.call") == 4


def test_private_texts_stay_out_for_anyone_and_keep_their_place(close: Room) -> None:
    close.put("private/pay.md", "# Backup window salary\n\nbackup window with the salary zebra\n")
    close.sweep()
    for rights in (CLIENT, KEEPER):
        judge = turned()
        plain = ask(close, NO_MODELS, rights=rights)
        with reranking(judge) as models:
            found = ask(close, models, rights=rights)
        assert found.reranked == "yes"
        handed = [text for _, texts in judge.calls for text in texts]
        assert handed
        assert not [text for text in handed if "salary" in text.lower()]
        if rights is KEEPER:
            assert paths(found).index("private/pay.md") == paths(plain).index("private/pay.md")
        public = [path for path in paths(found) if not path.startswith("private/")]
        assert public != [path for path in paths(plain) if not path.startswith("private/")]


def test_a_private_note_beside_one_public_note_is_no_close_call(room: Room) -> None:
    room.put("private/one.md", "# Heron\n\nheron count\n")
    room.put("w/two.md", "# Heron\n\nheron count\n")
    room.sweep()
    judge = turned()
    with reranking(judge) as models:
        assert ask(room, models, "heron count", KEEPER).reranked == "no"
    assert judge.calls == []


def test_a_conflict_copy_stays_below_its_original(room: Room) -> None:
    room.put("c/list.md", "# Oyster\n\noyster beds in the bay\n")
    room.put("c/list (conflicted copy 2026-05-04).md", "# Oyster\n\noyster beds in the bay\n")
    room.put("c/more.md", "# Oyster\n\noyster beds in the bay, too\n")
    room.sweep()
    with reranking(turned()) as models:
        found = ask(room, models, "oyster beds")
    assert found.reranked == "yes"
    order = paths(found)
    assert order.index("c/list.md") < order.index("c/list (conflicted copy 2026-05-04).md")


def test_nobody_else_can_make_a_public_text() -> None:
    with pytest.raises(TypeError):
        PublicText("a private sentence")
    assert public_text(note_path("private/pay.md"), "x", PRIVATE.cover) is None
    made = public_text(note_path("w/a.md"), "open words", PRIVATE.cover)
    assert made is not None
    assert made.text == "open words"
    assert "open" not in repr(made)
