"""A note cut into the passages that vectors are made of: ``title (description). heading. block`` (SEARCH.md 3).

A block is some 110 words of one section; short sections are joined with the next. A note gives at most twelve: where
it would give more, its blocks grow first, and what is then still left over is not looked at. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

WORDS: Final = 110
MOST_WORDS: Final = 180
"""Beyond that a model of 256 tokens would not read a block's end."""
MOST_PASSAGES: Final = 12
_SHORT: Final = 40
_MOST_CHARS: Final = 2_000
_MOST_TEXT: Final = 256 * 1024

_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)\Z")
_TARGET: Final = re.compile(r"\]\([^()\n]{0,400}\)")
_SIGNS: Final = str.maketrans(dict.fromkeys("[]*`|<>", " "))


@dataclass(slots=True)
class _Block:
    heading: str
    words: list[str] = field(default_factory=list)


def passages(title: str, description: str, body: str) -> list[str]:
    """The passages of a note, at least one; the same note always gives the same."""
    head = f"{title} ({description})" if description else title
    sections = list(_sections(body[:_MOST_TEXT]))
    total = sum(len(words) for _, words in sections)
    size = min(max(WORDS, -(-total // MOST_PASSAGES)), MOST_WORDS)
    found = [_composed(head, block) for block in _blocks(sections, size)]
    return found[:MOST_PASSAGES] or [_cut(head)]


def _composed(head: str, block: _Block) -> str:
    heading = f"{block.heading}. " if block.heading and block.heading != head else ""
    return _cut(f"{head}. {heading}{' '.join(block.words)}")


def _cut(text: str) -> str:
    return text[:_MOST_CHARS]


def _sections(body: str) -> Iterator[tuple[str, list[str]]]:
    """Heading and words of each section. A line of hashes inside a fence is no heading."""
    heading, words, fence = "", list[str](), ""
    for line in body.splitlines():
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        elif (found := _HEADING.match(line)) is not None:
            if words or heading:
                yield heading, words
            heading, words = " ".join(_plain(found[1].rstrip("# \t"))), []
            continue
        words += _plain(bare)
    if words or heading:
        yield heading, words


def _plain(line: str) -> list[str]:
    """The words of a line without the targets of its links and without Markdown's signs."""
    return _TARGET.sub("]", line).translate(_SIGNS).split() if line else []


def _blocks(sections: list[tuple[str, list[str]]], size: int) -> Iterator[_Block]:
    block: _Block | None = None
    for heading, words in sections:
        if block is None:
            block = _Block(heading)
        elif len(block.words) >= _SHORT or len(block.words) + len(words) > size:
            yield block
            block = _Block(heading)
        elif heading:
            block.words.append(f"{heading}.")
        for word in words:
            if len(block.words) >= size:
                yield block
                block = _Block(block.heading)
            block.words.append(word)
    if block is not None and (block.words or block.heading):
        yield block
