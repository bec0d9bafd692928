"""A few children that wait, warm, for a script; each runs one and is replaced in the background.

One thread of its own starts them all, because a child dies with the thread that started it. Nothing is started before
the first script comes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from . import process
from .process import Child, NoEngineError

log = logging.getLogger("muninn.sandbox")

WARM: Final = 2
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
    _asked: int = 0
    _fault: NoEngineError | None = None
    _keeper: threading.Thread | None = None
    _closed: bool = False
    _walled: bool | None = None

    @property
    def is_walled(self) -> bool:
        """Whether bwrap stands around the children; known once the first was started."""
        return bool(self._walled)

    def take(self) -> Child:
        """A child of one's own, to be given to ``put_away``. Raises NoEngineError where none can be had."""
        deadline = time.monotonic() + _WAIT_S
        with self._turn:
            self._start_keeper()
            self._asked += 1
            self._fault = None
            try:
                while (child := self._warm()) is None:
                    self._turn.notify_all()
                    if self._closed:
                        raise NoEngineError("the gateway is shutting down")
                    if self._fault is not None:
                        raise self._fault
                    if not self._turn.wait(deadline - time.monotonic()):
                        raise NoEngineError("no child became ready in time")
            finally:
                self._asked -= 1
                self._turn.notify_all()
            self._out[id(child)] = child
            return child

    def put_away(self, child: Child) -> None:
        """End a child that was taken. It never runs a second script."""
        with self._turn:
            self._out.pop(id(child), None)
        child.end()

    def close(self) -> None:
        """Kill all children and start no more. May be called twice, and when nothing was started."""
        with self._turn:
            self._closed = True
            waiting = list(self._ready)
            self._ready.clear()
            for child in self._out.values():
                child.process.kill()
            keeper = self._keeper
            self._turn.notify_all()
        for child in waiting:
            child.end()
        if keeper is not None:
            keeper.join(timeout=20)

    def _warm(self) -> Child | None:
        """A waiting child that still lives; those that died meanwhile are put away."""
        while self._ready:
            child = self._ready.popleft()
            if child.is_alive:
                return child
            child.end()
        return None

    def _start_keeper(self) -> None:
        if self._closed:
            raise NoEngineError("the gateway is shutting down")
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="scripts", daemon=True)
            self._keeper.start()

    def _keep(self) -> None:
        """Keep two children warm, and more while more callers wait."""
        while True:
            with self._turn:
                while not self._closed and self._has_enough():
                    self._turn.wait()
                if self._closed:
                    return
            try:
                child = self._started()
            except NoEngineError as error:
                self._say(error)
                time.sleep(_PAUSE_S)
                continue
            with self._turn:
                if self._closed:
                    break
                self._ready.append(child)
                self._turn.notify_all()
        child.end()

    def _has_enough(self) -> bool:
        # After a start that failed, only somebody who waits is a reason to try again.
        return len(self._ready) >= WARM + self._asked or (self._fault is not None and not self._asked)

    def _started(self) -> Child:
        """A new child, behind bwrap where that works; whether it does is found out once."""
        if self._walled is None:
            self._walled = process.can_wall() and self._try_wall()
        return process.start(self.most_line, self.most_bytes, walled=self._walled)

    def _try_wall(self) -> bool:
        try:
            process.start(self.most_line, self.most_bytes, walled=True).end()
        except NoEngineError as error:
            log.info("bwrap does not work here; scripts run without it", extra={"reason": str(error)})
            return False
        return True

    def _say(self, error: NoEngineError) -> None:
        log.error("no child for scripts could be started", extra={"reason": str(error)})
        with self._turn:
            self._fault = error
            self._turn.notify_all()
