"""A note cut into the passages that vectors are made of: ``title (description). heading. block``.

A block is some 110 words of one section; short sections are joined with the next. A note gives at most twelve: where
it would give more, its blocks grow first, and what is then still left over is not looked at. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
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
    start: int
    words: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Section:
    """``lines`` are the words of each line, and where in the body the line begins."""

    heading: str
    start: int
    lines: list[tuple[int, list[str]]] = field(default_factory=list)

    def count(self) -> int:
        return sum(len(words) for _, words in self.lines)


def passages(title: str, description: str, body: str) -> list[str]:
    """The passages of a note, at least one; the same note always gives the same."""
    head = f"{title} ({description})" if description else title
    return [_composed(head, block) for block in _blocks(body)] or [_cut(head)]


def starts(body: str) -> list[int]:
    """Where in the body each passage's first line begins, in the order of ``passages``."""
    return [block.start for block in _blocks(body)] or [0]


def _blocks(body: str) -> list[_Block]:
    sections = list(_sections(body[:_MOST_TEXT]))
    total = sum(section.count() for section in sections)
    size = min(max(WORDS, -(-total // MOST_PASSAGES)), MOST_WORDS)
    return list(islice(_joined(sections, size), MOST_PASSAGES))


def _composed(head: str, block: _Block) -> str:
    heading = f"{block.heading}. " if block.heading and block.heading != head else ""
    return _cut(f"{head}. {heading}{' '.join(block.words)}")


def _cut(text: str) -> str:
    return text[:_MOST_CHARS]


def _sections(body: str) -> Iterator[_Section]:
    """The sections of a body. A line of hashes inside a fence is no heading."""
    section, fence, place = _Section("", 0), "", 0
    for line in body.splitlines(keepends=True):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        elif (found := _HEADING.match(line.rstrip("\r\n"))) is not None:
            if section.lines or section.heading:
                yield section
            section = _Section(" ".join(_plain(found[1].rstrip("# \t"))), place)
            place += len(line)
            continue
        words = _plain(bare)
        if words:
            section.lines.append((place, words))
        place += len(line)
    if section.lines or section.heading:
        yield section


def _plain(line: str) -> list[str]:
    """The words of a line without the targets of its links and without Markdown's signs."""
    return _TARGET.sub("]", line).translate(_SIGNS).split() if line else []


def _joined(sections: list[_Section], size: int) -> Iterator[_Block]:
    """Sections cut where they are long, and put together where they are short."""
    block: _Block | None = None
    for section in sections:
        if block is None:
            block = _Block(section.heading, section.start)
        elif len(block.words) >= _SHORT or len(block.words) + section.count() > size:
            yield block
            block = _Block(section.heading, section.start)
        elif section.heading:
            block.words.append(f"{section.heading}.")
        for place, words in section.lines:
            for word in words:
                if len(block.words) >= size:
                    yield block
                    block = _Block(block.heading, place)
                block.words.append(word)
    if block is not None and (block.words or block.heading):
        yield block
