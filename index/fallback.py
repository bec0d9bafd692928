"""Answer a question without an index: read the files, keep those that hold a word of it, rank them by BM25.

Slow, so it is cut at a fixed time; what was not reached by then is not in the answer, and the answer says so.
The ranking is that of ``rank_bm25`` (Okapi), over the notes that were kept. BM25's inverse document frequency is taken
over all notes that were read, because among notes that all hold the word it would be nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from muninn.model.content import NotePath
from muninn.model.listing import Entry
from muninn.model.page import blank_block
from muninn.model.sight import File

from .asking import Candidate, Filters
from .fields import LOG, RETIRED, read
from .question import Question, idf
from .settings import IndexSettings, Look, Walk
from .words import Lexicon, raw_words

_MOST_WORDS: Final = 20_000
"""Words of one note that are ranked."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan of the files found, best first. ``whole`` is False where time ran out."""

    rows: tuple[Candidate, ...]
    retired: int
    whole: bool
    meanings: dict[str, int]
    weights: tuple[float, ...]


def scan(
    walk: Walk,
    look: Look,
    question: Question,
    filters: Filters,
    sees: Callable[[str], bool],
    settings: IndexSettings,
    lexicon: Lexicon,
) -> Scanned:
    """Every visible note that fits the filters and holds a word of the question, ranked."""
    until = time.monotonic() + settings.degraded_scan_s
    meanings = {term: number for number, word in enumerate(question.words) for term in word.terms}
    kept: list[tuple[Candidate, list[str]]] = []
    holding = [0] * len(question.words)
    notes, retired, whole = 0, 0, True
    open_filters = Filters(
        filters.folder, filters.type, filters.status, filters.tags, filters.since, filters.until, with_retired=True
    )
    for path in _notes(walk, sees):
        if time.monotonic() > until:
            whole = False
            break
        sight = _see(look, path)
        if sight is None:
            continue
        notes += 1
        terms = _terms(sight, meanings, lexicon, settings)
        held = {meanings[term] for term in terms if term in meanings}
        for number in held:
            holding[number] += 1
        if not held:
            continue
        seen = read(path, sight.content, sight.hash, sight.mtime_ns, settings)
        if not open_filters.fit(path, seen.facts):
            continue
        if seen.facts.flags & RETIRED and not filters.with_retired:
            retired += 1
            continue
        kept.append((Candidate(path, sight.hash, 0.0, seen.facts), terms))
    weights = tuple(idf(notes, count) for count in holding)
    rows = _ranked(kept, meanings, weights)
    return Scanned(rows, retired, whole, meanings, weights)


def _notes(walk: Walk, sees: Callable[[str], bool]) -> Iterator[NotePath]:
    for entry in walk():
        if isinstance(entry, Entry) and entry.kind == "note" and sees(entry.path):
            yield entry.path


def _see(look: Look, path: NotePath) -> File | None:
    try:
        sight = look(path)
    except OSError:
        return None
    return sight if isinstance(sight, File) else None


def _terms(sight: File, meanings: dict[str, int], lexicon: Lexicon, settings: IndexSettings) -> list[str]:
    """The note's words in their first form, its name included; a word known by its second form only counts as that."""
    text = f"{sight.path} \n " + sight.content.decode("utf-8", "replace")
    if settings.folder_page is not None and sight.path.name.lower() == settings.folder_page.lower():
        text = blank_block(text)
    tongue = lexicon.of_note(text, 0)
    terms: list[str] = []
    for raw in raw_words(text)[:_MOST_WORDS]:
        forms = tongue[raw]
        if forms.main in meanings or not forms.short:
            terms += forms.main.split()
            terms += forms.more.split()
        else:
            terms.append(forms.short if forms.short in meanings else forms.main)
    return terms


def _ranked(
    kept: list[tuple[Candidate, list[str]]], meanings: dict[str, int], weights: tuple[float, ...]
) -> tuple[Candidate, ...]:
    if not kept:
        return ()
    from rank_bm25 import BM25Okapi

    ranker = BM25Okapi([terms for _, terms in kept])
    ranker.idf = {term: weights[number] for term, number in meanings.items()}
    scores = ranker.get_scores(list(meanings))
    scored = [
        Candidate(row.path, row.hash, float(score) * (0.5 if row.facts.flags & LOG else 1.0), row.facts)
        for (row, _), score in zip(kept, scores, strict=True)
    ]
    return tuple(sorted(scored, key=lambda row: (-row.score, row.path)))
