"""A note, its history, and two of its revisions side by side. Text is shown as it stands in the file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from muninn import cursors, reading, refusals, standing
from muninn.bound import freshness
from muninn.model.answer import HistoryAnswer, Links, ReadAnswer
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.errors import LedgerUnavailableError
from muninn.model.refusal import Code, Refusal
from muninn.model.sight import File

from .compare import lines, of_bytes
from .visit import Visit

NOW: Final = "now"
"""Names what the file holds, beside hashes, event ids and ``missing``."""
_MOST_LINES: Final = 5000
"""On one page of a note; the next page goes on behind them."""


def note(visit: Visit) -> Response:
    """A note or a kept revision of its path, with its frontmatter and its links."""
    path = reading.parse_path(visit.ask("path"))
    if isinstance(path, Refusal):
        return visit.refused(path)
    revision, line = visit.ask("revision") or None, visit.ask("line")
    first = int(line) if line.isdecimal() and 0 < len(line) < 9 and int(line) else 1
    answer = reading.read(visit.door, visit.rights, path, reading.Range(first), revision)
    if isinstance(answer, Refusal):
        return _absent(visit, path, answer) if revision is None else visit.refused(answer)
    if answer.current:
        shown = [(path, answer.hash or answer.source_hash or "")]
        answer = freshness.warned(visit.door, visit.rights, answer, shown)
    links = _links(visit, path) if answer.current else None
    start = answer.start_line or 1
    told = lines(answer.content) if answer.encoding == "utf-8" else None
    more = told is not None and len(told) > _MOST_LINES
    return visit.page(
        "note.html",
        answer=answer,
        path=path,
        digest=answer.hash or answer.source_hash,
        first=start,
        lines=told[:_MOST_LINES] if told is not None else None,
        next_line=start + _MOST_LINES if more else answer.next_line,
        fields=_fields(answer),
        links=links if isinstance(links, Links) else None,
        crumbs=crumbs(path.folder),
    )


def _absent(visit: Visit, path: NotePath, refusal: Refusal) -> Response:
    """What is not there may have been: its history is what is left of it. To whom it is hidden it never was."""
    if refusal.code is not Code.NOT_FOUND or not visit.rights.sees(path):
        return visit.refused(refusal)
    try:
        events = visit.door.ledger.history(path, None, 1)
    except LedgerUnavailableError:
        events = []
    return visit.page("gone.html", 404, path=path, event=events[0]) if events else visit.refused(refusal)


def _links(visit: Visit, path: NotePath) -> Links | Refusal:
    cursor = visit.ask("links") or None
    position = 0 if cursor is None else cursors.read_number("links", {"path": path}, cursor)
    return standing.links(visit.door, visit.rights, path, position if isinstance(position, int) else 0)


def _fields(answer: ReadAnswer) -> list[tuple[str, list[str]]]:
    """The frontmatter as names with their values; what is neither text nor a list of texts as JSON."""
    found = []
    for name, value in (answer.frontmatter or {}).items():
        values = value if isinstance(value, list) else [value]
        found.append((str(name), [_value(item) for item in values]))
    return found


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def crumbs(folder: str) -> list[tuple[str, str]]:
    """The folders on the way to a place, each with its name."""
    parts = folder.split("/") if folder else []
    return [("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)]


def history(visit: Visit) -> Response:
    """Who changed a path and when, newest first, of archived paths as well."""
    path = reading.parse_path(visit.ask("path"))
    if isinstance(path, Refusal):
        return visit.refused(path)
    answer = reading.history(visit.door, visit.rights, path, visit.ask("cursor") or None)
    if isinstance(answer, Refusal):
        return visit.refused(answer)
    now = visit.door.vault.look(path)
    digest = now.hash if isinstance(now, File) else None
    if digest is None and not answer.events:
        return visit.refused(refusals.not_found(path))
    return visit.page(
        "history.html",
        path=path,
        now=digest,
        rows=_rows(answer, digest),
        following=answer.next_cursor,
        crumbs=crumbs(path.folder),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """One event; ``old`` and ``new`` name the sides that can be shown, None for one that cannot."""

    event: Any
    old: str | None
    new: str | None


def _rows(answer: HistoryAnswer, now: ContentHash | None) -> list[_Row]:
    def side(text: str, kept: bool) -> str | None:
        return text if kept or text in (MISSING.value, now) else None

    return [
        _Row(event, side(event.before, event.before_kept), side(event.after, event.after_kept))
        for event in answer.events
    ]


def diff(visit: Visit) -> Response:
    """Two revisions of a path side by side, from the bytes that are kept and the file."""
    path = reading.parse_path(visit.ask("path"))
    if isinstance(path, Refusal):
        return visit.refused(path)
    if not visit.rights.sees(path):
        return visit.refused(refusals.not_found(path))
    old, new = (_bytes(visit, path, visit.ask(name, NOW)) for name in ("a", "b"))
    if isinstance(old, Refusal) or isinstance(new, Refusal):
        return visit.refused(old if isinstance(old, Refusal) else new)  # type: ignore[arg-type]
    everything = bool(visit.ask("all"))
    found = of_bytes(old.content, new.content, everything=everything)
    values = {"old": old, "new": new, "found": found, "everything": everything}
    return visit.page("diff.html", path=path, crumbs=crumbs(path.folder), **values)


@dataclass(frozen=True, slots=True)
class _Revision:
    """One side of a comparison. ``name`` is the hash, or ``missing``."""

    name: str
    content: bytes
    is_now: bool


def _bytes(visit: Visit, path: NotePath, name: str) -> _Revision | Refusal:
    """The bytes that a hash, an event id, ``missing`` or ``now`` names. Call it for visible paths alone."""
    sight = visit.door.vault.look(path)
    digest = sight.hash if isinstance(sight, File) else MISSING
    if name == MISSING.value or (name == NOW and digest is MISSING):
        return _Revision(MISSING.value, b"", digest is MISSING)
    if isinstance(sight, File) and name in (NOW, sight.hash):
        return _Revision(sight.hash, sight.content, True)
    kept = reading.kept_revision(visit.door, path, name)
    return kept if isinstance(kept, Refusal) else _Revision(kept[0], kept[1], kept[0] == digest)
