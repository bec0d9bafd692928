"""From libyaml's events to the tree of a note's frontmatter, one event at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from .frontmatter import (
    HIDDEN,
    INTEGER,
    MAX_DEPTH,
    MAX_DIGITS,
    Flaw,
    Frontmatter,
    Mapping,
    Node,
    Scalar,
    Sequence,
    resolve,
)

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"


def build(text: str, first_line: int, found: tuple[Flaw, ...]) -> Frontmatter:
    """The tree of a YAML text that begins on ``first_line``; ``found`` are flaws known already. Never raises."""
    flaws = list(found)
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
        if not (typed.isascii() and typed.isprintable()) and HIDDEN.search(typed):
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
    return not isinstance(value, str) or INTEGER.match(typed) is not None
