"""One engine for all tests of the sandbox, and readers that are no vault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muninn.model.refusal import Code, Refusal
from sandbox import Engine, Returned, Stopped

HASH = "ab" * 32


def read(path: Any, start: int | None = None, end: int | None = None) -> dict[str, Any]:
    """A read of a note of eight lines, whole or cut, as the tool answers it."""
    answer: dict[str, Any] = {"path": path, "content": "x\n", "encoding": "utf-8", "lines": 8, "complete": True}
    if start is None and end is None:
        return answer | {"hash": HASH}
    cut = {"hash": None, "source_hash": HASH, "start_line": start or 1, "end_line": end or 8, "complete": False}
    return answer | cut


def ask(name: str, asked: dict[str, Any]) -> dict[str, Any] | Refusal:
    """Readers that answer for every path but `none`."""
    match name:
        case "read" if asked.get("path") == "none":
            return Refusal(Code.NOT_FOUND, "none is not there")
        case "read":
            return read(asked.get("path"), asked.get("start_line"), asked.get("end_line"))
        case "search":
            hit = {"path": "h.md", "source_hash": HASH, "snippet": "s", "start_line": 3, "end_line": 4}
            return {"hits": [hit], "more": asked.get("limit") == 1, "degraded": False}
        case "list":
            return {"entries": [], "next_cursor": asked.get("cursor")}
        case _:
            return {"outgoing": [], "next_cursor": None}


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.close()


Run = Callable[..., Returned | Stopped]


@pytest.fixture
def run(engine: Engine) -> Run:
    """Run a script with the readers above, two seconds long unless said otherwise."""

    def call(script: str, timeout_s: float = 2, readers: Any = ask) -> Returned | Stopped:
        return engine.run(script, timeout_s, readers)

    return call


@pytest.fixture
def value(run: Run) -> Callable[..., Any]:
    """The value of a script that must return one."""

    def call(script: str) -> Any:
        ended = run(script)
        assert isinstance(ended, Returned), ended
        return ended.value

    return call


@pytest.fixture
def stopped(run: Run) -> Callable[..., Stopped]:
    """The end of a script that must not return."""

    def call(script: str, **more: Any) -> Stopped:
        ended = run(script, **more)
        assert isinstance(ended, Stopped), ended
        return ended

    return call
