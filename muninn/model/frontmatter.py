"""The YAML at the top of a note as a small tree, in which a value keeps how it was typed, on which line it stands and
what YAML made of it.

Sources: YAML 1.1 core schema (https://yaml.org/type/) for what a bare word means; dates and times of
day stay text, because a note's ``12:30`` is no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 100

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_MEANT = {**dict.fromkeys(_NULL), **dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?\Z|[-+]?[0-9]+[eE][-+]?[0-9]+\Z")
_WORDS_OF_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
# C0 (but the ends of lines), DEL, C1, line and paragraph separators, direction characters, a BOM inside.
HIDDEN = re.compile(
    "[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
    "|\r(?!\n)"
)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value: as typed, what it means, and its line in the file (1-based)."""

    typed: str
    value: str | int | float | bool | None
    line: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list, with the line it begins on."""

    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with their values in the order of the file; a repeated key stands twice."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int

    def get(self, key: str) -> Node | None:
        """The value under a key, None where the key is absent."""
        return next((node for name, node in self.entries if name.typed == key), None)


Node = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something the contract refuses. ``rule`` is the id of the rule that publishes it."""

    rule: str
    message: str
    key: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What was read: the tree (None where the YAML cannot be parsed) and every flaw found on the way."""

    root: Mapping | None
    flaws: tuple[Flaw, ...]
    starts: tuple[tuple[str, int], ...] = ()
    """Top-level keys with the line they begin on, for edits by span; empty for ``{…}`` style."""

    @property
    def values(self) -> dict[str, Any] | None:
        """The tree as plain JSON values; None where it is unparsable or uses anchors."""
        if self.root is None or any(flaw.rule in _UNREADABLE for flaw in self.flaws):
            return None
        return {key.typed: plain(node) for key, node in self.root.entries}


_UNREADABLE = frozenset({"yaml", "anchors", "depth", "size", "numbers", "mapping"})


def plain(node: Node) -> Any:
    """A node as a JSON value. Numbers JSON cannot hold stay text; of a repeated key the last counts."""
    match node:
        case Scalar(typed, float() as value, _):
            return value if value == value and abs(value) != float("inf") else typed
        case Scalar(_, value, _):
            return value
        case Sequence(items, _):
            return [plain(item) for item in items]
        case Mapping(entries, _):
            return {key.typed: plain(value) for key, value in entries}


def resolve(typed: str) -> str | int | float | bool | None:
    """What a bare word means in YAML 1.1: null, a boolean, a number, or else itself."""
    if typed in _MEANT:
        return _MEANT[typed]
    if typed[0].isalpha():  # a number begins with a digit, a sign or a point
        return typed
    if INTEGER.match(typed):
        return _integer(typed)
    if _FLOAT.match(typed):
        return float(typed.replace("_", ""))
    if _WORDS_OF_FLOAT.match(typed):
        return float(typed.replace(".", "").lower())
    return typed


def _integer(typed: str) -> int | str:
    digits = typed.replace("_", "").lstrip("+-")
    if len(digits) > MAX_DIGITS:
        return typed
    sign = -1 if typed.startswith("-") else 1
    if digits.startswith("0b"):
        return sign * int(digits[2:] or "0", 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:] or "0", 16)
    if digits.startswith("0") and len(digits) > 1:
        return sign * int(digits.removeprefix("0o") or "0", 8)
    return sign * int(digits)


def hidden(text: str, first_line: int) -> Iterator[Flaw]:
    """The first character of a text that is not to be seen, as a flaw."""
    found = None if text.isprintable() else HIDDEN.search(text)
    if found is not None:
        line = first_line + text.count("\n", 0, found.start())
        char = f"U+{ord(found[0]):04X}"
        yield Flaw("hidden", f"line {line}: frontmatter holds the hidden character {char}; take it out", None, line)
