"""Edits of a note as text in, text out. Everything an edit does not name stays byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from muninn.model import note as notes
from muninn.model.content import NotePath
from muninn.model.draft import Append, Edit, Replace, Section, SetFields
from muninn.model.frontmatter import resolve
from muninn.model.refusal import Code, Refusal

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]([^\n]*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# What YAML takes for the end of a line and nobody sees.
_ODD_LINE_END = re.compile("[\u0085\u2028\u2029]|\r(?!\n)")
_LINE_END = re.compile(r"\A\r?\n")
# What a double-quoted YAML value cannot hold as it is, or would fold.
_ESCAPED = re.compile("[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]")
_MOST_WORK: Final = 2_000_000
"""Lines looked at by all edits of a call together; about two seconds."""

_PLAIN_WORD = re.compile(r"[^\W\d_][\w ./()+-]*\Z")


def edited(path: NotePath, text: str, edits: tuple[Edit, ...]) -> str | Refusal:
    """The text after all edits, in their order; a Refusal names the first one that does not fit, by number."""
    cost = len(edits) * (text.count("\n") + len(text) // 64)
    if cost > _MOST_WORK:
        message = f"{len(edits)} edits are too many for so long a note; send fewer at once, or write the whole note"
        return Refusal(Code.INVALID_ARGUMENTS, message)
    for number, edit in enumerate(edits, 1):
        result = _one(path, text, edit)
        if isinstance(result, Refusal):
            return Refusal(result.code, f"edits[{number - 1}]: {result.message}", result.details)
        text = result
    return text


def _one(path: NotePath, text: str, edit: Edit) -> str | Refusal:
    match edit:
        case Replace(find, replacement):
            return _replace(text, find, replacement)
        case Append(addition):
            return _on_new_line(text, _newline(text)) + addition
        case Section():
            return _section(path, text, edit)
        case SetFields(fields):
            return _set_fields(path, text, fields)


def _replace(text: str, find: str, replacement: str) -> str | Refusal:
    count = text.count(find) if find else 0
    if count != 1:
        message = f"`replace` must match exactly once, it matches {count} times; give more of the text around it"
        return Refusal(Code.INVALID_ARGUMENTS, message, {"count": count})
    return text.replace(find, replacement)


def _section(path: NotePath, text: str, edit: Section) -> str | Refusal:
    body_start = notes.parse(path, text.encode("utf-8", "replace")).body_start
    lines = [text[:body_start], *_lines(text[body_start:])]
    wanted = edit.heading.lstrip("#").strip()
    headings = list(_headings(lines))
    found = [n for n, (_, _, title) in enumerate(headings) if title == wanted]
    if len(found) != 1:
        known = ", ".join(repr(title) for _, _, title in headings[:20]) or "none"
        message = f"the heading {wanted!r} stands {len(found)} times, it must stand once; headings here: {known}"
        return Refusal(Code.INVALID_ARGUMENTS, message, {"count": len(found)})
    line, level, _ = headings[found[0]]
    end = next((other for other, depth, _ in headings[found[0] + 1 :] if depth <= level), len(lines))
    head, body, rest = "".join(lines[: line + 1]), "".join(lines[line + 1 : end]), "".join(lines[end:])
    newline = _newline(text)
    addition = _on_new_line(edit.text, newline)
    core = body.strip("\r\n")
    lead, tail = (body[: len(body) - len(body.lstrip("\r\n"))], body[len(body.rstrip("\r\n")) :])
    head = _on_new_line(head, newline)
    if edit.mode == "prepend":
        return head + lead + addition + body[len(lead) :] + rest
    if edit.mode == "append" and core:
        return head + lead + core + newline + addition + _LINE_END.sub("", tail) + rest
    gap = _LINE_END.sub("", tail) if core else tail
    return head + lead + addition + (gap or (newline if rest else "")) + rest


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Headings outside frontmatter and code fences: (line from 0, level, text). ``lines[0]`` is the frontmatter."""
    fence: str | None = None
    for number, line in enumerate(lines[1:], 1):
        mark = _FENCE.match(line)
        words = line[mark.end() :] if mark else ""
        if fence is not None:
            if mark and mark[1].startswith(fence) and not words.strip():
                fence = None
        elif mark and not (mark[1][0] == "`" and "`" in words):
            fence = mark[1]
        elif found := _HEADING.match(line):
            yield number, len(found[1]), _heading_text(found[2])


def _heading_text(written: str) -> str:
    """A heading without its closing marks."""
    text = written.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _set_fields(path: NotePath, text: str, fields: Mapping[str, Any]) -> str | Refusal:
    """All keys of one edit at once: the frontmatter is read once, and changed from its end to its beginning."""
    newline = _newline(text)
    written = {key: f"{_scalar(key)}: {rendered(value)}{newline}" for key, value in fields.items() if value is not None}
    note = notes.parse(path, text.encode("utf-8", "replace"))
    if note.frontmatter is None:
        bom, rest = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        block = "".join(written.values())
        return f"{bom}---{newline}{block}---{newline}{rest}" if block else text
    if note.frontmatter.root is None:
        return Refusal(Code.INVALID_NOTE, "the frontmatter cannot be parsed; write the whole note with a valid one")
    if _ODD_LINE_END.search(text, 0, note.body_start):
        message = "the frontmatter holds hidden ends of lines; write the whole note without them"
        return Refusal(Code.INVALID_NOTE, message)
    lines = _lines(text)
    closing = _closing_line(note.body_line, text, note.body_start)
    starts = note.frontmatter.starts
    if not starts and any(line.strip() and not line.startswith("#") for line in lines[1:closing]):
        message = "the frontmatter is written in {…} style; write the whole note to change it"
        return Refusal(Code.INVALID_ARGUMENTS, message)
    spans = {key: span for key in fields if (span := _span(lines, starts, key, closing)) is not None}
    lines[closing:closing] = [line for key, line in written.items() if key not in spans]
    for key, (first, last) in sorted(spans.items(), key=lambda item: item[1], reverse=True):
        lines[first:last] = [written[key]] if key in written else []
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Lines as the YAML reader counts them: ended by LF alone."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _closing_line(body_line: int, text: str, body_start: int) -> int:
    """The index of the closing fence's line: the last line before the body."""
    return body_line - 2 if text[:body_start].endswith("\n") else body_line - 1


def _span(lines: list[str], starts: tuple[tuple[str, int], ...], key: str, closing: int) -> tuple[int, int] | None:
    """The lines a key owns, from its own to the last before the next key's comments."""
    at = next((n for n, (name, _) in enumerate(starts) if name == key), None)
    if at is None:
        return None
    first = starts[at][1] - 1
    last = starts[at + 1][1] - 1 if at + 1 < len(starts) else closing
    while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
        last -= 1
    return first, last


def rendered(value: Any) -> str:
    """A JSON value as YAML on one line, which reads back as the same value."""
    match value:
        case str():
            return _scalar(value)
        case list() | tuple():
            return "[" + ", ".join(rendered(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{_scalar(str(key))}: {rendered(item)}" for key, item in value.items()) + "}"
        case _:
            return json.dumps(value)


def _scalar(text: str) -> str:
    if _PLAIN_WORD.match(text) and text == text.strip() and isinstance(resolve(text), str):
        return text
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _on_new_line(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline
