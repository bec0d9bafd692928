"""Why an answer is as it is: a hit's signals, what a word was taken for, and why a named note is not among the hits.

Everything said here comes from notes that the client may see. A note that it may not see, and one that is not there,
are the same: no note of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from index import Filters, Index, Look
from index.fields import LOG, RETIRED, Facts, read
from index.guessing import Guess
from index.names import resolve
from index.passages import Finder
from index.question import Question
from index.weighing import Weighed
from muninn.model.content import BadPath, NotePath
from muninn.model.errors import IndexBrokenError
from muninn.model.rights import Rights
from muninn.model.sight import File

_MARKED: Final = re.compile(r"\[\[([^\[\]\n]{1,500})\]\]")
_RUN: Final = re.compile(r"[^\s\"'`<>()\[\]]+")
_ENDING: Final = re.compile(r"(?<!^)\.md(?!\w)", re.IGNORECASE)
_MOST_NAMED: Final = 5
_LONGEST_NAME: Final = 1_000
_SHOWN: Final = 100
_SHOWN_NAME: Final = 200
"""Characters of a filter and of a name that are told back."""
_MOST_RANKED: Final = 1_000
_SEARCHED_CHARS: Final = 65_536
_MENDED_IN: Final = 5
"""Hits that are looked through for what a mistyped word may have meant."""


def split(query: str) -> tuple[str, tuple[str, ...]]:
    """The words of a query, and the notes it asks about: ``[[name]]``, which is not searched for, and paths.

    >>> split("surge threshold [[Harbour list|list]] ops/old.md")
    ('surge threshold   ops/old.md', ('Harbour list', 'ops/old.md'))
    """
    marked = [name.partition("|")[0].partition("#")[0].strip() for name in _MARKED.findall(query)]
    bare = _MARKED.sub(" ", query)
    wanted = (name for name in (*marked, *_paths(bare)) if 0 < len(name) <= _LONGEST_NAME)
    return (bare if bare.strip() else query), tuple(dict.fromkeys(wanted))[:_MOST_NAMED]


def _paths(text: str) -> Iterator[str]:
    """What looks like a note's path. One expression for all would try every place of a long run up to its end."""
    for run in _RUN.findall(text):
        ends = [found.end() for found in _ENDING.finditer(run)]
        if ends:
            yield run[: ends[-1]]


def hit(row: Weighed, question: Question, cosine: float | None) -> dict[str, Any]:
    """The signals of one hit (docs/explain/search.md)."""
    signals: dict[str, Any] = {
        "bm25": round(row.base, 4),
        "near": round(row.traces.near, 4),
        "passage": round(row.traces.passage, 4),
        "title": round(row.in_title, 4),
        "words": [question.words[number].text for number in sorted(row.held)],
        "named": row.named,
        "log": bool(row.facts.flags & LOG),
    }
    return signals if cosine is None else {**signals, "cosine": round(cosine, 4)}


def mended(
    question: Question, guessed: Mapping[int, Guess], rows: Sequence[Weighed], finder: Finder
) -> dict[str, tuple[str, ...]]:
    """What the best hits hold in place of words that look mistyped, as it stands there. A word that a hit holds as it
    was typed is left alone."""
    wanted = {number: guess.terms for number, guess in guessed.items() if guess.mended}
    found: dict[int, dict[str, str]] = {number: {} for number in wanted}
    for row in rows[:_MENDED_IN] if wanted else ():
        text = row.text[:_SEARCHED_CHARS]
        tongue = finder.tongue(text, row.facts.body)
        for piece in (row.facts.title, text):
            for start, end, number in finder.places(piece, tongue):
                word = piece[start:end]
                if number not in wanted:
                    continue
                if tongue[word].main in wanted[number]:
                    found[number].setdefault(word.casefold(), word)
                elif word.casefold() == question.words[number].text.casefold():
                    wanted.pop(number)
    return {question.words[number].text: tuple(found[number].values())[:3] for number in wanted if found[number]}


def barred(path: str, facts: Facts, filters: Filters) -> list[str]:
    """Why filters leave a note out; empty where they do not."""
    why: list[str] = []
    if facts.flags & RETIRED and not filters.with_retired:
        why.append(f"it is retired (status {facts.status})")
    if filters.folder and not path.startswith(filters.folder + "/"):
        why.append(f"it is not in the folder {filters.folder}")
    without = Filters(type=filters.type, status=filters.status, tags=filters.tags, with_retired=True)
    if not without.fit(path, facts):
        asked = {"type": filters.type, "status": filters.status, "tags": ", ".join(filters.tags)}
        told = " and ".join(f"{key} {value[:_SHOWN]}" for key, value in asked.items() if value)
        why.append(f"it is not of the {told}")
    if filters.since is not None and facts.day < filters.since:
        why.append(f"its day {facts.day} is before {filters.since}")
    if filters.until is not None and facts.day > filters.until:
        why.append(f"its day {facts.day} is after {filters.until}")
    return why


def absent(
    index: Index,
    look: Look,
    rights: Rights,
    question: Question,
    filters: Filters,
    names: Sequence[str],
    shown: Sequence[str],
) -> list[dict[str, Any]]:
    """For each note that a query asks about, where it stands in the answer and, if it is not there, why."""
    told: list[dict[str, Any]] = []
    ranks: list[str] | None = None
    for asked in names:
        name = asked[:_SHOWN_NAME]
        try:
            with index.names(private=rights.sees_private) as known:
                reached = resolve(known, asked, "wikilink", "", rights.sees)
        except IndexBrokenError:
            told.append({"name": name, "path": None, "why": "the index cannot say just now"})
            continue
        sight = None if reached is None else _sight(look, reached.path)
        if reached is None or sight is None:
            told.append({"name": name, "path": None, "why": "there is no note of this name"})
            continue
        if reached.path in shown:
            told.append({"name": name, "path": reached.path, "why": f"it is hit {shown.index(reached.path) + 1}"})
            continue
        facts = read(sight.path, sight.content, sight.hash, sight.mtime_ns, index.settings).facts
        why = barred(reached.path, facts, filters)
        if not why:
            ranks = _ranks(index, question, filters, rights) if ranks is None else ranks
            why = [_rank(reached.path, ranks)]
        told.append({"name": name, "path": reached.path, "why": "; ".join(why)})
    return told


def _sight(look: Look, path: str) -> File | None:
    parsed = NotePath.parse(path)
    if isinstance(parsed, BadPath):
        return None
    try:
        found = look(parsed)
    except OSError:
        return None
    return found if isinstance(found, File) else None


def _ranks(index: Index, question: Question, filters: Filters, rights: Rights) -> list[str]:
    try:
        answers = index.ask(question, filters, rights.sees, _MOST_RANKED, private=rights.sees_private)
    except IndexBrokenError:
        return []
    rows = sorted((row for answer in answers for row in answer.rows), key=lambda row: (-row.score, row.path))
    return [row.path for row in rows]


def _rank(path: str, ranks: Sequence[str]) -> str:
    if path in ranks:
        return f"its words put it at place {ranks.index(path) + 1}; ask with a higher limit to see it"
    if len(ranks) >= _MOST_RANKED:
        return f"its words put it below the first {_MOST_RANKED:,}"
    return "it holds none of the words that were looked for"
