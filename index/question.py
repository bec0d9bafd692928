"""A question in plain words, read once: what is looked for, and how the index is asked for it.

No text of a client reaches the index but as quoted terms that were made here. Rare words choose the candidates:
words are taken from the rarest on until their postings exceed a budget (PERFORMANCE.md 1c). Words the vault does not
know get up to three of its words at edit distance one.
"""

from __future__ import annotations

import json
import math
import string
from dataclasses import dataclass
from typing import Any, Final

import apsw

from .store import one
from .words import Lexicon, fold, identifiers, pattern

MOST_WORDS: Final = 64
_LEAST_BUDGET: Final = 4_000
_MOST_TYPOS: Final = 8
_CORRECTIONS: Final = 3
_LAST: Final = "\U0010ffff"
"""Comes behind every letter, as SQLite compares text."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the question: as typed, folded, and the terms that find it."""

    text: str
    folded: str
    main: tuple[str, ...]
    short: tuple[str, ...]
    more: tuple[str, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        return (*self.main, *self.short, *self.more)


@dataclass(frozen=True, slots=True)
class Question:
    """``words`` are the words that count; where all are common ones (``common``), those. ``names`` are identifiers."""

    words: tuple[Word, ...]
    names: tuple[str, ...]
    common: bool
    cut: bool


def read(text: str, lexicon: Lexicon) -> Question:
    """Read a question. Any text will do; one without a word gives a question without words.

    >>> [word.text for word in read("what is the canary-deploy gate?", Lexicon()).words]
    ['canary', 'deploy', 'gate']
    """
    raws: list[str] = []
    words = pattern(text)
    end = 0
    for found in words.finditer(text):
        if len(raws) == MOST_WORDS:
            break
        raws.append(found[0])
        end = found.end()
    else:
        end = len(text)
    cut = words.search(text, end) is not None
    taken = [_word(raw, lexicon) for raw in raws]
    content = [word for word in taken if word.main and not lexicon[word.text].common]
    chosen = content or [word for word in taken if word.main]
    distinct = tuple({word.main: word for word in chosen}.values())
    names = tuple(dict.fromkeys(identifiers(text[:end])))
    return Question(distinct, names, common=not content and bool(distinct), cut=cut)


def _word(raw: str, lexicon: Lexicon) -> Word:
    forms = lexicon[raw]
    more = tuple(forms.more.split()) if raw.isascii() else ()
    return Word(raw, fold(raw[:64]), tuple(forms.main.split()), tuple(forms.short.split()), more)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one shelf is asked. ``expression`` is FTS5's; None where the shelf knows none of the words.

    ``meanings`` says for each term which word of the question it stands for; ``weights`` how telling each word is
    (its inverse document frequency); ``known`` whether the shelf holds it; ``titles_only`` that even the rarest word
    stands in too many notes to look through their bodies.
    """

    expression: str | None
    meanings: dict[str, int]
    weights: tuple[float, ...]
    known: tuple[bool, ...]
    corrected: tuple[bool, ...]
    titles_only: bool = False


def plan(question: Question, connection: apsw.Connection, notes: int) -> Plan:
    """Choose the terms to ask for, by how many notes each stands in."""
    counts = _counts(connection, [term for word in question.words for term in word.terms] + list(question.names))
    extra = _corrections(question, connection, counts)
    meanings: dict[str, int] = {}
    costs: list[int] = []
    known: list[bool] = []
    weights: list[float] = []
    for number, word in enumerate(question.words):
        terms = [term for term in (*word.terms, *extra.get(number, ())) if term in counts]
        for term in terms:
            if term not in word.more:
                meanings.setdefault(term, number)
        costs.append(sum(counts[term] for term in terms))
        reach = max((counts[term] for term in terms), default=0)
        known.append(bool(terms))
        weights.append(idf(notes, min(counts.get(word.main[0], reach), reach)))
    chosen, too_common = _choose(costs, max(notes // 10, _LEAST_BUDGET))
    parts = [_quoted(name) for name in question.names if name in counts]
    for number in chosen:
        parts += _expressions(question.words[number], extra.get(number, ()), counts)
    parts += _pairs(question, chosen, counts)
    expression = " OR ".join(parts) or None
    if too_common and expression is not None:
        expression = f"{{title names heads}} : ({expression})"
    corrected = tuple(number in extra for number in range(len(question.words)))
    return Plan(expression, meanings, tuple(weights), tuple(known), corrected, too_common)


def idf(notes: int, holding: int) -> float:
    """Inverse document frequency as BM25 has it (Robertson and Spärck Jones), kept above zero by the one added."""
    return math.log(1 + (notes - holding + 0.5) / (holding + 0.5))


def _choose(costs: list[int], budget: int) -> tuple[list[int], bool]:
    """The numbers of the words to ask for, in their order, the rarest always; and whether even that is too common."""
    ranked = sorted((cost, number) for number, cost in enumerate(costs) if cost)
    chosen: list[int] = []
    spent = 0
    for cost, number in ranked:
        if chosen and spent + cost > budget:
            break
        spent += cost
        chosen.append(number)
    return sorted(chosen), bool(ranked) and ranked[0][0] > 8 * budget


def _expressions(word: Word, corrections: tuple[str, ...], counts: dict[str, int]) -> list[str]:
    terms = [term for term in (*word.main, *word.short, *word.more, *corrections) if term in counts]
    parts = [_quoted(term) for term in dict.fromkeys(terms)]
    if not word.short and len(word.main) == 1 and parts:
        parts.append(parts[0])  # a short word has one form and would count half
    if len(word.main) > 1 and all(term in counts for term in word.main):
        parts.append(_quoted(" ".join(word.main)))
    return parts


def _pairs(question: Question, chosen: list[int], counts: dict[str, int]) -> list[str]:
    """Neighbouring words, as phrases."""
    parts = []
    for number in chosen:
        if number + 1 not in chosen:
            continue
        first, second = question.words[number].main[-1], question.words[number + 1].main[0]
        if first in counts and second in counts:
            parts.append(_quoted(f"{first} {second}"))
    return parts


def _quoted(terms: str) -> str:
    if terms.startswith("~"):
        return _quoted(terms[1:]) + " *"
    return '"' + terms.replace('"', '""') + '"'


def _counts(connection: apsw.Connection, terms: list[str]) -> dict[str, int]:
    """In how many notes each term stands, for those that stand in any; at most so many for the beginning of terms."""
    distinct = [term for term in dict.fromkeys(terms) if not term.startswith("~")]
    marks = ",".join("?" * len(distinct))
    counts = dict(connection.execute(f"SELECT term, notes FROM words WHERE term IN ({marks})", distinct))
    for term in dict.fromkeys(terms):
        if term.startswith("~"):
            reach = (term[1:], term[1:] + _LAST)
            found = one(connection, "SELECT sum(notes) FROM words WHERE term BETWEEN ? AND ?", reach)[0]
            if found:
                counts[term] = found
    return counts


def _corrections(question: Question, connection: apsw.Connection, counts: dict[str, int]) -> dict[int, tuple[str, ...]]:
    """For words in at most one note: the vault's commonest words at edit distance one. Adds their counts."""
    found: dict[int, tuple[str, ...]] = {}
    for number, word in enumerate(question.words):
        if len(found) == _MOST_TYPOS:
            break
        if len(word.main) != 1 or len(word.folded) < 4 or not word.folded.isalpha():
            continue
        if max((counts.get(term, 0) for term in word.terms), default=0) > 1:
            continue
        near = _neighbours(word.main[0])
        rows: list[Any] = connection.execute(
            "SELECT term, notes FROM words WHERE term IN (SELECT value FROM json_each(?))"
            " ORDER BY notes DESC, term LIMIT ?",
            (json.dumps(sorted(near)), _CORRECTIONS),
        ).fetchall()
        if rows:
            counts.update(rows)
            found[number] = tuple(term for term, _ in rows)
    return found


def _neighbours(word: str) -> set[str]:
    """Every word one insertion, deletion, replacement or swap of neighbours away."""
    letters = string.ascii_lowercase if word.isascii() else string.ascii_lowercase + "".join(sorted(set(word)))
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    near = {head + tail[1:] for head, tail in cuts if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1}
    near |= {head + letter + tail[1:] for head, tail in cuts if tail for letter in letters}
    near |= {head + letter + tail for head, tail in cuts for letter in letters}
    return near - {word}
