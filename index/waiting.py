"""Ask something slow without waiting for it longer than one has time: a model that loads, scores or hangs.

One thread of its own does the work, so a model that hangs costs that one thread and no other. Whoever asks waits no
longer than the time given; what comes later is dropped. Where the thread is stuck in a job that is overdue, or too many
wait already, the answer is ``LateError`` at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

MOST_WAITING: Final = 8
RETRY_S: Final = 60.0
"""A model that could not be loaded is tried again when somebody asks, but no sooner than that."""

_log = logging.getLogger("muninn.models")

State = Literal["idle", "loading", "ready", "failed", "closed"]


class NotReadyError(Exception):
    """The model is still being loaded."""


class LateError(Exception):
    """No answer in the time given."""


class FailedError(Exception):
    """The model could not be loaded, or broke while it worked. Carries the kind of error and no text of a note."""


@dataclass(slots=True)
class _Job(Generic[_R]):
    work: Callable[[Any], _R]
    due: float
    done: threading.Event = field(default_factory=threading.Event)
    value: _R | None = None
    error: str | None = None


class Promise(Generic[_R]):
    """An answer on its way."""

    def __init__(self, job: _Job[_R]) -> None:
        self._job = job

    def take(self) -> _R:
        """The answer. Raises LateError when its time is over, FailedError where the work broke."""
        job = self._job
        if not job.done.wait(max(0.0, job.due - time.monotonic())):
            raise LateError
        if job.error is not None:
            raise FailedError(job.error)
        return job.value  # type: ignore[return-value]


class Worker(Generic[_T]):
    """A thing that ``load`` makes, in a thread that nobody waits for longer than asked. Safe to use from any thread."""

    def __init__(self, name: str, load: Callable[[], _T]) -> None:
        self.name = name
        self._load = load
        self._state: State = "idle"
        self._jobs: deque[_Job[Any]] = deque()
        self._running: _Job[Any] | None = None
        self._failed_at = 0.0
        self._reason = ""
        self._thing: _T | None = None
        self._changed = threading.Condition()

    @property
    def state(self) -> State:
        return self._state

    @property
    def reason(self) -> str:
        """Why it could not be loaded, for the person at the machine."""
        return self._reason

    def start(self) -> None:
        """Begin to load, in the background. Nothing where that was begun; a failure is tried again after a while."""
        with self._changed:
            again = self._state == "failed" and time.monotonic() - self._failed_at >= RETRY_S
            if self._state != "idle" and not again:
                return
            self._state = "loading"
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def ask(self, work: Callable[[_T], _R], within_s: float) -> Promise[_R]:
        """Have something done by the loaded thing. Raises NotReadyError, FailedError or LateError at once."""
        self.start()
        now = time.monotonic()
        with self._changed:
            if self._state in ("idle", "loading"):
                raise NotReadyError
            if self._state != "ready":
                raise FailedError(self._reason or self._state)
            stuck = self._running is not None and self._running.due < now
            if stuck or len(self._jobs) >= MOST_WAITING:
                raise LateError
            job = _Job[_R](work, now + within_s)
            self._jobs.append(job)
            self._changed.notify_all()
        return Promise(job)

    def thing(self) -> _T:
        """What was loaded, for a thread that has time and may call it beside the worker. Raises NotReadyError."""
        if self._thing is None:
            raise NotReadyError
        return self._thing

    def wait_ready(self, within_s: float) -> bool:
        """Wait until it is loaded or has failed; whether it is loaded. For commands, not for questions."""
        self.start()
        with self._changed:
            self._changed.wait_for(lambda: self._state != "loading", within_s)
            return self._state == "ready"

    def close(self) -> None:
        """Take no more work. A job that hangs is left to its thread, which does not keep the process alive."""
        with self._changed:
            self._state = "closed"
            self._jobs.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            thing = self._load()
        except Exception as error:  # whatever a foreign package raises: the search goes on without it
            self._fail(error)
            return
        with self._changed:
            if self._state != "loading":
                return
            self._state, self._thing = "ready", thing
            self._changed.notify_all()
        while (job := self._next()) is not None:
            _do(job, thing, self.name)

    def _fail(self, error: Exception) -> None:
        with self._changed:
            if self._state == "loading":
                self._state, self._failed_at = "failed", time.monotonic()
                self._reason = f"{type(error).__name__}: {error}"[:300]
            self._changed.notify_all()
        _log.warning("%s could not be loaded (%s); the search goes on without it", self.name, self._reason)

    def _next(self) -> _Job[Any] | None:
        """The next job whose time is not over; None when there is no more work to do."""
        with self._changed:
            self._running = None
            while True:
                self._changed.wait_for(lambda: self._jobs or self._state == "closed")
                if self._state == "closed":
                    return None
                job = self._jobs.popleft()
                if job.due > time.monotonic():
                    self._running = job
                    return job


def _do(job: _Job[Any], thing: Any, name: str) -> None:
    try:
        job.value = job.work(thing)
    except Exception as error:  # as above; the text of a foreign error may hold a note's text, its kind cannot
        job.error = type(error).__name__
        _log.warning("%s failed (%s)", name, job.error)
    finally:
        job.done.set()
