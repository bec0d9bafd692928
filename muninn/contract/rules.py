"""The rules of the contract as values: the object that is published is the one that judges.

Each rule carries a note it accepts and one it rejects; the suite runs them, and they go out with the
contract, so that a client can learn from them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from muninn.model import frontmatter
from muninn.model.frontmatter import Mapping, Scalar, Sequence
from muninn.model.note import Note

MAX_NOTE_BYTES: Final = 1024 * 1024

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:[Zz]|[-+][0-9]{2}:[0-9]{2})\Z"
)

_HEAD: Final = "---\ntitle: Canary gate\ntype: {type}\nstatus: {status}\ntags: [{tags}]\ndate: 2026-05-04\n---\ntext\n"
_SAFE_WORD = re.compile(r"[a-z][a-z-]*\Z")


@dataclass(frozen=True, slots=True)
class OwnerRules:
    """What the owner of the vault narrowed or relaxed in ``muninn.toml``."""

    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    tags_min: int = 2
    tags_max: int = 5
    exempt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a note, with the id of the rule that names it."""

    rule: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it is published, and ``check``, which gives the faults a note has against it."""

    id: str
    says: str
    good: str
    bad: str
    check: Callable[[Note], Iterable[Finding]] = field(repr=False, compare=False)
    blocks: bool = True


def build(owner: OwnerRules) -> tuple[Rule, ...]:
    """The rules with the owner's numbers and words in them, in the order they are published."""
    good = _good(owner)
    tag = f"tags: [{_tags(owner)}]"
    return (
        Rule(
            "frontmatter",
            "A note begins (after an optional BOM) with frontmatter between two lines of three hyphens.",
            good,
            "plain text only\n",
            _check_block,
        ),
        _flaw_rule(
            "yaml",
            "The frontmatter is one valid YAML document.",
            good,
            good.replace("Canary gate", "Trip: day one, day two"),
        ),
        _flaw_rule("mapping", "The frontmatter is a list of `key: value` lines.", good, "---\n- a\n- b\n---\ntext\n"),
        _flaw_rule("unique-keys", "No key stands twice, at any depth.", good, good.replace("type:", "title: x\ntype:")),
        _flaw_rule("anchors", "No anchors, aliases or merge keys.", good, _with(good, "owner: &a x")),
        _flaw_rule("yaml-tags", "No YAML tags such as !custom.", good, _with(good, "owner: !custom x")),
        _flaw_rule("keys", "Every key is a string.", good, _with(good, "2024: x")),
        _flaw_rule(
            "hidden",
            "No control, line-separator or direction characters.",
            good,
            _with(good, 'owner: "a\\u2028b"'),
        ),
        _flaw_rule(
            "limits",
            f"The frontmatter has at most {frontmatter.MAX_BYTES} bytes, {frontmatter.MAX_DEPTH} levels, "
            f"and numbers of at most {frontmatter.MAX_DIGITS} digits.",
            good,
            _with(good, "deep: " + "[" * 40 + "]" * 40),
            ("size", "depth", "numbers"),
        ),
        _word_rule("title", (), good),
        _word_rule("type", owner.types, good),
        _word_rule("status", owner.statuses, good),
        _tags_rule(owner.tags_min, owner.tags_max, good, good.replace(tag, "tags: [no, Canary-deploy]")),
        Rule(
            "date",
            "`date` is a real date, YYYY-MM-DD or RFC 3339.",
            good,
            good.replace("2026-05-04", "2026-02-30"),
            _check_date,
        ),
    )


def is_real_date(text: str) -> bool:
    """Whether a text is a day of the calendar, as ``YYYY-MM-DD`` or an RFC 3339 date-time."""
    try:
        if _DATE.match(text):
            date.fromisoformat(text)
            return True
        if _DATE_TIME.match(text):
            datetime.fromisoformat(text.upper())
            return True
    except ValueError:
        return False
    return False


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: white space and zero-width characters only."""
    return all(char.isspace() or unicodedata.category(char) in ("Cf", "Cc") for char in text)


def is_kebab(tag: str) -> bool:
    """Lower-case letters of any script, digits and single hyphens between them."""
    return all(part and all(_kebab_character(char) for char in part) for part in tag.split("-"))


def _kebab_character(char: str) -> bool:
    category = unicodedata.category(char)
    return category in ("Ll", "Lo", "Lm", "Nd", "Mn", "Mc")


def _good(owner: OwnerRules) -> str:
    """A note that meets every rule, the owner's words and numbers included."""
    return _HEAD.format(
        type=_quoted(owner.types[0] if owner.types else "note"),
        status=_quoted(owner.statuses[0] if owner.statuses else "active"),
        tags=_tags(owner),
    )


def _tags(owner: OwnerRules) -> str:
    if owner.tags_min <= 2 <= owner.tags_max:
        return "ops, canary-deploy"
    return ", ".join(f"tag-{n}" for n in range(1, max(owner.tags_min, 1) + 1))


def _quoted(word: str) -> str:
    return word if _SAFE_WORD.match(word) and frontmatter.resolve(word) == word else json.dumps(word)


def _with(good: str, line: str) -> str:
    """The good example with one more line of frontmatter."""
    return good.replace("\n---\n", f"\n{line}\n---\n", 1)


def _flaw_rule(rule_id: str, says: str, good: str, bad: str, flaws: tuple[str, ...] = ()) -> Rule:
    """A rule whose faults the YAML reader finds on its way, under the rule's id or the names in ``flaws``."""
    names = flaws or (rule_id,)

    def check(note: Note) -> Iterator[Finding]:
        return (Finding(rule_id, flaw.message, flaw.line) for flaw in note.flaws if flaw.rule in names)

    return Rule(rule_id, says, good, bad, check)


def _check_block(note: Note) -> Iterator[Finding]:
    if note.frontmatter is None:
        yield Finding("frontmatter", "there is no frontmatter: begin the note with a line --- and close it with ---", 1)


def _word_rule(key: str, allowed: tuple[str, ...], good: str) -> Rule:
    among = f", one of: {', '.join(allowed)}" if allowed else ""

    def check(note: Note) -> Iterator[Finding]:
        fault = _word_fault(note, key, allowed)
        if fault is not None:
            yield Finding(key, fault, _line(note, key))

    bad = re.sub(rf"{key}: .*\n", f'{key}: "  "\n', good)
    return Rule(key, f"`{key}` is a non-empty string{among}.", good, bad, check)


def _word_fault(note: Note, key: str, allowed: tuple[str, ...]) -> str | None:
    if _unreadable(note):
        return None
    node = note.node(key)
    match node:
        case None:
            return f"{key} is missing"
        case Scalar(typed, str(), _) if is_blank(typed):
            return f"{key} is empty"
        case Scalar(typed, str(), _) if allowed and typed not in allowed:
            return f"{key} is {typed!r}; allowed are {', '.join(allowed)}"
        case Scalar(_, str(), _):
            return None
        case Scalar(_, None, _):
            return f"{key} is empty"
        case Scalar(typed, value, line):
            return f'{key} must be a string; {typed} (line {line}) is read as {_kind(value)}; quote it: "{typed}"'
        case Sequence() | Mapping():
            return f'{key} must be a string, not a {_shape(node)}; put it in quotes: {key}: "…"'


def _tags_rule(least: int, most: int, good: str, bad: str) -> Rule:
    says = f"`tags` is a list of {least} to {most} distinct kebab-case strings (lower-case letters, digits, hyphens)."

    def check(note: Note) -> Iterator[Finding]:
        if not _unreadable(note):
            yield from (Finding("tags", fault, _line(note, "tags")) for fault in _tag_faults(note, least, most))

    return Rule("tags", says, good, bad, check)


def _tag_faults(note: Note, least: int, most: int) -> Iterator[str]:
    node = note.node("tags")
    if node is None:
        if least > 0:
            yield f"tags is missing: a list of {least} to {most} is needed"
        return
    if not isinstance(node, Sequence):
        yield f"tags must be a list of {least} to {most}, as in tags: [ops, canary-deploy]"
        return
    if not least <= len(node.items) <= most:
        yield f"tags has {len(node.items)} entries; {least} to {most} are needed"
    seen: set[str] = set()
    for item in node.items:
        if not isinstance(item, Scalar):
            yield f"tags holds a {_shape(item)} (line {item.line}); each tag is one word"
            continue
        if not isinstance(item.value, str):
            yield f'tags: {item.typed} is read as {_kind(item.value)}; quote it: "{item.typed}"'
        elif not is_kebab(item.typed):
            yield f"tags: {item.typed!r} is not kebab-case (lower-case letters, digits, single hyphens)"
        elif item.typed in seen:
            yield f"tags: {item.typed} stands twice"
        seen.add(item.typed)


def _check_date(note: Note) -> Iterator[Finding]:
    if _unreadable(note):
        return
    node = note.node("date")
    if node is None or (isinstance(node, Scalar) and node.value is None):
        yield Finding("date", "date is missing: write it as YYYY-MM-DD", _line(note, "date"))
    elif not (isinstance(node, Scalar) and isinstance(node.value, str) and is_real_date(node.value)):
        shown = node.typed if isinstance(node, Scalar) else f"a {_shape(node)}"
        yield Finding("date", f"date must be a real date (YYYY-MM-DD or RFC 3339), found {shown}", node.line)


def _unreadable(note: Note) -> bool:
    """Whether the fields cannot be judged, because the frontmatter is absent or broken as a whole.

    An absent block is told with all it should hold, so only a broken one is passed over.
    """
    return note.frontmatter is not None and note.frontmatter.root is None


def _line(note: Note, key: str) -> int | None:
    node = note.node(key)
    return None if node is None else node.line


def _shape(node: Sequence | Mapping) -> str:
    return "list" if isinstance(node, Sequence) else "mapping"


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {str(value).lower()}"
        case _:
            return f"the number {value}"
