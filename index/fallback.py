"""Answer a question without an index: read the files, keep those that hold a word of it, rank them by BM25.

Slow, so it is cut at a fixed time; what was not reached by then is not in the answer, and the answer says so.
The ranking is that of ``rank_bm25`` (Okapi), over the notes that were kept. BM25's inverse document frequency is taken
over all notes that were read, because among notes that all hold the word it would be nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from muninn.model.content import NotePath
from muninn.model.listing import Entry, Known
from muninn.model.page import blank_block
from muninn.model.sight import File

from .asking import Candidate, Filters
from .fields import LOG, RETIRED, flags_unread, read
from .question import Question, idf
from .settings import IndexSettings, Look, Walk
from .stems import keeps_first_letter
from .words import Lexicon, Tongue, raw_words

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
    most: int,
) -> Scanned:
    """The ``most`` best of the visible notes that fit the filters and hold a word of the question."""
    until = time.monotonic() + settings.degraded_scan_s
    meanings = {term: number for number, word in enumerate(question.words) for term in word.terms}
    kept: list[_Kept] = []
    holding = [0] * len(question.words)
    notes, retired, whole = 0, 0, True
    open_filters = Filters(
        filters.folder, filters.type, filters.status, filters.tags, filters.since, filters.until, with_retired=True
    )
    words = _Words(meanings, lexicon, settings)
    for path in _notes(walk, sees):
        if time.monotonic() > until:
            whole = False
            break
        sight = _see(look, path)
        if sight is None:
            continue
        notes += 1
        terms = words.of(sight)
        for number in {meanings[term] for term in terms}:
            holding[number] += 1
        if not terms.found:
            continue
        flags = flags_unread(path, words.text, settings) if open_filters.empty else None
        if flags is None:
            facts = read(path, sight.content, sight.hash, sight.mtime_ns, settings).facts
            if not open_filters.fit(path, facts):
                continue
            flags = facts.flags
        if flags & RETIRED and not filters.with_retired:
            retired += 1
            continue
        kept.append(_Kept(path, terms, flags))
    weights = tuple(idf(notes, count) for count in holding)
    rows = _candidates(_ranked(kept, meanings, weights)[:most], look, settings)
    return Scanned(rows, retired, whole, meanings, weights)


def _notes(walk: Walk, sees: Callable[[str], bool]) -> Iterator[NotePath]:
    # A walk that is told what is known, if it is nothing, leaves each folder open for the looks at what is in it.
    for entry in walk(known=Known(lambda _: {}, 0, 0)):
        if isinstance(entry, Entry) and entry.kind == "note" and sees(entry.path):
            yield entry.path


def _see(look: Look, path: NotePath) -> File | None:
    try:
        sight = look(path)
    except OSError:
        return None
    return sight if isinstance(sight, File) else None


class _Terms(list[str]):
    """The question's terms in a note. As long as the note, which is what BM25 measures, though it holds no other."""

    def __init__(self, found: list[str], words: int) -> None:
        super().__init__(found)
        self.found = bool(found)
        self._words = words

    def __len__(self) -> int:
        return self._words


class _Means:
    """Which words of one language are terms of the question. Each word that is met is looked at once."""

    def __init__(self, meanings: dict[str, int], tongue: Tongue) -> None:
        self._meanings = meanings
        self._tongue = tongue
        self._met: set[str] = set()
        self._terms: dict[str, str] = {}
        """Of the words met, those that stand for terms."""
        # The second letter may already be another one in a stem: dying, die.
        starts = "".join({term.lstrip("~")[:1] for term in meanings})
        letters = re.escape(starts + starts.upper())
        kept = keeps_first_letter(tongue.language) and bool(letters)
        self._others = re.compile(rf"(?<![^ ])(?![{letters}])[A-Za-z][a-z]+(?![^ ])") if kept else None
        """Plain words between blanks that begin as no term does, and so are none."""

    def among(self, raws: list[str]) -> list[str]:
        """The question's terms among a note's words, in their order."""
        words = set(raws)
        self._learn(words.difference(self._met))
        if words.isdisjoint(self._terms):
            return []
        return " ".join(filter(None, map(self._terms.get, raws))).split()

    def _learn(self, new: set[str]) -> None:
        self._met |= new
        # Most words go by one expression: asking word by word costs more than reading the notes.
        for raw in new if self._others is None else self._others.sub("", " ".join(new)).split():
            terms = " ".join(term for term in self._forms(raw) if term in self._meanings)
            if terms:
                self._terms[raw] = terms

    def _forms(self, raw: str) -> list[str]:
        forms = self._tongue[raw]
        if forms.main in self._meanings or not forms.short:
            return [*forms.main.split(), *forms.more.split()]
        return [forms.short if forms.short in self._meanings else forms.main]


class _Words:
    """Looks for a question's terms in notes. A word is counted by its second form only where its first is not asked
    for."""

    def __init__(self, meanings: dict[str, int], lexicon: Lexicon, settings: IndexSettings) -> None:
        self._meanings = meanings
        self._lexicon = lexicon
        self._page = None if settings.folder_page is None else settings.folder_page.lower()
        self._means: dict[str, _Means] = {}
        self.text = ""
        """The text of the last note, decoded."""

    def of(self, sight: File) -> _Terms:
        """The terms in a note, its path included."""
        text = sight.content.decode("utf-8", "replace")
        if self._page is not None and sight.path.name.lower() == self._page:
            text = blank_block(text)
        self.text = text
        text = f"{sight.path} \n {text}"
        tongue = self._lexicon.of_note(text, 0)
        means = self._means.get(tongue.language)
        if means is None:
            means = self._means[tongue.language] = _Means(self._meanings, tongue)
        raws = raw_words(text)[:_MOST_WORDS]
        return _Terms(means.among(raws), len(raws))


@dataclass(frozen=True, slots=True)
class _Kept:
    """A note that is ranked."""

    path: NotePath
    terms: _Terms
    flags: int


def _ranked(kept: list[_Kept], meanings: dict[str, int], weights: tuple[float, ...]) -> list[tuple[NotePath, float]]:
    """Paths with their scores, best first."""
    if not kept:
        return []
    from rank_bm25 import BM25Okapi

    ranker = BM25Okapi([row.terms for row in kept])
    ranker.idf = {term: weights[number] for term, number in meanings.items()}
    scores = ranker.get_scores(list(meanings))
    scored = [
        (row.path, float(score) * (0.5 if row.flags & LOG else 1.0)) for row, score in zip(kept, scores, strict=True)
    ]
    return sorted(scored, key=lambda row: (-row[1], row[0]))


def _candidates(best: list[tuple[NotePath, float]], look: Look, settings: IndexSettings) -> tuple[Candidate, ...]:
    """The best with their facts, for which each is read once more: the bytes of all that were kept would be many."""
    rows = []
    for path, score in best:
        sight = _see(look, path)
        if sight is not None:
            facts = read(path, sight.content, sight.hash, sight.mtime_ns, settings).facts
            rows.append(Candidate(path, sight.hash, score, facts))
    return tuple(rows)
