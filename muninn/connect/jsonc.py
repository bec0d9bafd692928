"""Put a member into a JSON file of somebody else's and leave every other byte alone, comments included.

The text is scanned for where things stand, never written anew. JSON with comments and trailing commas is understood,
because editors take it; what is broken is refused with its line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from .errors import ConfigError

# Possessive: a string that is never closed is given up at once, and not tried in every way it could be cut.
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+"')
_ATOM: Final = re.compile(r"[-+.0-9A-Za-z]+")
_GAP: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands. Of an object ``keys`` has the name of each of its ``parts``; ``heads`` says where
    each part begins, with its name."""

    start: int
    end: int
    parts: tuple[Node, ...] = ()
    heads: tuple[int, ...] = ()
    keys: tuple[str, ...] | None = None
    comma: bool = False
    """Whether a comma follows the last part."""

    def member(self, key: str) -> Node | None:
        """The value of a member."""
        return self.parts[self.keys.index(key)] if self.keys is not None and key in self.keys else None


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Node:
        self._gap()
        found = self._value(0)
        self._gap()
        if self._at < len(self._text):
            raise self._broken("the end of the file")
        return found

    def _value(self, depth: int) -> Node:
        if depth > _DEPTH:
            raise self._broken(f"at most {_DEPTH} levels")
        match self._text[self._at : self._at + 1]:
            case "{":
                return self._container("}", depth)
            case "[":
                return self._container("]", depth)
            case '"':
                return self._atom(_STRING)
            case _:
                return self._atom(_ATOM)

    def _atom(self, form: re.Pattern[str]) -> Node:
        start, found = self._at, form.match(self._text, self._at)
        try:
            if found is None:
                raise ValueError
            json.loads(found[0])
        except ValueError:
            raise self._broken("a value") from None
        self._at = found.end()
        return Node(start, self._at)

    def _container(self, close: str, depth: int) -> Node:
        start, comma = self._at, False
        parts: list[Node] = []
        heads: list[int] = []
        keys: dict[str, None] = {}
        self._at += 1
        self._gap()
        while self._text[self._at : self._at + 1] != close:
            if parts and not comma:
                raise self._broken(f"a comma or {close}")
            heads.append(self._at)
            if close == "}":
                key = self._key()
                if key in keys:
                    raise self._broken(f"the name {key!r} once")
                keys[key] = None
            parts.append(self._value(depth + 1))
            self._gap()
            comma = self._text[self._at : self._at + 1] == ","
            self._at += comma
            self._gap()
        self._at += 1
        return Node(start, self._at, tuple(parts), tuple(heads), tuple(keys) if close == "}" else None, comma)

    def _key(self) -> str:
        if self._text[self._at : self._at + 1] != '"':
            raise self._broken('a name in "')
        node = self._atom(_STRING)
        self._gap()
        if self._text[self._at : self._at + 1] != ":":
            raise self._broken("a colon")
        self._at += 1
        self._gap()
        return str(json.loads(self._text[node.start : node.end]))

    def _gap(self) -> None:
        found = _GAP.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _broken(self, expected: str) -> ConfigError:
        line = self._text.count("\n", 0, self._at) + 1
        return ConfigError(f"line {line}: expected {expected}; mend the file first, nothing was changed")


def parse(text: str) -> Any:
    """The file as a value. Raises ConfigError with the line of what is broken."""
    return _value(text, _Scan(text).whole())


def _value(text: str, node: Node) -> Any:
    if node.keys is not None:
        return {key: _value(text, part) for key, part in zip(node.keys, node.parts, strict=True)}
    if text[node.start] == "[":
        return [_value(text, part) for part in node.parts]
    return json.loads(text[node.start : node.end])


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with this value at a path of names. What lies there is replaced, objects on the way are made.

    Raises ConfigError where the file is broken, where something on the way is no object, or where comments inside of
    what would be replaced would be lost.

    >>> put('{"a": 1}', ("b",), 2)
    '{"a": 1, "b": 2}'
    """
    node = _object(text, path[:0], _Scan(text).whole())
    for number, key in enumerate(path):
        inner = node.member(key)
        if inner is None:
            rest: Any = value
            for name in reversed(path[number + 1 :]):
                rest = {name: rest}
            return _inserted(text, node, rest, key)
        if number == len(path) - 1:
            return _replaced(text, inner, value, path)
        node = _object(text, path[: number + 1], inner)
    raise AssertionError("a path names something")


def append(text: str, path: tuple[str, ...], item: Any) -> str:
    """The text with one more item in the array at a path, which is made where it is missing. Raises ConfigError."""
    node = _Scan(text).whole()
    for key in path:
        found = _object(text, (), node).member(key)
        if found is None:
            return put(text, path, [item])
        node = found
    if text[node.start] != "[":
        raise ConfigError(f"{'.'.join(path)} is no array; mend the file first, nothing was changed")
    return _inserted(text, node, item, None)


def _object(text: str, path: tuple[str, ...], node: Node) -> Node:
    if node.keys is None:
        named = ".".join(path) or "the file"
        line = text.count("\n", 0, node.start) + 1
        raise ConfigError(f"line {line}: {named} is no object; mend the file first, nothing was changed")
    return node


def _replaced(text: str, node: Node, value: Any, path: tuple[str, ...]) -> str:
    if _value(text, node) == value:
        return text
    try:
        json.loads(text[node.start : node.end])
    except ValueError:
        line = text.count("\n", 0, node.start) + 1
        named = ".".join(path)
        raise ConfigError(f"line {line}: {named} holds comments, which would be lost; take it out first") from None
    new = _shown(value, _unit(text), _indent(text, node.start), _newline(text), "\n" not in text[node.start : node.end])
    return text[: node.start] + new + text[node.end :]


def _inserted(text: str, node: Node, value: Any, key: str | None) -> str:
    """The text with a value as the last part of a container, laid out as its other parts are."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    newline, unit = _newline(text), _unit(text)
    close = node.end - 1
    if node.parts and "\n" not in text[node.start : node.end]:
        last = len(text[:close].rstrip()) if node.comma else node.parts[-1].end
        comma = " " if node.comma else ", "
        return text[:last] + comma + name + _shown(value, unit, "", newline, True) + text[last:]
    base = _indent(text, node.start)
    alone = bool(node.parts) and _stands_alone(text, node.heads[-1])
    indent = _indent(text, node.heads[-1]) if alone else base + unit
    last = node.parts[-1].end if node.parts else node.start + 1
    tail = max(last, len(text[:close].rstrip()))
    comma = "," if node.parts and not node.comma else ""
    rest = text[tail:close] if "\n" in text[tail:close] else newline + base
    new = newline + indent + name + _shown(value, unit, indent, newline, False)
    return text[:last] + comma + text[last:tail] + new + rest + text[close:]


def _stands_alone(text: str, at: int) -> bool:
    """Whether nothing but white space stands before this place on its line."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of a place's line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """How far the file indents; two spaces where it does not show."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _shown(value: Any, unit: str, indent: str, newline: str, in_line: bool) -> str:
    if in_line:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)
