"""What the index takes from one note: its facts, the terms of each column, its links and other names. Pure.

A note that cannot be parsed costs only itself: its text is taken as it stands, and ``fault`` says what was wrong.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from muninn.model import links, note, page
from muninn.model.content import ContentHash, NotePath, same_name
from muninn.model.frontmatter import Node, Scalar, Sequence

from .languages import marker
from .settings import IndexSettings
from .words import ALL, Lexicon

MOST_BYTES: Final = 8 * 1024 * 1024
LOG: Final = 1
RETIRED: Final = 2
FLAG_BITS: Final = 2
COLUMNS: Final = ("title", "names", "meta", "heads", "body")
WEIGHTS: Final = (8.0, 4.0, 2.0, 2.0, 1.0)

_HEADING = re.compile(r"\n {0,3}#{1,6}[ \t]+(\S.*)")
_DATED_NAME = re.compile(r"(?:19|20)\d\d[-_. ]?(?:0[1-9]|1[0-2])[-_. ]?(?:0[1-9]|[12]\d|3[01])\Z")
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[Tt ]\d{2}:\d{2}.*)?\Z", re.DOTALL)
_LOOKS_LIKE_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_LOG_TYPES: Final = ("log", "daily")
_OWN_COLUMNS: Final = frozenset({"title", "aliases", "alias", "tags", "type", "status", "date"})
_UNREADABLE: Final = frozenset({"yaml", "anchors", "depth", "size", "numbers", "mapping"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What an answer says of a note beside its text, and what filters look at. ``body`` is where the body begins."""

    title: str
    type: str | None
    status: str | None
    date: str | None
    day: str
    tags: tuple[str, ...]
    flags: int
    body: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Digest:
    """A note, as the index stores it."""

    path: NotePath
    hash: ContentHash
    facts: Facts
    columns: tuple[str, ...] = field(repr=False)
    links: tuple[tuple[str, int, str, str], ...] = ()
    """Key of the target's last segment, line, kind, target as written."""
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A note's text with its folder block blanked, and its facts."""

    text: str
    facts: Facts
    note: note.Note
    fault: str | None


def open_text(path: NotePath, raw: bytes, digest: ContentHash, folder_page: str | None) -> tuple[note.Note, str]:
    """The note, and the text the index looks at: decoded whatever the bytes, cut at 8 MiB, a folder's block blanked."""
    parsed = note.parse(path, raw if len(raw) <= MOST_BYTES else _cut(raw), digest)
    text = parsed.text if parsed.text is not None else parsed.raw.decode("utf-8", "replace")
    if folder_page is not None and path.name.lower() == folder_page.lower():
        text = page.blank_block(text)
    return parsed, text


def read(path: NotePath, raw: bytes, digest: ContentHash, mtime_ns: int, settings: IndexSettings) -> Reading:
    """The facts of a note, and what was wrong with it."""
    parsed, text = open_text(path, raw, digest, settings.folder_page)
    date, date_fault = _date(parsed)
    day = date[:10] if date is not None and date_fault is None else day_of(mtime_ns)
    status = _one_line(parsed.node("status"))
    kind = _one_line(parsed.node("type"))
    facts = Facts(
        title=parsed.title,
        type=kind,
        status=status,
        date=date,
        day=day,
        tags=tuple(tag.lstrip("#") for tag in parsed.words("tags")),
        flags=_flags(path, kind, status, settings),
        body=parsed.body_start,
        aliases=(*parsed.words("aliases"), *parsed.words("alias")),
    )
    return Reading(text, facts, parsed, _fault(parsed, raw, date_fault))


def digest(
    path: NotePath, raw: bytes, digest: ContentHash, mtime_ns: int, settings: IndexSettings, lexicon: Lexicon
) -> Digest:
    """Everything the index stores of a note."""
    seen = read(path, raw, digest, mtime_ns, settings)
    facts, text = seen.facts, seen.text
    body = text[facts.body :]
    names = " ".join((path.folder.replace("/", " "), path.stem, *facts.tags))
    meta = _values(seen.note, text)
    tongue = lexicon.of_note(text, facts.body)
    title = tongue.column(" \n ".join((facts.title, *facts.aliases)), with_common=True)
    columns = (
        f"{title} {ALL} {marker(tongue.language)}",
        tongue.column(names, with_common=True),
        tongue.column(meta) if meta else "",
        tongue.column("\n".join(_HEADING.findall(f"\n{body}")), with_common=True) if "#" in body else "",
        tongue.column(body),
    )
    found = tuple((key_of(link, path), link.line, link.kind, link.target) for link in links.scan(text))
    return Digest(path, digest, facts, columns, found, seen.fault)


def key_of(link: links.Link, source: NotePath) -> str:
    """The key under which a link is filed: the last segment of its target, without ``.md``."""
    return name_key(last_segment(link.target, source.folder, link.kind))


def last_segment(target: str, folder: str, kind: str) -> str:
    """The name a written target ends in; steps such as ``..`` are taken from the note's own folder."""
    if kind != "wikilink" and "%" in target:
        target = unquote(target)
    steps = folder.split("/") if folder and not target.startswith("/") else []
    for segment in target.replace("\\", "/").split("/"):
        if segment == "..":
            del steps[-1:]
        elif segment not in ("", "."):
            steps.append(segment.strip())
    return steps[-1] if steps else ""


def name_key(name: str) -> str:
    """A file's name as links are compared: without ``.md``, case and Unicode form."""
    key = same_name(name)
    return key.removesuffix(".md")


def unquote(text: str) -> str:
    """Percent-decode a Markdown link's target (RFC 3986, 2.1); what is no valid code stays as it is."""
    if "%" not in text:
        return text
    head, *rest = text.encode().split(b"%")
    parts = [head]
    for piece in rest:
        code = piece[:2]
        is_code = len(code) == 2 and all(char in b"0123456789abcdefABCDEF" for char in code)
        parts.append(bytes.fromhex(code.decode()) + piece[2:] if is_code else b"%" + piece)
    return unicodedata.normalize("NFC", b"".join(parts).decode("utf-8", "replace"))


def is_retired(status: str | None, settings: IndexSettings) -> bool:
    """Whether a note of this status is left out of answers."""
    return status is not None and status.casefold() in settings.retired


def _cut(raw: bytes) -> bytes:
    return raw[:MOST_BYTES].decode("utf-8", "ignore").encode() if _is_utf8(raw) else raw[:MOST_BYTES]


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _flags(path: NotePath, kind: str | None, status: str | None, settings: IndexSettings) -> int:
    is_log = (
        (kind is not None and kind.casefold() in _LOG_TYPES)
        or _DATED_NAME.match(path.stem) is not None
        or settings.logs.cover(path)
    )
    return (LOG if is_log else 0) | (RETIRED if is_retired(status, settings) else 0)


def flags_unread(path: NotePath, text: str, settings: IndexSettings) -> int | None:
    """The flags of a note whose frontmatter shows, without being parsed, that it is neither retired nor a log by it;
    None where it has to be parsed."""
    if text.startswith(("---", "\ufeff---")):
        head = text[: text.find("\n---", 3)].casefold()
        if "\\" in head or any(word in head for word in (*settings.retired, *_LOG_TYPES)):
            return None
    return _flags(path, None, None, settings)


def _date(parsed: note.Note) -> tuple[str | None, str | None]:
    """The frontmatter's date as typed, and what is wrong with it."""
    typed = _one_line(parsed.node("date"))
    if typed is None:
        return None, None
    found = _DATE.match(typed)
    if found is None:
        wrong = f"date: {typed[:40]} is not YYYY-MM-DD" if _LOOKS_LIKE_DATE.match(typed) else None
        return typed, wrong or f"date: {typed[:40]} is no date"
    try:
        datetime.date.fromisoformat(found[1])
    except ValueError:
        return typed, f"date: {typed[:40]} is not a real date"
    return typed, None


def day_of(mtime_ns: int) -> str:
    """The UTC day of a file's time. Times outside the calendar give its nearest end."""
    days = min(max(mtime_ns // 86_400_000_000_000, -719_162), 2_932_896)
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()


def _one_line(node: Node | None) -> str | None:
    if isinstance(node, Scalar) and node.value is not None and node.typed.strip():
        return " ".join(node.typed.split())
    return None


def _fault(parsed: note.Note, raw: bytes, date_fault: str | None) -> str | None:
    if parsed.text is None:
        return "it is not UTF-8 text; it is searched by what can be read of it"
    for flaw in parsed.flaws:
        if flaw.rule in _UNREADABLE:
            return f"unparsable frontmatter: {flaw.message}"
    if date_fault is not None:
        return date_fault
    return f"it is over {MOST_BYTES} bytes; only the first part is searched" if len(raw) > MOST_BYTES else None


def _values(parsed: note.Note, text: str) -> str:
    """The frontmatter's values but those with a column of their own; the raw block where it cannot be parsed."""
    if parsed.frontmatter is None:
        return ""
    root = parsed.frontmatter.root
    if root is None:
        return text[: parsed.body_start]
    return "\n".join(typed for key, value in root.entries if key.typed not in _OWN_COLUMNS for typed in _scalars(value))


def _scalars(node: Node) -> Iterator[str]:
    if isinstance(node, Scalar):
        yield node.typed
        return
    for item in node.items if isinstance(node, Sequence) else [value for _, value in node.entries]:
        yield from _scalars(item)
