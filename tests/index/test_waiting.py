"""Nobody waits for a model longer than asked, and a model that hangs costs one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from index import waiting
from index.waiting import MOST_WAITING, FailedError, LateError, NotReadyError, Promise, Worker


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Set at the end, so that whatever hangs on it goes on."""
    event = threading.Event()
    yield event
    event.set()


def ready(name: str = "model") -> Worker[str]:
    worker = Worker(name, lambda: "loaded")
    assert worker.wait_ready(5)
    return worker


def begun(worker: Worker[str], gate: threading.Event) -> Promise[bool]:
    """Work that hangs on the gate, and that has been begun."""
    started = threading.Event()

    def hang(thing: str) -> bool:
        started.set()
        return gate.wait(30)

    promise = worker.ask(hang, 30)
    assert started.wait(10)
    return promise


def test_what_was_loaded_does_the_work() -> None:
    worker = ready()
    assert worker.ask(lambda thing: thing.upper(), 5).take() == "LOADED"
    assert worker.thing() == "loaded"
    worker.close()


def test_while_it_loads_nobody_waits(gate: threading.Event) -> None:
    worker = Worker("model", lambda: gate.wait(30))
    began = time.monotonic()
    with pytest.raises(NotReadyError):
        worker.ask(lambda thing: thing, 5)
    with pytest.raises(NotReadyError):
        worker.thing()
    assert time.monotonic() - began < 1
    gate.set()
    assert worker.wait_ready(5)
    worker.close()


def test_work_that_breaks_says_the_kind_of_error_and_no_text() -> None:
    worker = ready()

    def work(thing: str) -> None:
        raise ValueError("a private sentence")

    with pytest.raises(FailedError) as failed:
        worker.ask(work, 5).take()
    assert str(failed.value) == "ValueError"
    assert worker.ask(len, 5).take() == 6
    worker.close()


def test_a_model_that_cannot_be_loaded_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def load() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no such folder")
        return "loaded"

    worker = Worker("model", load)
    assert not worker.wait_ready(5)
    assert "no such folder" in worker.reason
    with pytest.raises(FailedError):
        worker.ask(len, 5)
    assert len(tries) == 1
    monkeypatch.setattr(waiting, "RETRY_S", 0.0)
    assert worker.wait_ready(5)
    worker.close()


def test_a_late_answer_is_dropped_and_the_next_is_right(gate: threading.Event) -> None:
    worker = ready()
    slow = worker.ask(lambda thing: gate.wait(30), 0.05)
    with pytest.raises(LateError):
        slow.take()
    gate.set()
    deadline = time.monotonic() + 5
    while True:
        try:
            assert worker.ask(len, 5).take() == 6
            break
        except LateError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    worker.close()


def test_a_model_that_hangs_makes_nobody_else_wait_and_takes_no_second_thread(gate: threading.Event) -> None:
    worker = ready("hanging-model")
    hung = worker.ask(lambda thing: gate.wait(30), 0.05)
    with pytest.raises(LateError):
        hung.take()
    began = time.monotonic()
    for _ in range(200):
        with pytest.raises(LateError):
            worker.ask(len, 5)
    assert time.monotonic() - began < 1
    assert sum(thread.name == "hanging-model" for thread in threading.enumerate()) == 1
    worker.close()


def test_no_more_wait_than_a_few(gate: threading.Event) -> None:
    worker = ready()
    first = begun(worker, gate)
    waiting_ones = [worker.ask(len, 30) for _ in range(MOST_WAITING)]
    with pytest.raises(LateError):
        worker.ask(len, 30)
    gate.set()
    assert first.take()
    assert [promise.take() for promise in waiting_ones] == [6] * MOST_WAITING
    worker.close()


def test_work_whose_time_is_over_is_not_begun(gate: threading.Event) -> None:
    worker = ready()
    done: list[str] = []
    first = begun(worker, gate)
    late = worker.ask(lambda thing: done.append(thing), 0.05)
    with pytest.raises(LateError):
        late.take()
    gate.set()
    assert first.take()
    assert worker.ask(len, 5).take() == 6
    assert done == []
    worker.close()


def test_a_closed_worker_takes_nothing() -> None:
    worker = ready()
    worker.close()
    with pytest.raises(FailedError):
        worker.ask(len, 5)
