"""Where in a note a question's words stand: how near to each other, in which passage, and a snippet from it.

A passage is a window of some 110 words, measured in characters; its worth is the share of the question's
words in it, weighted by how telling they are. All places are those of the file's own text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .question import Question
from .words import Lexicon, Tongue, fold, is_unspaced

PASSAGE_CHARS: Final = 650
NEAR_CHARS: Final = 55
SNIPPET_CHARS: Final = 400
_START: Final = 4


class _Flat(dict[int, str]):
    """A table for ``str.translate``: each character folded where that gives one character, so that places stand."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        flat = fold(char)
        self[code] = flat if len(flat) == 1 else char
        return self[code]


_FLAT: Final = _Flat()
_BEYOND: Final = re.compile(r"[^\x00-\x7f]+")


def flat(text: str) -> str:
    """A text folded character by character: as long as it was."""
    if not text.isascii():
        # Most texts have few such letters, and a table costs for every one.
        text = _BEYOND.sub(lambda found: found[0].translate(_FLAT), text)
    return text.lower()


class Finder:
    """Finds a question's words in a text. ``terms`` says which word of the question each term stands for."""

    def __init__(self, question: Question, terms: dict[str, int], lexicon: Lexicon) -> None:
        self._terms = terms
        self._lexicon = lexicon
        self._typed = {word.folded: number for number, word in enumerate(question.words)}
        self._numbers: dict[str, dict[str, int]] = {}
        starts = {_start(term) for term in terms} | {word[:_START] for word in self._typed if not is_unspaced(word)}
        self._pattern = _pattern(starts - {""}, {term for term in terms if is_unspaced(term)})

    def tongue(self, text: str, body: int) -> Tongue:
        """The language of a note, as the index has stemmed it."""
        return self._lexicon.of_note(text, body)

    def places(self, text: str, tongue: Tongue | None = None) -> list[tuple[int, int, int]]:
        """Start, end and number of every word of the question, in the order of the text. Without a tongue the text is
        taken for one of no known language."""
        if self._pattern is None:
            return []
        tongue = tongue or self._lexicon.tongue()
        known = self._numbers.setdefault(tongue.language, {})
        found = []
        for match in self._pattern.finditer(flat(text)):
            word = text[match.start() : match.end()]
            number = known.get(word)
            if number is None:
                number = known[word] = self._number(word, match[0], tongue)
            if number >= 0:
                found.append((match.start(), match.end(), number))
        return found

    def numbers(self, text: str, tongue: Tongue | None = None) -> frozenset[int]:
        """Which words of the question stand in a text."""
        return frozenset(number for _, _, number in self.places(text, tongue))

    def _number(self, word: str, flat_word: str, tongue: Tongue) -> int:
        """The number of the question's word that a word of a text stands for, -1 for none."""
        terms = self._terms
        if flat_word in terms and is_unspaced(flat_word):
            return terms[flat_word]
        forms = tongue[word]
        for term in (forms.main, forms.short, *forms.main.split()):
            if term in terms:
                return terms[term]
        return self._typed.get(flat_word, -1)


def _start(term: str) -> str:
    """How every word begins that a term stands for. A stem may end in an ``i`` for a ``y``."""
    if term.startswith("~") or is_unspaced(term):
        return "" if is_unspaced(term) else term[1:]
    return (term[:-1] if term.endswith("i") and len(term) > 2 else term)[:_START]


def _pattern(starts: set[str], runs: set[str]) -> re.Pattern[str] | None:
    """One expression for all. Each branch begins with a plain letter, by which the search skips; that no letter
    stands before it is asked after it."""
    least: list[str] = []
    for start in sorted(starts):
        if not (least and start.startswith(least[-1])):
            least.append(start)
    branches = [
        f"{re.escape(start[0])}(?<![^\\W_]{re.escape(start[0])}){re.escape(start[1:])}[^\\W_]*" for start in least
    ]
    branches += [re.escape(run) for run in sorted(runs, key=lambda run: (-len(run), run))]
    return re.compile("|".join(branches)) if branches else None


@dataclass(frozen=True, slots=True)
class Traces:
    """What a note's text holds of a question. ``near`` and ``passage`` are shares from 0 to 1; ``start`` and ``end``
    are the best passage's places in the text, -1 where no word of the question stands in it."""

    held: frozenset[int]
    near: float
    passage: float
    start: int
    end: int


def trace(text: str, body: int, finder: Finder, weights: tuple[float, ...], tongue: Tongue | None = None) -> Traces:
    """Find the question's words in a note. ``body`` is where the body begins; a passage there goes before one above."""
    found = finder.places(text, tongue)
    if not found:
        return Traces(frozenset(), 0.0, 0.0, -1, -1)
    held = frozenset([number for _, _, number in found])
    in_body = [place for place in found if place[0] >= body]
    worth, start, end = _best_window(in_body or found, weights)
    return Traces(held, _nearness(found, len(weights)), worth, start, end)


def _best_window(found: list[tuple[int, int, int]], weights: tuple[float, ...]) -> tuple[float, int, int]:
    """The window that holds most of the question; of equal ones the tightest, then the first."""
    counts = [0] * len(weights)
    begin, worth = 0, 0.0
    best = (-1.0, 0, 0, 0)
    for start, end, number in found:
        if not counts[number]:
            worth += weights[number]
        counts[number] += 1
        while start - found[begin][0] > PASSAGE_CHARS or counts[found[begin][2]] > 1:
            gone = found[begin][2]
            counts[gone] -= 1
            if not counts[gone]:
                worth -= weights[gone]
            begin += 1
        first = found[begin][0]
        if worth > best[0] + 1e-9 or (worth > best[0] - 1e-9 and first - end > best[1]):
            best = (worth, first - end, first, end)
    return best[0] / (sum(weights) or 1.0), best[2], best[3]


def _nearness(found: list[tuple[int, int, int]], words: int) -> float:
    """Of the pairs of neighbouring words of the question, the share that stands near to each other somewhere."""
    if words < 2:
        return 0.0
    last_seen = [-NEAR_CHARS - 1] * (words + 1)
    pairs = set()
    for start, end, number in found:
        if number and start - last_seen[number - 1] <= NEAR_CHARS:
            pairs.add(number)
        if start - last_seen[number + 1] <= NEAR_CHARS and number + 1 < words:
            pairs.add(number + 1)
        last_seen[number] = end
    return len(pairs) / (words - 1)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A cut of a file's text and the lines it stands on (1-based, in the file)."""

    text: str
    start_line: int
    end_line: int


def snippet(text: str, body: int, start: int, end: int) -> Snippet:
    """At most 400 characters around a passage; without one, the beginning of the body."""
    if start < 0:
        head = text[body : body + 4096]
        begin = body + len(head) - len(head.lstrip()) if head.strip() else 0
        return _cut(text, begin, begin + SNIPPET_CHARS)
    line = text.rfind("\n", 0, start) + 1
    if min(end, start + SNIPPET_CHARS) - line > SNIPPET_CHARS:
        room = SNIPPET_CHARS - min(end - start, SNIPPET_CHARS)
        line = max(start - room // 2, line)
        space = text.find(" ", line, start)
        line = space + 1 if space >= 0 else line
    return _cut(text, line, line + SNIPPET_CHARS)


def _cut(text: str, begin: int, end: int) -> Snippet:
    """The text between two places, ended at a line's or else a word's end, without blanks around it."""
    if end < len(text):
        middle = begin + SNIPPET_CHARS // 2
        stop = text.rfind("\n", middle, end)
        stop = stop if stop >= 0 else text.rfind(" ", middle, end)
        end = stop if stop >= 0 else end
    piece = text[begin:end]
    bare = piece.strip()
    begin += len(piece) - len(piece.lstrip())
    start_line = text.count("\n", 0, begin) + 1
    return Snippet(bare, start_line, start_line + bare.count("\n"))
