"""One pass over Markdown that finds what links, and skips code and comments. Pure, and linear in the text's length.

The scanner looks only at the characters that can begin something and never goes back over text it has passed;
where a closing mark is missing it remembers so, instead of looking for it again. Every expression here reads a
bounded stretch, or one that no later match reads again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

LinkKind = Literal["wikilink", "embed", "markdown"]

_MARK = re.compile(r"\\[^\r\n]|`+|~{3,}|<!--|%%|!?\[\[|!?\[|\]\(|\]")
_SIMPLE = re.compile(r"\[(?:\[([^\[\]\r\n]{1,1000})\]\]|([^\[\]]{0,500})\]\()")
WIKILINK = re.compile(r"\[\[([^\[\]\r\n]{1,1000})\]\]")
_LINE_START = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*\Z")
_BLOCK_END = re.compile(r"\n(?=[ \t>]{0,200}(?:\r?\n|\Z|#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|`{3}|~{3}|\|))")
_SPECIAL: Final = ("`", "~~~", "<!--", "%%", "\\")
_TICKS = re.compile(r"`+")
DESTINATION = re.compile(
    r"[ \t\r\n]{0,20}(?:<([^<>\r\n]{0,2000})>|([^\s()<](?:[^\s()]|\([^\s()]{0,500}\)){0,2000})|)"
    r"""(?:[ \t\r\n]{1,20}(?:"[^"]{0,500}"|'[^']{0,500}'|\([^()]{0,500}\)))?[ \t\r\n]{0,20}\)"""
)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
_MARGIN: Final = 80
"""A fence stands at most this far from the start of its line."""


@dataclass(frozen=True, slots=True)
class Span:
    """A link before its line is known."""

    target: str
    kind: LinkKind
    heading: str | None
    alias: str | None
    start: int
    end: int


def wikilink(inner: str, start: int, end: int, embed: bool) -> Span | None:
    """What stands between double brackets; None for a link to a heading of the note itself."""
    named, bar, alias = inner.partition("|")
    if bar and named.endswith("\\"):  # inside a table the bar is escaped
        named = named[:-1]
    target, hash_sign, heading = named.partition("#")
    target = target.strip()
    if not target:
        return None
    kind: LinkKind = "embed" if embed else "wikilink"
    return Span(target, kind, heading.strip() if hash_sign else None, alias.strip() if bar else None, start, end)


def markdown(alias: str, found: re.Match[str], start: int, embed: bool) -> Span | None:
    """A Markdown link by the match of its destination; None where it leads out of the vault or to a heading here.

    A destination in double brackets, ``[text]([[page]])``, names a page as a wikilink does (so Logseq writes them).
    """
    written = found[1] if found[1] is not None else found[2] or ""
    if written.startswith("[[") and written.endswith("]]"):
        named = wikilink(written[2:-2], start, found.end(), embed)
        return named and replace(named, alias=named.alias or alias)
    target, hash_sign, heading = written.partition("#")
    if not target.strip() or _ELSEWHERE.match(target):
        return None
    return Span(target, "embed" if embed else "markdown", heading if hash_sign else None, alias, start, found.end())


def in_body(text: str, start: int) -> list[Span]:
    """Every link from ``start`` on. Text without code, comments, escapes and brackets within brackets, which most
    notes are, is read by one expression; it counts what it should have found, and leaves the rest to ``Scanner``."""
    if not any(mark in text for mark in _SPECIAL):
        found = list(_SIMPLE.finditer(text, start))
        others = [one[1] for one in found].count(None)
        if text.count("[[", start) == len(found) - others and text.count("](", start) == others:
            return list(_simple(text, start, found))
    return list(Scanner(text, start).run())


def _simple(text: str, start: int, found: list[re.Match[str]]) -> Iterator[Span]:
    past = start
    for mark in found:
        begin, end = mark.span()
        if begin < past:
            continue
        embed = begin > past and text[begin - 1] == "!"
        begin -= embed
        if mark[1] is not None:
            span = wikilink(mark[1], begin, end, embed)
            past = end
        else:
            address = DESTINATION.match(text, end)
            past = end if address is None else address.end()
            span = None if address is None else markdown(mark[2], address, begin, embed)
        if span is not None:
            yield span


class Scanner:
    """One pass over the body. Each method is called at a mark and gives the place to go on from."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self._brackets: list[tuple[int, int, bool]] = []
        self._block_end = -1
        self._ticks: dict[int, list[int]] = {}
        self._no_comment_end = False
        self._no_percent_end = False

    def run(self) -> Iterator[Span]:
        place = self.start
        while (mark := _MARK.search(self.text, place)) is not None:
            char = mark[0][0]
            if char in "`~":
                place = self._code(mark)
            elif char == "<":
                place = self._comment(mark)
            elif char == "%":
                place = self._percents(mark)
            elif char == "\\":
                place = mark.end()
            else:
                span, place = self.bracket(mark)
                if span is not None:
                    yield span

    def bracket(self, mark: re.Match[str]) -> tuple[Span | None, int]:
        written = mark[0]
        embed = written[0] == "!"
        if written.endswith("[["):
            found = WIKILINK.match(self.text, mark.end() - 2)
            if found is not None:
                return wikilink(found[1], mark.start(), found.end(), embed), found.end()
            self._brackets.append((mark.start(), mark.start() + 1 + embed, embed))
            return None, mark.start() + 1 + embed
        if written.endswith("["):
            self._brackets.append((mark.start(), mark.end(), embed))
        elif self._brackets:
            start, inside, embed = self._brackets.pop()
            if written == "](":
                span, place = self.markdown(mark, start, inside, embed)
                if span is not None:  # no link holds a link, but its text may hold one picture
                    del self._brackets[: -1 if embed else None]
                return span, place
        return None, mark.end()

    def markdown(self, mark: re.Match[str], start: int, inside: int, embed: bool) -> tuple[Span | None, int]:
        found = DESTINATION.match(self.text, mark.end())
        if found is None:
            return None, mark.end()
        return markdown(self.text[inside : mark.start()], found, start, embed), found.end()

    def _code(self, mark: re.Match[str]) -> int:
        """Past a fence or a code span, or past the marks themselves where they open neither."""
        text, run = self.text, mark[0]
        if len(run) >= 3:
            margin = text[max(self.start, mark.start() - _MARGIN) : mark.start()]
            cut = margin.rfind("\n")
            at_line_start = cut >= 0 or mark.start() - _MARGIN <= self.start
            head = margin[cut + 1 :]
            if at_line_start and _LINE_START.match(head) and (run[0] == "~" or self._opens_fence(mark.end())):
                return self._fence_end(run, mark.end(), quoted=">" in head)
        return mark.end() if run[0] == "~" else self._span_end(mark)

    def _opens_fence(self, after: int) -> bool:
        """The words behind backticks that open a fence hold no backtick of their own."""
        tick = self.text.find("`", after, after + 1000)
        return tick < 0 or self.text.find("\n", after, tick) >= 0

    def _fence_end(self, run: str, after: int, quoted: bool) -> int:
        closing = rf"^[ \t>]{{0,{_MARGIN}}}{run[0]}{{{len(run)},}}[ \t]*\r?$"
        # A fence inside a quotation ends with the quotation.
        pattern = re.compile(closing + r"|^(?![ \t]{0,3}>)" if quoted else closing, re.MULTILINE)
        newline = self.text.find("\n", after)
        found = pattern.search(self.text, newline + 1) if newline >= 0 else None
        return len(self.text) if found is None else found.end()

    def _span_end(self, mark: re.Match[str]) -> int:
        if mark.start() >= self._block_end:
            self._enter_block(mark.start())
        runs = self._ticks.get(len(mark[0]), [])
        later = bisect_right(runs, mark.start())
        return runs[later] + len(mark[0]) if later < len(runs) else mark.end()

    def _enter_block(self, place: int) -> None:
        """Find the end of the paragraph at ``place`` and every run of backticks up to there."""
        end = _BLOCK_END.search(self.text, place)
        self._block_end = len(self.text) if end is None else end.end()
        self._ticks = {}
        for run in _TICKS.finditer(self.text, place, self._block_end):
            self._ticks.setdefault(len(run[0]), []).append(run.start())

    def _comment(self, mark: re.Match[str]) -> int:
        if self._no_comment_end:
            return mark.end()
        end = self.text.find("-->", mark.end())
        if end >= 0:
            return end + 3
        self._no_comment_end = True
        return len(self.text) if self._begins_line(mark.start()) else mark.end()

    def _percents(self, mark: re.Match[str]) -> int:
        """A comment between ``%%``: over many lines where it begins one, else inside its paragraph."""
        if self._begins_line(mark.start()):
            if self._no_percent_end:
                return mark.end()
            end = self.text.find("%%", mark.end())
            self._no_percent_end = end < 0
            return end + 2 if end >= 0 else mark.end()
        if mark.start() >= self._block_end:
            self._enter_block(mark.start())
        end = self.text.find("%%", mark.end(), self._block_end)
        return end + 2 if end >= 0 else mark.end()

    def _begins_line(self, place: int) -> bool:
        head = self.text[max(self.start, place - _MARGIN) : place]
        return head.rpartition("\n")[2].strip(" \t>") == "" and (place - self.start <= _MARGIN or "\n" in head)
