"""A question in plain words, read once: what is looked for, and how the index is asked for it.

No text of a client reaches the index but as quoted terms that were made here. A word is looked for by its stems in the
question's own language and in those of the shelf that is asked. Rare words choose the candidates: words are taken from
the rarest on until their postings exceed a budget (docs/explain/search.md). What else a word may stand for, where the
shelf does not know it, is found in ``guessing``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import apsw

from . import guessing
from .guessing import Guess
from .languages import FALLBACK, MOST_AT_ONCE, markers
from .store import one
from .words import PREFIX, Lexicon, Tongue, fold, identifiers, pattern, phrase

MOST_WORDS: Final = 64
MOST_CHARACTERS: Final = 16_384
"""Of a query, wherever a client may send one: more than 64 words have, and no more than can be read at once."""
_LEAST_BUDGET: Final = 4_000
_TOO_COMMON: Final = 3
"""Budgets that the rarest word's postings may cost: beyond, a question takes over five times as long as a usual one."""
_SPOKEN_SHARE: Final = 100
"""A language counts as one of a shelf's where at least one note in so many is in it."""
_LAST: Final = "\U0010ffff"
"""Comes behind every letter, as SQLite compares text."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the question: as typed, folded, and the terms that find it. ``others`` are its stems in further
    languages."""

    text: str
    folded: str
    main: tuple[str, ...]
    short: tuple[str, ...]
    more: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def stems(self) -> tuple[str, ...]:
        """The whole word's stems; none where it has several parts."""
        return (*self.main, *self.others) if len(self.main) == 1 else ()

    @property
    def terms(self) -> tuple[str, ...]:
        return (*self.main, *self.others, *self.short, *self.more)


@dataclass(frozen=True, slots=True)
class Question:
    """``words`` are the words that count; where all are common ones (``common``), those. ``names`` are identifiers,
    ``tongues`` the languages it may be in, ``typed`` are all its words as they stand there."""

    words: tuple[Word, ...]
    names: tuple[str, ...]
    common: bool
    cut: bool
    typed: tuple[str, ...] = ()
    lexicon: Lexicon = field(default_factory=Lexicon, repr=False, compare=False)
    tongues: tuple[Tongue, ...] = field(default=(), repr=False, compare=False)


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
    tongues = lexicon.of_question(text[:end])
    taken = [_word(raw, tongues) for raw in raws]
    common = _common(raws, tongues)
    content = [word for word in taken if word.main and word.text not in common]
    chosen = content or [word for word in taken if word.main]
    distinct = tuple({word.main: word for word in chosen}.values())
    names = tuple(dict.fromkeys(identifiers(text[:end])))
    return Question(distinct, names, not content and bool(distinct), cut, tuple(raws), lexicon, tongues)


def _word(raw: str, tongues: tuple[Tongue, ...]) -> Word:
    forms = tongues[0][raw]
    more = tuple(forms.more.split()) if raw.isascii() else ()
    word = Word(raw, fold(raw[:64]), tuple(forms.main.split()), tuple(forms.short.split()), more)
    if forms.common and len(word.folded) >= PREFIX:
        word = replace(word, short=("~" + word.folded[:PREFIX],))
    return _in_tongues(word, tongues)


def _in_tongues(word: Word, tongues: Iterable[Tongue]) -> Word:
    """The word with its stems in more languages. One that was typed without its accents may have another stem."""
    if len(word.main) != 1 or not word.folded.isalpha():
        return word
    stems = dict.fromkeys(tongue.stem(form) for tongue in tongues for form in (word.text[:64], word.folded))
    return replace(word, others=tuple(stem for stem in stems if stem not in word.main))


def _common(raws: list[str], tongues: tuple[Tongue, ...]) -> frozenset[str]:
    """The words of a question that stand in nearly every sentence.

    One such word alone is no proof of a language: ``die`` may be English. Then only English ones and the shortest
    count.
    """
    said = {raw for raw in raws for tongue in tongues if tongue[raw].common}
    if len(said) > 1 or not said or len(raws) <= 1:
        return frozenset(said)
    english = tongues[0] if tongues[0].language == FALLBACK else None
    return frozenset(raw for raw in said if english is not None or len(raw) < 3)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one shelf is asked. ``expression`` is FTS5's; None where the shelf knows none of the words.

    ``meanings`` says for each term which word of the question it stands for; ``weights`` how telling each word is
    (its inverse document frequency); ``known`` whether the shelf holds it; ``guessed`` what stands in for those that it
    does not; ``too_common`` that even the rarest word stands in too many notes to rank them all. ``words`` are the
    question's with this shelf's stems. ``doubled``: a short word that is asked for alone counts twice, though its list
    is gone through once.
    """

    expression: str | None
    meanings: dict[str, int]
    weights: tuple[float, ...]
    known: tuple[bool, ...]
    guessed: dict[int, Guess]
    too_common: bool = False
    words: tuple[Word, ...] = ()
    doubled: bool = False

    def within(self, columns: str) -> str:
        """The expression, for some of the columns alone."""
        return f"{{{columns}}} : ({self.expression})"


def plan(
    question: Question, connection: apsw.Connection, notes: int, sees: Callable[[str], bool] | None = None
) -> Plan:
    """Choose the terms to ask for, by how many notes each stands in. ``sees`` says by which notes a word is known, None
    that by all."""
    tongues = _spoken(question, connection, notes)
    words = [_in_tongues(word, tongues) for word in question.words]
    counts = _counts(connection, [term for word in words for term in word.terms] + list(question.names))
    guessed = guessing.guess(words, tongues, connection, counts, sees)
    more = {number: found.terms for number, found in guessed.items()}
    meanings: dict[str, int] = {}
    costs: list[int] = []
    known: list[bool] = []
    weights: list[float] = []
    for number, word in enumerate(words):
        terms = [term for term in (*word.terms, *more.get(number, ())) if term in counts]
        for term in terms:
            if term not in word.more:
                meanings.setdefault(term, number)
        costs.append(sum(counts[term] for term in terms))
        known.append(bool(terms))
        weights.append(idf(notes, _holding(word, terms, counts, notes)))
    chosen, too_common = _choose(costs, max(notes // 10, _LEAST_BUDGET))
    parts = [_quoted(name) for name in question.names if name in counts]
    for number in chosen:
        whole = _known(words[number], 0, counts) if too_common else None
        # A list that names nearly every note is gone through once, not once more for the beginning of the word.
        parts += [_quoted(whole)] if whole else _expressions(words[number], more.get(number, ()), counts)
    parts += _pairs(words, chosen, counts)
    doubled = len(parts) == 2 and parts[0] == parts[1]
    expression = " OR ".join(parts[doubled:]) or None
    return Plan(expression, meanings, tuple(weights), tuple(known), guessed, too_common, tuple(words), doubled)


def _spoken(question: Question, connection: apsw.Connection, notes: int) -> tuple[Tongue, ...]:
    """The question's languages, and those that many of the shelf's notes are in."""
    if question.lexicon.is_set:
        return question.tongues
    marks = dict(markers())
    sql = f"SELECT notes, term FROM words WHERE term IN ({','.join('?' * len(marks))}) AND notes >= ?"
    found = sorted(connection.execute(sql, (*marks, max(1, notes // _SPOKEN_SHARE))), reverse=True)
    spoken = [question.lexicon.tongue(marks[term]) for _, term in found[:MOST_AT_ONCE]]
    return tuple({tongue.language: tongue for tongue in (*question.tongues, *spoken)}.values())


def _holding(word: Word, terms: list[str], counts: dict[str, int], notes: int) -> int:
    """In how many notes a word stands: by its stem, or by whatever else finds it where the stem is not known."""
    whole = max((counts.get(stem, 0) for stem in word.stems), default=0)
    return min(whole or max((counts[term] for term in terms), default=0), notes)


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
    return sorted(chosen), bool(ranked) and ranked[0][0] > _TOO_COMMON * budget


def _expressions(word: Word, guessed: tuple[str, ...], counts: dict[str, int]) -> list[str]:
    terms = [term for term in (*word.terms, *guessed) if term in counts]
    parts = [_quoted(term) for term in dict.fromkeys(terms)]
    if not word.short and len(word.main) == 1 and parts:
        parts.append(parts[0])  # a short word has one form and would count half
    if len(word.main) > 1 and all(term in counts for term in word.main):
        parts.append(_quoted(" ".join(word.main)))
    return parts


def _pairs(words: list[Word], chosen: list[int], counts: dict[str, int]) -> list[str]:
    """Neighbouring words, as phrases."""
    parts = []
    for number in chosen:
        if number + 1 not in chosen:
            continue
        first, second = _known(words[number], -1, counts), _known(words[number + 1], 0, counts)
        if first is not None and second is not None:
            parts.append(_quoted(f"{first} {second}"))
    return parts


def _known(word: Word, part: int, counts: dict[str, int]) -> str | None:
    """The term that stands for a word's first or last part, the one in most notes where it has several stems."""
    known = [term for term in (word.main[part], *word.others) if term in counts]
    return max(known, key=counts.__getitem__, default=None)


def _quoted(terms: str) -> str:
    if terms.startswith("~"):
        return _quoted(terms[1:]) + " *"
    return phrase(terms)


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
