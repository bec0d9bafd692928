"""The YAML at the top of a note, read and never written.

The text is turned into a small tree of our own from libyaml's events, so that a value keeps how it
was typed, on which line it stands and what YAML made of it. Building from events keeps deep
nesting and alias bombs harmless: nothing is expanded and nothing recurses.

Sources: YAML 1.1 core schema (https://yaml.org/type/) for what a bare word means; dates and times of
day stay text, because a note's ``12:30`` is no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 100

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?\Z|[-+]?[0-9]+[eE][-+]?[0-9]+\Z")
_WORDS_OF_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
# C0 (but the ends of lines), DEL, C1, line and paragraph separators, direction characters, a BOM inside.
_HIDDEN = re.compile(
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


def read(text: str, first_line: int) -> Frontmatter:
    """Read the YAML between the fences. Never raises: what is wrong comes back as flaws.

    ``first_line`` is the number of the file's line on which ``text`` begins.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        return Frontmatter(None, (Flaw("size", f"frontmatter is {size} bytes; at most {MAX_BYTES} are allowed"),))
    flaws = list(_hidden(text, first_line))
    builder = _Builder(first_line)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        flaws.append(_syntax_flaw(error, first_line))
        return Frontmatter(None, tuple(flaws))
    except _TooDeepError as error:
        flaws.append(Flaw("depth", f"line {error.line}: nested deeper than {MAX_DEPTH} levels", None, error.line))
        return Frontmatter(None, tuple(flaws))
    flaws += builder.flaws
    match builder.root:
        case Mapping() as root:
            return Frontmatter(root, tuple(flaws), tuple(builder.starts))
        case None | Scalar(_, None, _):
            return Frontmatter(Mapping((), first_line), tuple(flaws))
        case other:
            message = f"line {other.line}: frontmatter must be a list of `key: value` lines"
            return Frontmatter(None, (*flaws, Flaw("mapping", message, None, other.line)))


def resolve(typed: str) -> str | int | float | bool | None:
    """What a bare word means in YAML 1.1: null, a boolean, a number, or else itself."""
    if typed in _NULL:
        return None
    if typed in _TRUE:
        return True
    if typed in _FALSE:
        return False
    if _INTEGER.match(typed):
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


def _hidden(text: str, first_line: int) -> Iterator[Flaw]:
    found = None if text.isprintable() else _HIDDEN.search(text)
    if found is not None:
        line = first_line + text.count("\n", 0, found.start())
        char = f"U+{ord(found[0]):04X}"
        yield Flaw("hidden", f"line {line}: frontmatter holds the hidden character {char}; take it out", None, line)


def _syntax_flaw(error: Exception, first_line: int) -> Flaw:
    mark = getattr(error, "problem_mark", None)
    line = first_line + (0 if mark is None else int(mark.line))
    problem = getattr(error, "problem", None) or "it cannot be read"
    hint = 'put a value that holds : # [ ] { } * & ! | > @ % ` in quotes, as in title: "a: b"'
    return Flaw("yaml", f"line {line}: frontmatter is not valid YAML ({problem}); {hint}", None, line)


class _TooDeepError(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


@dataclass(slots=True)
class _Frame:
    """A collection that is still open."""

    is_mapping: bool
    line: int
    items: list[Node] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    flow: bool = False


class _Builder:
    """Takes libyaml's events one by one and leaves the tree in ``root``."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.root: Node | None = None
        self.flaws: list[Flaw] = []
        self.starts: list[tuple[str, int]] = []
        self._open: list[_Frame] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._place(self._scalar(event))
            case yaml.AliasEvent():
                line = self._line(event)
                self._flaw("anchors", f"line {line}: the alias *{event.anchor} is not allowed", None, line)
                self._place(Scalar(f"*{event.anchor}", None, line))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._begin(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._place(self._close(self._open.pop()))
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    line = self._line(event)
                    self._flaw("yaml", f"line {line}: a second YAML document begins inside the frontmatter", None, line)

    def _line(self, event: yaml.Event) -> int:
        mark: Any = event.start_mark
        return self.first_line + int(mark.line)

    def _flaw(self, rule: str, message: str, key: str | None, line: int) -> None:
        self.flaws.append(Flaw(rule, message, key, line))

    def _begin(self, event: Any) -> None:
        line = self._line(event)
        self._mark(event, line)
        if len(self._open) >= MAX_DEPTH:
            raise _TooDeepError(line)
        self._open.append(_Frame(isinstance(event, yaml.MappingStartEvent), line, flow=bool(event.flow_style)))

    def _mark(self, event: Any, line: int) -> None:
        """Flaws that any node may carry: an anchor, or a tag of its own."""
        if event.anchor is not None:
            self._flaw("anchors", f"line {line}: the anchor &{event.anchor} is not allowed", None, line)
        tag = event.tag
        if tag is not None and tag != "!" and tag not in (_TAG + "str", _TAG + "seq", _TAG + "map"):
            shown = tag.replace(_TAG, "!!")
            self._flaw("yaml-tags", f"line {line}: the YAML tag {shown} is not allowed", None, line)

    def _scalar(self, event: Any) -> Scalar:
        line = self._line(event)
        if event.anchor is not None or event.tag is not None:
            self._mark(event, line)
        typed = str(event.value)
        if not (typed.isascii() and typed.isprintable()) and _HIDDEN.search(typed):
            self._flaw("hidden", f"line {line}: a value holds an escaped hidden character; take it out", None, line)
        bare = bool(event.implicit[0])
        value = resolve(typed) if bare else typed
        if bare and _has_long_number(typed, value):
            self._flaw("numbers", f"line {line}: a number has more than {MAX_DIGITS} digits; quote it", None, line)
        return Scalar(typed, value, line)

    def _place(self, node: Node) -> None:
        if not self._open:
            self.root = node if self.root is None else self.root
            return
        frame = self._open[-1]
        if frame.is_mapping and len(frame.items) % 2 == 0:
            node = self._key(frame, node)
        frame.items.append(node)

    def _key(self, frame: _Frame, node: Node) -> Scalar:
        if not isinstance(node, Scalar):
            self._flaw("keys", f"line {node.line}: a key must be a word, not a list or a mapping", None, node.line)
            return Scalar("", None, node.line)
        if node.typed == "<<":
            self._flaw("anchors", f"line {node.line}: the merge key << is not allowed", "<<", node.line)
        elif not isinstance(node.value, str):
            message = f"line {node.line}: the key {node.typed} is not a string; quote it"
            self._flaw("keys", message, node.typed, node.line)
        if node.typed in frame.seen:
            self._flaw("unique-keys", f"line {node.line}: the key {node.typed} stands twice", node.typed, node.line)
        frame.seen.add(node.typed)
        if len(self._open) == 1 and not frame.flow:
            self.starts.append((node.typed, node.line))
        return node

    def _close(self, frame: _Frame) -> Node:
        if not frame.is_mapping:
            return Sequence(tuple(frame.items), frame.line)
        pairs = zip(frame.items[::2], frame.items[1::2], strict=True)
        return Mapping(tuple((key, value) for key, value in pairs if isinstance(key, Scalar)), frame.line)


def _has_long_number(typed: str, value: object) -> bool:
    if len(typed) <= MAX_DIGITS or sum(char.isalnum() for char in typed) <= MAX_DIGITS:
        return False
    return not isinstance(value, str) or _INTEGER.match(typed) is not None
