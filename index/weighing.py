"""Weigh candidates by their text as it stands in the vault, and put them in order.

Score of a note: BM25 with the log factor, times one plus half of the nearness plus a tenth of the title's share; then
six parts of that to four of the best passage (the shares were measured: docs/explain/search.md). Notes
that a short question names come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from muninn.model.content import NotePath
from muninn.model.page import BEGIN, blank_block
from muninn.model.sight import File

from .asking import Candidate, Filters
from .fields import LOG, Facts, read
from .folding import fold
from .passages import Finder, Snippet, Traces, snippet, trace
from .question import Question
from .settings import IndexSettings, Look
from .words import Lexicon, raw_words

WEIGHED: Final = 15
"""How many of the best notes are weighed by their text, whatever the limit: a larger limit only adds hits."""
TRACED_BYTES: Final = 256 * 1024
"""Of a hit's text that is looked through for the best passage; a longer note is still found by all its words."""

_NEAR: Final = 0.5
_TITLE: Final = 0.1
_SAME_TITLE: Final = 1.0
_NOTE_SHARE: Final = 0.6
_LOG_FACTOR: Final = 0.5
_COPY_FACTOR: Final = 0.5
_SHORT_QUESTION: Final = 4
_LONGEST_NAME: Final = 8
_ARTICLES: Final = re.compile("an?|the|der|die|das|eine?|l[eao]|les|une?|el|l[ao]s|il|gli|de|het|een")
"""What a question may leave out of a name, or add to it."""
_COPY_MARK = re.compile(r" ?\([^()]*conflicted copy[^()]*\)|\.sync-conflict-[^.]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A candidate as it stands in the vault now. ``held`` are the question's words in its text, name or title."""

    path: NotePath
    hash: str
    text: str
    facts: Facts
    base: float
    traces: Traces
    held: frozenset[int]
    in_title: float
    named: bool = False
    """Whether the question is its name, and it was looked up by that."""
    score: float = 0.0


def see(
    candidate: Candidate,
    look: Look,
    filters: Filters,
    settings: IndexSettings,
    finder: Finder,
    weights: tuple[float, ...],
) -> Weighed | None:
    """Read a candidate again; None where it is gone, or has changed and is no answer any more."""
    try:
        sight = look(candidate.path)
    except OSError:
        return None
    if not isinstance(sight, File):
        return None
    facts = candidate.facts
    if sight.hash != candidate.hash:
        facts = read(candidate.path, sight.content, sight.hash, sight.mtime_ns, settings).facts
        if not filters.fit(candidate.path, facts):
            return None
    text = sight.content[:TRACED_BYTES].decode("utf-8", "replace")
    if settings.folder_page is not None and candidate.path.name.lower() == settings.folder_page.lower():
        text = blank_block(text)
    tongue = finder.tongue(text, facts.body)
    traces = trace(text, facts.body, finder, weights, tongue)
    in_title = finder.numbers(facts.title, tongue)
    held = traces.held | in_title | finder.numbers(candidate.path, tongue)
    if not held and sight.hash != candidate.hash:
        return None
    share = sum(weights[number] for number in in_title) / (sum(weights) or 1.0)
    return Weighed(candidate.path, sight.hash, text, facts, candidate.score, traces, held, share, candidate.named)


def ordered(seen: list[Weighed], question: Question, lexicon: Lexicon, count: int = WEIGHED) -> list[Weighed]:
    """Best first; equal scores by path. Conflict copies come after their original. The first ``count`` are weighed by
    their text, and the others follow."""
    if not seen:
        return []
    head = [(row, _note_score(row, question, lexicon)) for row in seen[:count]]
    most = max(score for _, score in head) or 1.0
    widest = max(row.traces.passage for row, _ in head) or 1.0
    scored = [replace(row, score=_mixed(row, score / most, row.traces.passage / widest)) for row, score in head]
    floor = min(row.score for row in scored)
    scored += [replace(row, score=round(min(floor, _NOTE_SHARE * row.base / most), 6)) for row in seen[count:]]
    return below_originals(scored, _COPY_FACTOR)


def below_originals(rows: Sequence[Weighed], factor: float = 1.0) -> list[Weighed]:
    """Best first; equal scores by path. Notes that the question names come before all others; conflict copies count
    ``factor`` and come after their original."""
    floor = max((row.score for row in rows if not row.named), default=0.0)
    raised = [replace(row, score=max(row.score, floor)) if row.named else row for row in rows]
    by_path = {row.path: row for row in raised}
    lowered = (_below_original(row, by_path, factor) for row in raised)
    return sorted(lowered, key=lambda row: (-row.score, not row.named, row.path))


def spread(numbers: list[float]) -> list[float]:
    """The numbers drawn out to the whole of 0 to 1; all 1 where they are equal."""
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    return [(number - low) / (high - low) if high > low else 1.0 for number in numbers]


def _note_score(row: Weighed, question: Question, lexicon: Lexicon) -> float:
    score = row.base * (1 + _NEAR * row.traces.near + _TITLE * row.in_title)
    if row.named or (len(question.words) <= _SHORT_QUESTION and _is_named(row, question, lexicon)):
        score *= 1 + _SAME_TITLE
    return score


def _is_named(row: Weighed, question: Question, lexicon: Lexicon) -> bool:
    """Whether the whole question is the note's title or file name, word by word; articles stand for nothing.

    Other small words count: ``Token library now`` is not what ``token library`` names.
    """
    tongue = question.tongues[0] if question.tongues else lexicon.tongue()

    def terms(raws: Iterable[str]) -> list[str]:
        return [term for raw in raws if not _ARTICLES.fullmatch(fold(raw)) for term in tongue[raw].main.split()]

    asked = terms(question.typed)
    names = map(raw_words, dict.fromkeys((row.facts.title, row.path.stem)))
    return any(len(raws) <= _LONGEST_NAME and terms(raws) == asked for raws in names)


def _mixed(row: Weighed, note: float, passage: float) -> float:
    passage *= _LOG_FACTOR if row.facts.flags & LOG else 1.0
    return round(_NOTE_SHARE * note + (1 - _NOTE_SHARE) * passage, 6)


def original_of(path: NotePath) -> NotePath | None:
    """The note that a sync tool made a conflict copy of, None for any other note."""
    if not path.is_conflict_copy:
        return None
    name = _COPY_MARK.sub("", path.name)
    return NotePath(f"{path.folder}/{name}" if path.folder else name)


def _below_original(row: Weighed, by_path: dict[NotePath, Weighed], factor: float) -> Weighed:
    named = original_of(row.path)
    if named is None:
        return row
    original = by_path.get(named)
    score = row.score * factor
    if original is not None and original is not row:
        score = min(score, original.score * 0.99)
    return replace(row, score=round(score, 6))


def snippet_of(row: Weighed) -> Snippet:
    """The best passage's text, never reaching into a folder page's managed lines."""
    cut = snippet(row.text, row.facts.body, row.traces.start, row.traces.end)
    if BEGIN not in cut.text:
        return cut
    text = cut.text.partition(BEGIN)[0].rstrip()
    return Snippet(text, cut.start_line, cut.start_line + text.count("\n"))
