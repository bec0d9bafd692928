"""Ask one shelf a question: the notes that match best, by BM25 over weighted columns, daily logs at half.

Retired notes and whatever the filters rule out never come near a score. The statement touches no table but ``terms``
until the best are chosen: whether a note is a log or retired stands in its row's id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import apsw

from muninn.model.content import NotePath

from . import naming
from .fields import LOG, RETIRED, WEIGHTS, Facts
from .question import Plan, Question, plan
from .rows import facet
from .store import one

MOST_COUNTED: Final = 1_000
_WIDEN: Final = 4
_MOST_RANKED: Final = 20_000
"""Notes of a word that is too common: so many postings cost little (PERFORMANCE.md 1c, the sweep of budgets)."""
_FIRST_COLUMNS: Final = ("title", "title names heads")
"""Where such a word is looked for first: there it counts most. All columns are asked where that gives too few notes."""

_SCORE: Final = f"-bm25(terms, {', '.join(map(str, WEIGHTS))}) * (CASE WHEN rowid & {LOG} THEN 0.5 ELSE 1.0 END)"
_FACTS: Final = "docs.id, docs.path, hash, title, type, status, date, day, tags, body"


@dataclass(frozen=True, slots=True)
class Filters:
    """What a note must be to be a hit. Words are compared without case; ``folder`` is a path, ``""`` for all."""

    folder: str = ""
    type: str | None = None
    status: str | None = None
    tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    with_retired: bool = False
    """Whether retired notes may be hits: the status asked for is one of theirs."""

    @property
    def empty(self) -> bool:
        return not (self.folder or self.type or self.status or self.tags or self.since or self.until)

    def fit(self, path: str, facts: Facts) -> bool:
        """Whether a note is one that is asked for."""
        facets = {facet("tag", tag) for tag in facts.tags}
        facets.add(facet("type", facts.type or ""))
        facets.add(facet("status", facts.status or ""))
        return (
            (self.with_retired or not facts.flags & RETIRED)
            and (not self.folder or path.startswith(self.folder + "/"))
            and all(wanted in facets for wanted in self._facets())
            and (self.since is None or facts.day >= self.since)
            and (self.until is None or facts.day <= self.until)
        )

    def _facets(self) -> list[str]:
        wanted = [facet("tag", tag) for tag in self.tags]
        wanted += [facet("type", self.type)] if self.type is not None else []
        wanted += [facet("status", self.status)] if self.status is not None else []
        return wanted

    def condition(self) -> tuple[str, list[Any]]:
        """The same as SQL over ``docs``."""
        clauses: list[str] = []
        values: list[Any] = []
        if self.folder:
            clauses.append("path >= ? AND path < ?")
            values += [self.folder + "/", self.folder + "0"]
        for wanted in self._facets():
            clauses.append("instr(filters, ?)")
            values.append(wanted)
        for bound, sign in ((self.since, ">="), (self.until, "<=")):
            if bound is not None:
                clauses.append(f"day {sign} ?")
                values.append(bound)
        return " AND ".join(clauses), values


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note that matches, as the index knows it. ``score`` is BM25 with the log factor; higher is better. ``named``:
    the question is its title, file name or alias."""

    path: NotePath
    hash: str
    score: float
    facts: Facts
    named: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """One shelf's answer, best first. ``more``: further notes match. ``retired``: how many were left out as such.
    ``barred``: notes that the question names and that the filters leave out."""

    rows: tuple[Candidate, ...]
    more: bool
    retired: int
    plan: Plan
    notes: int
    barred: tuple[Candidate, ...] = ()


def ask(
    connection: apsw.Connection,
    question: Question,
    filters: Filters,
    sees: Callable[[str], bool],
    want: int,
    *,
    everything: bool = False,
) -> Candidates:
    """The ``want`` best notes that the filters fit and that ``sees`` lets through; with ``everything`` it lets through
    whatever this shelf holds, and what is only counted is not asked one by one."""
    notes = _count_notes(connection)
    planned = plan(question, connection, notes, None if everything else sees)
    if planned.expression is None:
        return Candidates((), False, 0, planned, notes)
    best: dict[NotePath, Candidate] = {}
    for expression in _ways(planned):
        best |= {row.path: row for row in _seen(connection, planned, expression, filters, sees, want, everything)}
        if len(best) > want:
            break
    rows = sorted(best.values(), key=lambda row: (-row.score, row.path))
    retired = 0
    if not filters.with_retired:
        retired = _retired(connection, expression, filters, None if everything else sees)
    named = [
        row for row in among(connection, naming.named(connection, question.typed, planned.words)) if sees(row.path)
    ]
    barred = tuple(row for row in named if not filters.fit(row.path, row.facts))
    more = len(rows) > want
    rows = _with_named(rows[:want], [row for row in named if row not in barred])
    return Candidates(tuple(rows), more, retired, planned, notes, barred)


def _ways(planned: Plan) -> list[str]:
    """The expressions to try, one after the other, until there are enough notes."""
    if planned.expression is None:
        return []
    if not planned.too_common:
        return [planned.expression]
    return [*(planned.within(columns) for columns in _FIRST_COLUMNS), planned.expression]


def _seen(
    connection: apsw.Connection,
    planned: Plan,
    expression: str,
    filters: Filters,
    sees: Callable[[str], bool],
    want: int,
    everything: bool,
) -> list[Candidate]:
    """The best that ``sees`` lets through, one more than is wanted where there are so many."""
    size = want + 1
    # Of a word that is too common only the newest notes are ranked. A client that does not see all might see none of
    # those.
    most = _MOST_RANKED if planned.too_common and everything else -1
    while True:
        rows, found = [], 0
        for row in _best(connection, expression, filters, size, most, 2.0 if planned.doubled else 1.0):
            found += 1
            if sees(row[1]):
                rows.append(_candidate(row))
        if len(rows) > want or found < size:
            return rows
        size *= _WIDEN


def _with_named(rows: list[Candidate], named: list[Candidate]) -> list[Candidate]:
    """The rows with those that the question names first. One that was not among them scores as the last."""
    least = min((row.score for row in rows), default=1.0)
    scores = {row.path: row.score for row in rows}
    first = [replace(row, named=True, score=scores.get(row.path, least)) for row in named]
    paths = {row.path for row in first}
    return [*sorted(first, key=lambda row: (-row.score, row.path)), *(row for row in rows if row.path not in paths)]


def _best(
    connection: apsw.Connection, expression: str, filters: Filters, size: int, most: int, factor: float
) -> Iterator[tuple[Any, ...]]:
    """The ``size`` best of the ``most`` newest that match; below zero of all."""
    where = ""
    values: list[Any] = []
    if not filters.with_retired:
        where = f" AND NOT rowid & {RETIRED}"
    if not filters.empty:
        condition, values = filters.condition()
        where += f" AND rowid IN (SELECT id FROM docs WHERE {condition})"
    best = f"SELECT rowid AS row, {_SCORE} * ? AS score FROM terms WHERE terms MATCH ?{where}"
    bound: tuple[int, ...] = (size,)
    if most >= 0:
        best = f"SELECT row, score FROM ({best} ORDER BY rowid DESC LIMIT ?)"
        bound = (most, size)
    best = f"{best} ORDER BY score DESC LIMIT ?"
    sql = f"SELECT {_FACTS}, score FROM ({best}) JOIN docs ON docs.id = row ORDER BY score DESC, docs.path"
    return iter(connection.execute(sql, (factor, expression, *values, *bound)))


def fitting(connection: apsw.Connection, filters: Filters) -> tuple[frozenset[str], bool]:
    """The paths of the notes that the filters leave out, and True; where there are filters beside the retired
    notes', the paths of those they let through, and False."""
    if filters.empty:
        retired = () if filters.with_retired else connection.execute(f"SELECT path FROM docs WHERE id & {RETIRED}")
        return frozenset(path for (path,) in retired), True
    condition, values = filters.condition()
    if not filters.with_retired:
        condition += f" AND NOT id & {RETIRED}"
    return frozenset(path for (path,) in connection.execute(f"SELECT path FROM docs WHERE {condition}", values)), False


def among(connection: apsw.Connection, paths: Iterable[str]) -> list[Candidate]:
    """The notes of these paths that the shelf holds, with no score, whatever words they hold."""
    sql = f"SELECT {_FACTS}, 0.0 FROM docs WHERE path IN (SELECT value FROM json_each(?))"
    return [_candidate(row) for row in connection.execute(sql, (json.dumps(list(paths)),))]


def _candidate(row: tuple[Any, ...]) -> Candidate:
    row_id, path, digest, title, kind, status, date, day, tags, body, score = row
    labels = tuple(json.loads(tags)) if tags != "[]" else ()
    return Candidate(
        NotePath(path),
        digest.hex(),
        score,
        Facts(title, kind, status, date, day, labels, row_id & (LOG | RETIRED), body),
    )


def _retired(connection: apsw.Connection, expression: str, filters: Filters, sees: Callable[[str], bool] | None) -> int:
    """How many retired notes match, of those that the client may see; None is all of them."""
    if one(connection, f"SELECT 1 FROM docs WHERE id & {RETIRED} LIMIT 1") is None:
        return 0
    where = ""
    values: list[Any] = []
    if not filters.empty:
        condition, values = filters.condition()
        where = f" AND {condition}"
    matching = f"SELECT rowid FROM terms WHERE terms MATCH ? AND rowid & {RETIRED}"
    if sees is None and not where:
        counted = f"SELECT count(*) FROM ({matching} LIMIT {MOST_COUNTED})"
        return int(one(connection, counted, (expression,))[0])
    sql = f"SELECT path FROM docs WHERE id IN ({matching}){where} LIMIT {MOST_COUNTED}"
    return sum(1 for (path,) in connection.execute(sql, (expression, *values)) if sees is None or sees(path))


def _count_notes(connection: apsw.Connection) -> int:
    """How many notes there are; every note's row is in ``words`` under the term that all carry, or nearly."""
    found = one(connection, "SELECT max(id) FROM docs")[0]
    return 0 if found is None else found >> 2
