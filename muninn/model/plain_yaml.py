"""The frontmatter that most notes have, read without a YAML parser: ``key: value`` lines and lists of words.

What is read here means in YAML what it seems to mean, and nothing else does: at the first line of which that is not
certain the whole text is left to libyaml (``yaml_events``). The tests hold both readers against each other. A tenth of
libyaml's time a note, and no import of it.
"""

from __future__ import annotations

import re
from typing import Final

from .frontmatter import Frontmatter, Mapping, Node, Scalar, Sequence, resolve

_KEY: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,100}):(?: (.*))?")
_ITEM: Final = re.compile(r"( {0,8})- (.+)")
_WORDS: Final = re.compile(r"[^\W_][\w./+ -]*")
_LONGEST: Final = 100


def read(text: str, first_line: int) -> Frontmatter | None:
    """The tree of a text that is plain in this sense; None where it is not."""
    entries: list[tuple[Scalar, Node]] = []
    starts: list[tuple[str, int]] = []
    lines = text.removesuffix("\n").split("\n")
    if not "".join(lines).isprintable():
        return None
    at = 0
    while at < len(lines):
        found = _KEY.fullmatch(lines[at])
        if found is None:
            return None
        key = found[1]
        number = first_line + at
        at += 1
        node: Node | None
        if found[2] is None or not found[2].strip(" "):
            node, at = _list(lines, at, first_line)
            node = node or _nothing(lines, at, number)
        else:
            node = _value(found[2].lstrip(" "), number)
        if node is None or not isinstance(resolve(key), str):
            return None
        entries.append((Scalar(key, key, number), node))
        starts.append((key, number))
    if not entries or len(dict(starts)) != len(starts):
        return None
    return Frontmatter(Mapping(tuple(entries), first_line), (), tuple(starts))


def _nothing(lines: list[str], at: int, line: int) -> Scalar | None:
    """The value of a key with none, where the next line cannot be part of it."""
    return Scalar("", None, line) if at == len(lines) or _KEY.fullmatch(lines[at]) else None


def _list(lines: list[str], at: int, first_line: int) -> tuple[Sequence | None, int]:
    """The items below a key that has no value on its line, and the place behind them."""
    items: list[Scalar] = []
    margin = None
    begin = at
    while at < len(lines) and (found := _ITEM.fullmatch(lines[at])) is not None:
        item = _scalar(found[2], first_line + at)
        if item is None or (margin is not None and found[1] != margin):
            return None, at
        margin = found[1]
        items.append(item)
        at += 1
    return (Sequence(tuple(items), first_line + begin) if items else None), at


def _value(written: str, line: int) -> Node | None:
    if not written.startswith("["):
        return _scalar(written, line)
    if written == "[]":
        return Sequence((), line)
    if not written.endswith("]"):
        return None
    items = []
    for piece in written[1:-1].split(","):
        word = piece.strip(" ")
        if _WORDS.fullmatch(word) is None or len(word) > _LONGEST:
            return None
        items.append(Scalar(word, resolve(word), line))
    return Sequence(tuple(items), line)


def _scalar(written: str, line: int) -> Scalar | None:
    """A value on one line: in quotes without escapes, or bare without anything that could end it or begin a comment."""
    if not written:
        return None
    first, last = written[0], written[-1]
    if first in "\"'":
        inner = written[1:-1]
        if last != first or len(written) < 2 or first in inner or "\\" in inner:
            return None
        return Scalar(inner, inner, line)
    if not first.isalnum() or last in ": " or ": " in written or " #" in written or len(written) > _LONGEST:
        return None
    return Scalar(written, resolve(written), line)
