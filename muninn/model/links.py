"""Links as they are written in a note: where they stand and what they name. Pure, and linear in the length of the text.

What is a link follows Obsidian ("Internal links", https://help.obsidian.md/links) and, for Markdown links, fences and
code spans, CommonMark 0.31 (https://spec.commonmark.org/0.31.2/). Nothing inside code or comments is a link.

The scanner looks only at the characters that can begin something and never goes back over text it has passed;
where a closing mark is missing it remembers so, instead of looking for it again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .scanner import DESTINATION, WIKILINK, LinkKind, Scanner, Span, in_body, wikilink

_FRONTMATTER = re.compile(r"\ufeff?---[ \t]*\r?\n")
_FRONTMATTER_END = re.compile(r"\n---[ \t]*(?:\r?\n|\Z)")


@dataclass(frozen=True, slots=True)
class Link:
    """One link as written: ``target`` without heading and alias, its ``line`` in the file (1-based) and its span."""

    target: str
    kind: LinkKind
    line: int
    heading: str | None
    alias: str | None
    start: int
    end: int


def scan(text: str) -> Iterator[Link]:
    """Every link of a note to another file, by the place where each ends. Never fails, on any input.

    Links to a heading of the note itself and to addresses outside the vault (``https:``, ``mailto:``) are none.

    >>> [(link.target, link.kind, link.alias) for link in scan("see [[b/Two|2]] and ![x](pic.png), `[[no]]`")]
    [('b/Two', 'wikilink', '2'), ('pic.png', 'embed', 'x')]
    """
    if "[[" not in text and "](" not in text:
        return
    line, counted = 1, 0
    for found in _spans(text):
        if found.start >= counted:
            line += text.count("\n", counted, found.start)
        else:  # a link around a picture is known after the picture
            line -= text.count("\n", found.start, counted)
        counted = found.start
        yield Link(found.target, found.kind, line, found.heading, found.alias, found.start, found.end)


def _spans(text: str) -> Iterator[Span]:
    opening = _FRONTMATTER.match(text)
    closing = _FRONTMATTER_END.search(text, opening.end() - 1) if opening else None
    if closing is None:
        yield from in_body(text, 0)
        return
    for found in WIKILINK.finditer(text, 0, closing.start()):
        span = wikilink(found[1], found.start(), found.end(), embed=False)
        if span is not None:
            yield span
    yield from in_body(text, closing.end())


# --- text for people -----------------------------------------------------------------------------

_STRESS = re.compile(
    r"\\([!-/:-@\[-`{-~])|(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?!\w)"
    r"|(?<!\w)_{1,3}(?=[^\s_])|(?<=[^\s_])_{1,3}(?!\w)|~~|==|`+"
)


def plain_text(text: str) -> str:
    """A piece of Markdown as the reader sees it: links become their text, marks of stress and code go, blanks shrink.

    >>> plain_text("**Use** [[a/b|B]], [[two]] and [the `code`](x.md)")
    'Use B, two and the code'
    """
    parts, place = [], 0
    for link in _all_links(text):
        if link.start < place:
            continue
        parts += [text[place : link.start], _shown(link)]
        place = link.end
    parts.append(text[place:])
    bare = _STRESS.sub(lambda mark: mark[1] or "", "".join(parts))
    return " ".join(bare.split())


def _all_links(text: str) -> Iterator[Span]:
    """Links of any kind by their outer span, those to other places and to headings included."""
    return iter(_Shower(text, 0).everything()) if "[" in text else iter(())


def _shown(span: Span) -> str:
    """What Obsidian shows for a link: its alias, else target and heading divided by ``>``."""
    if span.alias:
        return span.alias
    return " > ".join(part for part in (span.target, *(span.heading or "").split("#")) if part)


class _Shower(Scanner):
    """The same pass, but every link counts, wherever it leads."""

    def everything(self) -> list[Span]:
        found: list[Span] = []
        for span in self.run():
            while found and found[-1].start > span.start:  # a link that holds others is known last
                found.pop()
            found.append(span)
        return found

    def bracket(self, mark: re.Match[str]) -> tuple[Span | None, int]:
        if mark[0].endswith("[["):
            found = WIKILINK.match(self.text, mark.end() - 2)
            if found is not None and found[1].lstrip().startswith("#"):
                named, bar, alias = found[1].partition("|")
                shown = alias.strip() if bar else named.strip("# ")
                return Span("", "wikilink", None, shown, mark.start(), found.end()), found.end()
        return super().bracket(mark)

    def markdown(self, mark: re.Match[str], start: int, inside: int, embed: bool) -> tuple[Span | None, int]:
        found = DESTINATION.match(self.text, mark.end())
        if found is None:
            return None, mark.end()
        alias = plain_text(self.text[inside : mark.start()]) if inside < mark.start() else ""
        return Span("", "markdown", None, alias, start, found.end()), found.end()


# --- the first sentence --------------------------------------------------------------------------

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_MARKER = re.compile(r"[ \t]*(?:>[ \t]?|[-*+][ \t]+(?:\[.\][ \t]+)?|\d{1,9}[.)][ \t]+)*")
_NOT_PROSE = re.compile(
    r"[ \t]*(?:#{1,6}(?:[ \t]|$)|\||<[A-Za-z/!?]|(?:[-*_][ \t]*){3,}$|={3,}[ \t]*$|\[[^\]]+\]:|\$\$|\[!)"
)
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』”）]*")
_NO_END: Final = """
    e.g i.e etc vs cf ca approx no nr vol fig eq sec ch pp p ed eds mr mrs ms dr prof st jr sr inc ltd co dept est al
    z.b d.h u.a bzw ggf usw vgl jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun"""


@functools.cache
def _no_end() -> frozenset[str]:
    """Shortened words, whose point ends no sentence."""
    return frozenset(_NO_END.split())


def first_sentence(body: str, limit: int = 200) -> str:
    """The first sentence of the first paragraph of prose, as plain text of at most ``limit`` characters.

    Headings, code, comments, tables, rules and HTML are passed over; a list's or a quotation's marks are dropped.
    ``""`` where there is no prose.

    >>> first_sentence("# Title\\n\\nUse v2.1, e.g. for [[two]]. Then rest.")
    'Use v2.1, e.g. for two.'
    """
    text = plain_text(_first_paragraph(body))
    for end in _SENTENCE_END.finditer(text):
        if not _is_abbreviation(text[: end.start()], text[end.start() :]):
            text = text[: end.end()]
            break
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:–-") + "…"


def _first_paragraph(body: str) -> str:
    """The first run of prose lines, at most some 4,000 characters of it."""
    fence: str | None = None
    taken: list[str] = []
    for line in _lines(_without_comments(body)):
        mark = _FENCE.match(line)
        if fence is not None:
            if mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = None
            continue
        if mark is not None and "`" not in line[mark.end() :]:
            fence = mark[1]
            if taken:
                break
            continue
        marker = _MARKER.match(line)
        bare = line[marker.end() :] if marker else line
        if not bare.strip() or _NOT_PROSE.match(bare) or _NOT_PROSE.match(line):
            if taken:
                break
            continue
        if taken and marker is not None and marker[0].strip(" \t>"):
            break  # the next item of a list
        taken.append(bare)
        if sum(map(len, taken)) > 4000:
            break
    return " ".join(taken)[:4000]


def _lines(text: str) -> Iterator[str]:
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield text[place:end].rstrip("\r")
        place = end + 1


def _without_comments(body: str) -> str:
    """The body with HTML and Obsidian comments taken out; code is left as it is."""
    for opening, closing in (("<!--", "-->"), ("%%", "%%")):
        if opening not in body:
            continue
        parts, place = [], 0
        while (start := body.find(opening, place)) >= 0:
            end = body.find(closing, start + len(opening))
            if end < 0:
                break
            parts.append(body[place:start])
            place = end + len(closing)
        body = "".join([*parts, body[place:]])
    return body


def _is_abbreviation(before: str, mark: str) -> bool:
    """Whether the point after ``before`` belongs to a shortened word and ends no sentence."""
    if not mark.startswith(".") or mark.startswith(".."):
        return False
    word = before[-24:].rpartition(" ")[2].lstrip("(\"'“‘[").lower()
    single_letter = len(word) == 1 and word.isalpha() and before[-1:].isupper()
    return word in _no_end() or single_letter
