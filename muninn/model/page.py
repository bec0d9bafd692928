"""The folder's page: a managed block of one line a note, inside a page that otherwise belongs to the owner.

Bytes outside the block are never touched, and a plan touches only the lines of its own note.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .content import NotePath
from .links import first_sentence, plain_text
from .note import Note

BEGIN: Final = "<!-- muninn:index -->"
END: Final = "<!-- /muninn:index -->"

_LINE_OF = re.compile(r"- \[\[([^\]|\n]*)(?:\||\]\])")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ON_A_LINE = re.compile(r"[^\r\n]+")
_NOT_IN_LINK = re.compile(r"[\[\]|]|<(?=!--)|(?<=--)>")
_BREAKING = re.compile(r"[<>]|\[(?=\[)|\](?=[\](])|\]\Z|%(?=%)|(?<=%)%")
_INSTEAD = {"<": "‹", ">": "›", "[": "(", "]": ")", "%": "٪"}
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST: Final = 200
"""Of a title or a sentence in a line, in characters."""


@dataclass(frozen=True, slots=True)
class Block:
    """Where the managed lines stand: from the end of the first marker's line to the second marker."""

    start: int
    end: int


def find_block(text: str) -> Block | None:
    """The managed block, or None where the page has not exactly one pair of markers in order."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        return None
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    if end < begin:
        return None
    newline = text.find("\n", begin, end)
    if text[begin : end if newline < 0 else newline].strip(" \t\r"):
        return None
    return Block(end if newline < 0 else newline + 1, end)


def marked_text(text: str) -> str | None:
    """All that stands between the first marker and the last one, whether they make a block or not; None without."""
    begin, end = text.find(BEGIN), text.rfind(END)
    return None if begin < 0 or end < begin else text[begin + len(BEGIN) : end]


def blank_block(text: str) -> str:
    """The text with the managed block made blank: offsets and lines stand, words and links are gone."""
    block = find_block(text)
    if block is None:
        return text
    blank = _ON_A_LINE.sub(lambda found: " " * len(found[0]), text[block.start : block.end])
    return text[: block.start] + blank + text[block.end :]


def line_for(note: Note) -> str:
    """The line of a note: ``- [[path|title]] – first sentence``; the note's own description goes first."""
    title = _harmless(plain_text(note.title)) or _harmless(note.path.stem)
    description = note.word("description")
    sentence = _harmless(plain_text(description) if description else first_sentence(note.body))
    tail = f" – {sentence}" if sentence else ""
    return f"- [[{_target(note.path)}|{title}]]{tail}"


def new_page(folder: str, notes: Iterable[Note], today: str) -> str:
    """A page with valid frontmatter and a line for every note of the folder. ``today`` is ``YYYY-MM-DD``."""
    title = json.dumps(_harmless(f"Index of {folder}") if folder else "Index", ensure_ascii=False)
    lines = [line_for(note) for note in sorted(notes, key=lambda note: _target(note.path))]
    head = f"---\ntitle: {title}\ntype: index\nstatus: active\ntags: [index, folder-page]\ndate: {today}\n---\n\n"
    return head + "\n".join([BEGIN, *lines, END]) + "\n"


def with_note(text: str, note: Note) -> str | None:
    """The page with this note's line in its place among the sorted lines; None where there is no block."""
    return _change_lines(text, note.path, line_for(note))


def without_note(text: str, path: NotePath) -> str | None:
    """The page without the lines of this path; None where there is no block."""
    return _change_lines(text, path, None)


def _change_lines(text: str, path: NotePath, line: str | None) -> str | None:
    block = find_block(text)
    if block is None:
        return None
    newline = "\r\n" if text[: block.start].endswith("\r\n") else "\n"
    target = _target(path)
    kept = [old for old in _LINE.findall(text, block.start, block.end) if _path_of(old) != target]
    if line is not None:
        at = next((n for n, old in enumerate(kept) if (_path_of(old) or "") > target), len(kept))
        if at and not kept[at - 1].endswith("\n"):
            kept[at - 1] += newline
        kept.insert(at, line + newline)
    lead = "" if text[: block.start].endswith("\n") or not kept else newline
    return text[: block.start] + lead + "".join(kept) + text[block.end :]


def _target(path: NotePath) -> str:
    """The path in the link. What a link cannot hold is percent-encoded: files from outside may have such names."""
    return _NOT_IN_LINK.sub(lambda found: f"%{ord(found[0]):02X}", path.removesuffix(".md"))


def _path_of(line: str) -> str | None:
    found = _LINE_OF.match(line)
    return found[1] if found else None


def _harmless(text: str) -> str:
    """Short text that cannot close the link, end the block, be a link or a comment, or turn the reading round."""
    # Characters are exchanged, never dropped: what is left cannot close up to a new mark.
    text = _TURNING.sub("�", " ".join(text.split()))
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return _BREAKING.sub(lambda found: _INSTEAD[found[0]], text)
