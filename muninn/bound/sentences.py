"""Sentences of a note with their lines, and whether two of them say nearly the same, by their words alone.

No model: words are folded and stemmed as the search does it, and compared as sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from index.words import Tongue, fold, raw_words
from muninn.model.note import Note
from muninn.model.page import blank_block

NEAR: Final = 0.8
"""Dice's coefficient of the words of two sentences from which they count as nearly the same."""
_FEWEST: Final = 2
"""Telling words that both must have: one word alone says nothing."""
LONGEST: Final = 2_000
"""Characters of one sentence that are compared."""

_BREAK: Final = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|\||```|~~~)")
_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]++[」』”）]*+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """``line`` is the file's line it begins on, 1-based."""

    line: int
    text: str


def of(note: Note) -> Iterator[Sentence]:
    """The sentences of a note's body. A heading, a list's item and a table's row end what stands before them; the
    managed lines of a folder's page are left out."""
    lines: list[str] = []
    first = note.body_line
    for number, line in enumerate(blank_block(note.body).split("\n"), note.body_line):
        if lines and (not line.strip() or _BREAK.match(line)):
            yield from _cut(lines, first)
            lines = []
        if line.strip():
            if not lines:
                first = number
            lines.append(line)
            if line.lstrip().startswith("#"):
                yield from _cut(lines, first)
                lines = []
    yield from _cut(lines, first)


def _cut(lines: list[str], first: int) -> Iterator[Sentence]:
    """One block cut where sentences end."""
    text = "\n".join(lines)
    start, line = 0, first
    for end in [*(found.end() for found in _END.finditer(text)), len(text)]:
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        line += piece.count("\n", 0, lead)
        shown = " ".join(piece.split())
        if shown:
            yield Sentence(line, shown)
        line += piece.count("\n", lead)
        start = end


def words(text: str, tongue: Tongue, most: int = LONGEST) -> frozenset[str]:
    """The telling words of a text's first ``most`` characters, folded and stemmed; function words are none.

    Texts that are compared are read in one language, whatever each would be taken for by itself.
    """
    return frozenset(tongue.column(text[:most]).split())


def every_word(text: str) -> frozenset[str]:
    """The words of a text with its function words, folded and not stemmed."""
    return frozenset(map(fold, raw_words(text[:LONGEST])))


def near(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sentences, given by their words, say nearly the same.

    >>> near(frozenset("port 8443 gateway".split()), frozenset("gateway port 8443".split()))
    True
    >>> near(frozenset(["port"]), frozenset(["port"]))
    False
    """
    if min(len(one), len(other)) < _FEWEST:
        return False
    return 2 * len(one & other) / (len(one) + len(other)) >= NEAR
