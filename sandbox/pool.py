"""A few children that wait, warm, for a script; each runs one and is replaced in the background.

One thread of its own starts them all, because a child dies with the thread that started it; another waits for the
killed ones, so that no answer does. Nothing is started before the first script comes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Final

from . import process
from .process import Child, NoEngineError

log = logging.getLogger("muninn.sandbox")

WARM: Final = 2
_AT_ONCE: Final = 4
_WAIT_S: Final = 20.0
_PAUSE_S: Final = 0.5


@dataclass(slots=True)
class Pool:
    """Children by the pair. Not started until ``take`` is called; ``close`` kills the ones that wait or run."""

    most_line: int
    most_bytes: int
    _turn: threading.Condition = field(default_factory=threading.Condition)
    _ready: deque[Child] = field(default_factory=deque)
    _out: dict[int, Child] = field(default_factory=dict)
    _line: deque[object] = field(default_factory=deque)
    """Those who wait for a child, first come first."""
    _fault: NoEngineError | None = None
    _dying: SimpleQueue[Child | None] = field(default_factory=SimpleQueue)
    _threads: tuple[threading.Thread, ...] = ()
    _closed: bool = False
    _walled: bool | None = None

    @property
    def is_walled(self) -> bool:
        """Whether bwrap stands around the children; known once the first was started."""
        return bool(self._walled)

    @property
    def taken(self) -> int:
        """How many children are out now, each with a script."""
        return len(self._out)

    def take(self) -> Child:
        """A child of one's own, to be given to ``put_away``. Raises NoEngineError where none can be had."""
        deadline = time.monotonic() + _WAIT_S
        me = object()
        with self._turn:
            self._start_threads()
            self._line.append(me)
            self._fault = None
            try:
                while self._line[0] is not me or (child := self._warm()) is None:
                    self._turn.notify_all()
                    if self._closed:
                        raise NoEngineError("the gateway is shutting down")
                    if self._fault is not None:
                        raise self._fault
                    if not self._turn.wait(deadline - time.monotonic()):
                        raise NoEngineError("no child became ready in time")
            finally:
                self._line.remove(me)
                self._turn.notify_all()
            self._out[id(child)] = child
            return child

    def put_away(self, child: Child) -> None:
        """End a child that was taken. It never runs a second script."""
        with self._turn:
            self._out.pop(id(child), None)
            closed = self._closed
        child.kill()
        if closed:
            child.reap()
        else:
            self._dying.put(child)

    def close(self) -> None:
        """Kill all children and start no more. May be called twice, and when nothing was started."""
        with self._turn:
            self._closed = True
            waiting = list(self._ready)
            self._ready.clear()
            for child in self._out.values():
                child.process.kill()
            threads, self._threads = self._threads, ()
            self._turn.notify_all()
        for child in waiting:
            child.end()
        if threads:
            self._dying.put(None)
        for thread in threads:
            thread.join(timeout=20)

    def _warm(self) -> Child | None:
        """A waiting child that still lives; those that died meanwhile are put away."""
        while self._ready:
            child = self._ready.popleft()
            if child.is_alive:
                return child
            child.end()
        return None

    def _start_threads(self) -> None:
        if self._closed:
            raise NoEngineError("the gateway is shutting down")
        if not self._threads:
            self._threads = tuple(
                threading.Thread(target=work, name=name, daemon=True)
                for work, name in ((self._keep, "scripts"), (self._reap, "scripts-end"))
            )
            for thread in self._threads:
                thread.start()

    def _reap(self) -> None:
        while (child := self._dying.get()) is not None:
            child.reap()

    def _keep(self) -> None:
        """Keep two children warm, and one more for each caller who waits."""
        while True:
            with self._turn:
                while not self._closed and not self._missing():
                    self._turn.wait()
                if self._closed:
                    return
                missing = self._missing()
            try:
                self._start(missing)
            except NoEngineError as error:
                self._say(error)
                time.sleep(_PAUSE_S)

    def _missing(self) -> int:
        """How many children to start now."""
        if self._fault is not None and not self._line:
            # After a start that failed, only somebody who waits is a reason to try again.
            return 0
        return min(WARM + len(self._line) - len(self._ready), _AT_ONCE)

    def _start(self, count: int) -> None:
        """Start children at the same time, behind bwrap where that works; whether it does is found out once."""
        if self._walled is None:
            self._walled = process.can_wall() and self._try_wall()
        launched: deque[Child] = deque()
        try:
            for _ in range(count):
                launched.append(process.launch(self.most_line, self.most_bytes, walled=self._walled))
            while launched:
                child = process.until_ready(launched.popleft())
                if not self._hand_out(child):
                    child.end()
        finally:
            for child in launched:
                child.end()

    def _hand_out(self, child: Child) -> bool:
        """Put a child where callers find it; False where the pool was closed meanwhile."""
        with self._turn:
            if not self._closed:
                self._ready.append(child)
            self._turn.notify_all()
            return not self._closed

    def _try_wall(self) -> bool:
        try:
            process.until_ready(process.launch(self.most_line, self.most_bytes, walled=True)).end()
        except NoEngineError as error:
            log.info("bwrap does not work here; scripts run without it", extra={"reason": str(error)})
            return False
        return True

    def _say(self, error: NoEngineError) -> None:
        log.error("no child for scripts could be started", extra={"reason": str(error)})
        with self._turn:
            self._fault = error
            self._turn.notify_all()
