"""What frontmatter a note of an existing vault could carry to meet the contract. Pure: a note in, a proposal out.

What meets the contract stays as it is, byte for byte, and so does everything below the frontmatter. A value that has to
be changed in more than its spelling stays under ``was_…``, so that nothing of the owner's is lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from index.fields import day_of
from muninn.contract import Contract, OwnerRules
from muninn.contract.rules import is_blank, is_kebab, is_real_date
from muninn.model import note as notes
from muninn.model.dates import day_in, in_name
from muninn.model.draft import SetFields
from muninn.model.frontmatter import HIDDEN, Node, Scalar, Sequence
from muninn.model.links import plain_text
from muninn.model.note import Note
from muninn.model.refusal import Refusal
from muninn.writing import editing

KEYS: Final = ("title", "type", "status", "tags", "date")
_MENDED: Final = frozenset({"frontmatter", *KEYS})
_DATES: Final = (
    "created", "created-at", "creation-date", "date-created", "published", "publish-date", "published-at", "day",
    "start", "updated", "updated-at", "modified", "date-modified", "last-modified", "lastmod", "last", "timestamp",
)  # fmt: skip
_LOGS: Final = frozenset({"daily", "dailies", "daily notes", "journal", "journals", "log", "logs", "diary"})
_TYPES: Final = {
    "adr": "decision", "decisions": "decision", "meetings": "meeting", "people": "person", "persons": "person",
    "projects": "project", "templates": "template", "references": "reference", "reference": "reference",
    "runbooks": "runbook", "howto": "howto", "how-to": "howto", "ideas": "idea", "books": "book", "recipes": "recipe",
    "policies": "policy", "clippings": "clipping", "summaries": "summary", "glossary": "glossary", "posts": "post",
}  # fmt: skip
_ARCHIVES: Final = frozenset({"archive", "archives", "archived", "_archive", "old", "attic"})
_PAGES: Final = frozenset({"index", "readme"})
_FILLING: Final = ("note", "adopted", "vault")
_LOOKED_AT: Final = 64 * 1024
_LONGEST: Final = 50

_PROPERTY = re.compile(r"(?:- )?([\w-]+):: (.*)")
_LISTED = re.compile(r"(?:\[\[[^\]]{0,200}\]\]|[^,])+")
_LINKED = re.compile(r"\[\[([^\]|]*)(?:\|([^\]]*))?\]\]")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_SPAN = re.compile(r"`[^`\n]*`")
_TAG = re.compile(r"(?<!\S)#(?:\[\[([^\]\n]{1,60})\]\]|(\w[\w/-]{0,60}))")
_COLOUR = re.compile(r"(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\Z")
_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)
_BARE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a note beside its text: when its file was changed, and the day of its first event, if any."""

    mtime_ns: int
    first_event: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One value that is proposed, and where it comes from."""

    key: str
    value: str | tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """The whole note as it would be, and what in it is new. ``kept`` are keys whose old value stays under another."""

    content: bytes = field(repr=False)
    fields: tuple[Field, ...]
    kept: Mapping[str, str]


def propose(note: Note, known: Known, contract: Contract, owner: OwnerRules) -> Proposal | str | None:
    """What would make a note valid; None where it is so already, and the reason where nothing can be proposed."""
    if note.text is None:
        return "it is not UTF-8 text"
    findings = contract.judge(note)
    if not findings:
        return None
    beyond = [finding.message for finding in findings if finding.rule not in _MENDED]
    if beyond:
        return f"its frontmatter has faults that only its owner can mend: {'; '.join(beyond)[:500]}"
    faulty = {finding.rule for finding in findings}
    sources = _Sources(note, known, owner)
    fields = tuple(sources.field(key) for key in KEYS if key in faulty)
    kept = {one.key: _free(note, f"was_{one.key}") for one in fields if _is_lost(note, one)}
    text = _rewritten(note, fields, kept)
    if isinstance(text, Refusal):
        return text.message
    made = notes.parse(note.path, text.encode())
    left = [finding.message for finding in contract.judge(made)]
    if left:
        return f"no valid frontmatter was found for it: {'; '.join(left)[:500]}"
    if made.body != note.body:
        return "its body would change"
    return Proposal(made.raw, fields, kept)


# --- changing the text ------------------------------------------------------------------------------


def _rewritten(note: Note, fields: tuple[Field, ...], kept: Mapping[str, str]) -> str | Refusal:
    """The text with the old keys renamed and the new values set. Every other byte stays."""
    text = _renamed(note, kept)
    values: dict[str, Any] = {one.key: list(one.value) if isinstance(one.value, tuple) else one.value for one in fields}
    edited = editing.edited(note.path, text, (SetFields(values),))
    date = values.get("date")
    if isinstance(edited, str) and date is not None:
        # A day needs no quotes, and Obsidian shows it as a date without them.
        return edited.replace(f'\ndate: "{date}"', f"\ndate: {date}", 1)
    return edited


def _renamed(note: Note, kept: Mapping[str, str]) -> str:
    lines = (note.text or "").split("\n")
    for key, line in note.frontmatter.starts if note.frontmatter is not None else ():
        if key in kept:
            pattern = re.compile(rf"([\"']?){re.escape(key)}\1(?=\s*:)")
            lines[line - 1] = pattern.sub(kept[key], lines[line - 1], count=1)
    return "\n".join(lines)


def _free(note: Note, name: str) -> str:
    """A key that the frontmatter does not have."""
    number = 1
    free = name
    while note.node(free) is not None:
        number += 1
        free = f"{name}_{number}"
    return free


def _is_lost(note: Note, new: Field) -> bool:
    """Whether the value that stands there says more than the new one: other words, a link, or a comment."""
    old = note.node(new.key)
    if old is None or note.frontmatter is None:
        return False
    said = {_bare(word) for word in ((new.value,) if isinstance(new.value, str) else new.value)}
    words = list(_strings(old))
    if any("[[" in word or _bare(word) not in said for word in words if _bare(word)):
        return True
    starts = [*note.frontmatter.starts, ("", note.body_line)]
    first, last = next(
        ((line, starts[n + 1][1]) for n, (key, line) in enumerate(starts[:-1]) if key == new.key), (1, 1)
    )
    return _COMMENT.search("\n".join((note.text or "").split("\n")[first - 1 : last - 1])) is not None


def _bare(text: str) -> str:
    return _BARE.sub("", text.casefold())


def _strings(node: Node | None) -> Iterator[str]:
    """Every word that a value holds, keys of a mapping as well."""
    match node:
        case None:
            return
        case Scalar(typed, value, _):
            if value is not None and typed.strip():
                yield " ".join(typed.split())
        case Sequence(items, _):
            for item in items:
                yield from _strings(item)
        case _:
            for key, inner in node.entries:
                yield from (key.typed, *_strings(inner))


# --- where values come from --------------------------------------------------------------------------


class _Sources:
    """Looks for values in the note: its frontmatter, its text, its name, its folders, its file."""

    def __init__(self, note: Note, known: Known, owner: OwnerRules) -> None:
        self._note, self._known, self._owner = note, known, owner
        self._folders = [folder for folder in note.path.folder.split("/") if folder]
        self._properties = dict(_properties(note.body))

    def field(self, key: str) -> Field:
        """The best value for one of the keys."""
        match key:
            case "title":
                return self._title()
            case "type":
                return self._among("type", self._types(), self._owner.types)
            case "status":
                return self._among("status", self._statuses(), self._owner.statuses)
            case "tags":
                return self._tags()
            case _:
                return self._date()

    def _said(self, key: str) -> list[str]:
        """What frontmatter and properties say under a key, links as their text."""
        said = [*_strings(self._note.node(key)), *self._properties.get(key, ())]
        return [word for word in map(_unlinked, said) if word and not is_blank(word)]

    def _title(self) -> Field:
        said, heading = self._said("title"), _heading(self._note.body)
        title = " ".join(HIDDEN.sub(" ", said[0] if said else heading or self._name()).split())[:300]
        if is_blank(title):
            return Field("title", self._note.path.stem, "file name")
        if said:
            return Field("title", title, "title")
        return Field("title", title, "heading" if heading else "file name")

    def _name(self) -> str:
        """The file's name; with its folder where every folder has one of that name."""
        stem = self._note.path.stem
        return "/".join([*self._folders[-1:], stem]) if stem.casefold() in _PAGES else stem

    def _among(self, key: str, found: Iterator[tuple[str, str]], allowed: tuple[str, ...]) -> Field:
        """The first value that the owner's rules allow, in their spelling; else the first that they name."""
        known = {word.casefold(): word for word in allowed}
        for value, source in found:
            if not allowed:
                return Field(key, value, source)
            if value.casefold() in known:
                return Field(key, known[value.casefold()], source)
        return Field(key, allowed[0], "the owner's rules")

    def _types(self) -> Iterator[tuple[str, str]]:
        yield from ((word, "type") for word in self._said("type"))
        yield from ((word, key) for key in ("category", "categories") for word in self._said(key)[:1])
        below = [folder.casefold() for folder in self._folders]
        if in_name(self._note.path.stem) is not None and (below[-1:] == [] or below[-1] not in _TYPES):
            yield "log", "file name"
        if _LOGS.intersection(below):
            yield "log", "folder"
        yield from ((_TYPES[folder], "folder") for folder in reversed(below) if folder in _TYPES)
        if self._note.path.stem.casefold() in _PAGES:
            yield "index", "file name"
        yield "note", "default"

    def _statuses(self) -> Iterator[tuple[str, str]]:
        yield from ((word, "status") for word in self._said("status"))
        if _ARCHIVES.intersection(folder.casefold() for folder in self._folders):
            yield "archived", "folder"
        yield "active", "default"

    def _tags(self) -> Field:
        least, most = self._owner.tags_min, self._owner.tags_max
        chosen: dict[str, str] = {}
        for word, source in self._tag_words():
            tag = kebab(word)
            needed = most if source in ("tags", "text") else least
            if tag and len(chosen) < needed:
                chosen.setdefault(tag, source)
        number = 1
        while len(chosen) < least:
            chosen.setdefault(f"tag-{number}", "default")
            number += 1
        return Field("tags", tuple(chosen), ", ".join(dict.fromkeys(chosen.values())))

    def _tag_words(self) -> Iterator[tuple[str, str]]:
        for key in ("tags", "tag"):
            for word in self._said(key):
                yield from ((part, "tags") for part in re.split(r"[,;]\s*|\s+#", word))
        yield from ((word, "text") for word in _inline_tags(self._note.body))
        yield from ((folder, "folder") for folder in reversed(self._folders))
        yield from ((word, "type") for word, _ in self._types())
        yield from ((word, "default") for word in _FILLING)

    def _date(self) -> Field:
        for word in self._said("date"):
            if is_real_date(word):
                return Field("date", word, "date")
            if (day := day_in(word)) is not None:
                return Field("date", day, "date")
        named = in_name(self._note.path.stem)
        if named is not None:
            return Field("date", named, "file name")
        root = None if self._note.frontmatter is None else self._note.frontmatter.root
        keys = {re.sub(r"[\s_]+", "-", key.typed.casefold()): key.typed for key, _ in root.entries} if root else {}
        for key in _DATES:
            for word in self._said(keys.get(key, key)):
                if (day := day_in(word)) is not None:
                    return Field("date", day, keys.get(key, key))
        if self._known.first_event is not None:
            return Field("date", self._known.first_event, "history")
        return Field("date", day_of(self._known.mtime_ns), "file time")


def kebab(word: str) -> str:
    """A word as a tag: lower-case letters of any script, digits, single hyphens; ``""`` where nothing is left.

    >>> kebab("#Area/Sub Topic"), kebab("Straße_7"), kebab("++")
    ('area-sub-topic', 'straße-7', '')
    """
    lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).lower())
    parts = "".join(char if is_kebab(char) else "-" for char in lowered).split("-")
    tag = "-".join(part for part in parts if part)[:_LONGEST].rstrip("-")
    return tag if tag and is_kebab(tag) else ""


def _unlinked(word: str) -> str:
    """A word without the brackets of a link."""
    shown = _LINKED.sub(lambda found: found[2] or found[1].split("#")[0].rpartition("/")[2], word)
    return shown.strip()


def _properties(body: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Page properties, as Logseq writes them on the first lines: ``type:: [[Feature]]``."""
    for line in body[:_LOOKED_AT].lstrip("\n").split("\n"):
        found = _PROPERTY.match(line.rstrip("\r"))
        if found is None:
            return
        words = tuple(word.strip() for word in _LISTED.findall(found[2]) if word.strip())
        yield found[1].casefold(), words


def _heading(body: str) -> str:
    """The text of the first heading where that is one of the first level, else ``""``: a later one names a part."""
    for line in _prose(body):
        found = _HEADING.match(line)
        if found is not None:
            return plain_text(found[2].rstrip("\r").rstrip(" #")) if len(found[1]) == 1 else ""
    return ""


def _inline_tags(body: str) -> Iterator[str]:
    """Tags in the text, outside code; numbers and colours are none."""
    for line in _prose(body):
        for found in _TAG.finditer(_SPAN.sub(" ", line)):
            word = found[1] or found[2]
            if not word.isdigit() and not _COLOUR.match(word):
                yield word


def _prose(body: str) -> Iterator[str]:
    """The lines of a note's beginning that stand outside of fences."""
    fence = ""
    for line in body[:_LOOKED_AT].split("\n"):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            yield line
