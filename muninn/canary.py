"""The canary: the owner's own questions, asked of the live vault, so that a search that has gone wrong is noticed.

The questions lie in ``canary.json`` in the home, in the form of the evaluation; how the last run ended is kept beside
them. A run asks as ``muninn search`` does, and needs no gateway.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from index import Index, Look, Walk
from muninn import searching
from muninn.home import put
from muninn.model.content import BadPath, NotePath
from muninn.model.errors import SettingsError
from muninn.model.moments import rfc3339
from muninn.model.rights import Rights
from muninn.model.sight import File
from muninn.questions import DEPTH, Answer, Outcome, Question, Questions, load, of_found, outcomes

QUESTIONS: Final = "canary.json"
STATE: Final = "canary-state.json"
PLACES: Final = 5
"""A right note must be among the first so many hits."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A question whose right note was not found well enough, and why."""

    id: str
    q: str
    path: tuple[str, ...]
    rank: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """How one run ended. ``sure`` are questions without an answer that were not told as such; they are no failure."""

    at: str
    asked: int
    failing: tuple[Failing, ...]
    sure: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.failing


@dataclass(frozen=True, slots=True)
class State:
    """What is kept between runs. Times are RFC 3339; ``last_ok`` is None before the first good run."""

    at: str
    ok: bool
    last_ok: str | None
    asked: int
    failing: tuple[str, ...]


def questions(home: Path) -> Questions:
    """The owner's questions. Raises SettingsError where there are none, or where the file is no set of questions."""
    file = home / QUESTIONS
    if not file.exists():
        form = '{"questions": [{"id": "…", "q": "…", "path": ["right.md"]}]}'
        raise SettingsError(f"there are no questions to ask: write {file} in the form {form}")
    found = load(file)
    if not found.answerable:
        raise SettingsError(f"{file} holds no question with a right note, so that nothing could fail")
    return found


def run(asked: Questions, index: Index, look: Look, walk: Walk, rights: Rights, progress: Callable[[int], None]) -> Run:
    """Ask every question. Raises VaultUnavailableError where the vault is not there."""

    def engine(text: str) -> Answer:
        return of_found(searching.search(index, look, walk, rights, searching.Asked(text, limit=DEPTH)))

    found: list[Outcome] = []
    for outcome in outcomes(asked, engine):
        found.append(outcome)
        progress(len(found))
    failing = tuple(
        Failing(question.id, question.text, question.right, row.rank, why)
        for question, row in zip(asked.all, found, strict=True)
        if (why := _why(row, question, look, rights)) is not None
    )
    sure = tuple(row.id for row in found if not row.answerable and row.unsure is False)
    return Run(rfc3339(datetime.now(UTC), "seconds"), len(found), failing, sure)


def _why(row: Outcome, question: Question, look: Look, rights: Rights) -> str | None:
    """What is wrong with an outcome; None where nothing is."""
    if row.degraded:
        return "the answer was degraded: the index could not be asked"
    if not row.answerable or (row.rank is not None and row.rank <= PLACES):
        return None
    if not any(_is_there(path, look, rights) for path in question.right):
        return "the right note is not in the vault, or needs --private"
    where = f"at place {row.rank}" if row.rank is not None else f"not among the first {DEPTH}"
    return f"the right note is {where}; expected among the first {PLACES}"


def _is_there(text: str, look: Look, rights: Rights) -> bool:
    path = NotePath.parse(text)
    if isinstance(path, BadPath) or not rights.sees(path):
        return False
    try:
        return isinstance(look(path), File)
    except OSError:
        return False


# --- what is kept -----------------------------------------------------------------------------------


def keep(home: Path, ended: Run) -> State:
    """Keep how a run ended, and give it. Raises OSError where the home cannot be written."""
    before = last(home)
    last_ok = ended.at if ended.ok else before.last_ok if before is not None else None
    state = State(ended.at, ended.ok, last_ok, ended.asked, tuple(one.id for one in ended.failing))
    put(home / STATE, json.dumps(asdict(state), ensure_ascii=False))
    return state


def last(home: Path) -> State | None:
    """How the last run ended; None where there was none, or what was kept cannot be read."""
    try:
        found = json.loads((home / STATE).read_text(encoding="utf-8"))
        last_ok = found["last_ok"]
        return State(
            str(found["at"]),
            bool(found["ok"]),
            None if last_ok is None else str(last_ok),
            int(found["asked"]),
            tuple(map(str, found["failing"])),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
