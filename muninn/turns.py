"""Whose turn it is: writes that come while others are carried out wait in one line, and go together.

Who is first in the line leads: it takes along whoever has come by then, and carries all of them out. Nobody waits for
company; a write that finds the line empty leads at once. The line knows nothing of what is written.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, Generic, TypeVar

MOST: Final = 16
"""Writes that go together at most: what they cost together is shared well by then, and the first waits for the last."""


class Waiting:
    """A call that stands in the line, or stood there. Whoever makes one adds what is asked and how it came out."""

    __slots__ = ("_leads", "_turn")

    def __init__(self) -> None:
        self._turn = threading.Event()
        self._leads = False


_Call = TypeVar("_Call", bound=Waiting)


class Line(Generic[_Call]):
    """Calls in the order they came, of which one leads as long as there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[_Call] = deque()
        self._led = False

    def enter(self, call: _Call) -> bool:
        """Stand in the line. True once the call leads; False once another has carried it out.

        Who leads takes its own call and others out with ``take``, lets the next one lead with ``hand_on``, whatever
        happened, and then lets those that it carried out go with ``release``.
        """
        with self._lock:
            self._calls.append(call)
            if not self._led:
                self._led = call._leads = True
                return True
        call._turn.wait()
        return call._leads

    def take(self, most: int) -> list[_Call]:
        """Those at the front, out of the line."""
        with self._lock:
            return [self._calls.popleft() for _ in range(min(most, len(self._calls)))]

    def hand_on(self, left: list[_Call]) -> None:
        """End a turn: those who were taken and must come again stand at the front, in their order, and one leads."""
        with self._lock:
            self._calls.extendleft(reversed(left))
            following = self._calls[0] if self._calls else None
            self._led = following is not None
            if following is not None:
                following._leads = True
                following._turn.set()

    def release(self, calls: list[_Call]) -> None:
        """Let those who were carried out go."""
        for call in calls:
            call._turn.set()
