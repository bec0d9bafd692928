"""Read, list and history: exact bytes with their hash, for those who may see them."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any, Final

from muninn import cursors, external, refusals
from muninn.door import Door
from muninn.model import note as notes
from muninn.model.answer import EventRow, HistoryAnswer, Listing, ReadAnswer, Row
from muninn.model.content import BadPath, ContentHash, NotePath
from muninn.model.listing import Entry
from muninn.model.note import Note
from muninn.model.refusal import Code, Refusal, Warn
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, Elsewhere, File

MAX_TEXT: Final = 256 * 1024
MAX_BINARY: Final = 1024 * 1024
PAGE: Final = 100
_TITLE: Final = 300


def parse_path(text: str) -> NotePath | Refusal:
    """A path from a client, or the refusal that says what is wrong with it."""
    path = NotePath.parse(text)
    if isinstance(path, BadPath):
        message = f"path {path.text!r} is no path of this vault: {path.why}; expected is a path like projects/plan.md"
        return Refusal(Code.INVALID_PATH, message)
    return path


@dataclass(frozen=True, slots=True)
class Range:
    """The lines asked for, 1-based and inclusive; ``end`` None reads on to the end."""

    start: int = 1
    end: int | None = None


WHOLE: Final = Range()


def read(door: Door, rights: Rights, path: NotePath, lines: Range, revision: str | None) -> ReadAnswer | Refusal:
    """A file, or a kept revision of its path, with the hash of its exact bytes where it came whole."""
    if not rights.sees(path):
        return refusals.not_found(path)
    found = door.vault.look(path) if not path.is_temporary else Absent(path)
    if revision is not None:
        return _read_revision(door, rights, path, lines, revision, found if isinstance(found, File) else None)
    match found:
        case File():
            answer = _answer(rights, notes.parse(path, found.content, found.hash), lines, current=True)
            return answer if isinstance(answer, Refusal) else _with_outsiders(door, answer, path)
        case Absent():
            return refusals.not_found(path)
        case Blocked(_, what):
            return refusals.no_file(path, what)
        case Elsewhere():
            return refusals.elsewhere(path)


def _with_outsiders(door: Door, answer: ReadAnswer, path: NotePath) -> ReadAnswer:
    """Say it where the note's newest event came around the door."""
    if not external.is_external(door, path):
        return answer
    message = "the newest change of this note came around the door: nobody presented a hash for it"
    return replace(answer, warnings=(*answer.warnings, Warn("external_change", message, (path,))))


def _read_revision(
    door: Door, rights: Rights, path: NotePath, lines: Range, revision: str, now: File | None
) -> ReadAnswer | Refusal:
    if now is not None and now.hash == revision:
        return _answer(rights, notes.parse(path, now.content, now.hash), lines, current=True)
    kept = kept_revision(door, path, revision)
    if isinstance(kept, Refusal):
        return kept
    digest, content, _ = kept
    current = now is not None and now.hash == digest
    return _answer(rights, notes.parse(path, content, digest), lines, current=current)


def kept_revision(door: Door, path: NotePath, revision: str) -> tuple[ContentHash, bytes, int | None] | Refusal:
    """The kept bytes that a revision of this path names, with their hash and mode."""
    found = door.ledger.revision(path, revision)
    content = door.ledger.content(found[0]) if found is not None else None
    if found is None or content is None:
        message = f"no revision {revision[:80]!r} of {path} is kept: give a hash or an event id from history({path})"
        return Refusal(Code.UNKNOWN_ID, message)
    return found[0], content, found[1]


def _answer(rights: Rights, note: Note, lines: Range, *, current: bool) -> ReadAnswer | Refusal:
    if note.text is None:
        return _binary(rights, note, current)
    if lines == WHOLE and len(note.raw) <= MAX_TEXT:
        return _whole(rights, note, current)
    starts = _line_starts(note.raw)
    last = min(lines.end if lines.end is not None else len(starts), len(starts))
    if lines.end is not None and lines.end < lines.start:
        return Refusal(Code.INVALID_ARGUMENTS, f"end_line {lines.end} is before start_line {lines.start}")
    if lines.start > max(len(starts), 1):
        message = f"start_line {lines.start} is past the end: {note.path} has {len(starts)} lines"
        return Refusal(Code.INVALID_ARGUMENTS, message)
    first_byte = starts[lines.start - 1] if starts else 0
    last, end_byte = _within_limit(note.raw, starts, lines.start, last)
    if end_byte - first_byte > MAX_TEXT:
        message = f"line {lines.start} of {note.path} alone has {end_byte - first_byte} bytes; a read gives {MAX_TEXT}"
        return Refusal(Code.TOO_LARGE, message)
    complete = first_byte == 0 and end_byte == len(note.raw)
    values = note.values if note.path.is_note else None
    return ReadAnswer(
        note.path,
        note.hash if complete else None,
        note.raw[first_byte:end_byte].decode(),
        "utf-8",
        len(note.raw),
        len(starts),
        note.title,
        values,
        complete,
        current,
        rights.is_private(note.path),
        None if complete else note.hash,
        None if complete else lines.start,
        None if complete else last,
        last + 1 if not complete and last < len(starts) else None,
        warnings=_warnings(note, values),
    )


def _whole(rights: Rights, note: Note, current: bool) -> ReadAnswer:
    """All of a text, from the first to the last byte."""
    raw = note.raw
    lines = raw.count(b"\n") + (bool(raw) and not raw.endswith(b"\n"))
    values = note.values if note.path.is_note else None
    private = rights.is_private(note.path)
    return ReadAnswer(
        *(note.path, note.hash, note.text or "", "utf-8", len(raw), lines, note.title, values, True, current, private),
        warnings=_warnings(note, values),
    )


def _line_starts(raw: bytes) -> list[int]:
    """Where each line begins. Lines end at LF; a last one without it counts."""
    starts = [0] if raw else []
    at = raw.find(b"\n")
    while at != -1 and at + 1 < len(raw):
        starts.append(at + 1)
        at = raw.find(b"\n", at + 1)
    return starts


def _within_limit(raw: bytes, starts: list[int], first: int, last: int) -> tuple[int, int]:
    """The last whole line that fits the limit, at least the first one, and the byte where it ends."""

    def end_of(line: int) -> int:
        return starts[line] if line < len(starts) else len(raw)

    if not starts:
        return 0, 0
    limit = starts[first - 1] + MAX_TEXT
    low, high = first, last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if end_of(middle) <= limit else (low, middle - 1)
    return low, end_of(low)


def _binary(rights: Rights, note: Note, current: bool) -> ReadAnswer | Refusal:
    if len(note.raw) > MAX_BINARY:
        message = (
            f"{note.path} is not UTF-8 text and has {len(note.raw)} bytes; at most {MAX_BINARY} are sent as base64"
        )
        return Refusal(Code.TOO_LARGE, message)
    content = base64.b64encode(note.raw).decode()
    private = rights.is_private(note.path)
    return ReadAnswer(
        note.path, note.hash, content, "base64", len(note.raw), 0, note.title, None, True, current, private
    )


def _warnings(note: Note, values: dict[str, Any] | None) -> tuple[Warn, ...]:
    warnings = []
    if note.path.is_note and note.frontmatter is not None and values is None:
        reason = note.flaws[0].message if note.flaws else "it cannot be read"
        warnings.append(Warn("unparsed_frontmatter", f"the frontmatter was not understood: {reason}", (note.path,)))
    if note.path.is_conflict_copy:
        message = "a sync tool made this copy when two machines wrote at once; its original may differ"
        warnings.append(Warn("conflict_copy", message, (note.path,)))
    return tuple(warnings)


def listing(door: Door, rights: Rights, folder: str, depth: int, hashes: bool, cursor: str | None) -> Listing | Refusal:
    """What lies in a folder, sorted by path; titles of notes, and hashes where asked for."""
    asked = {"folder": folder, "depth": depth, "hashes": hashes}
    position = cursors.read("list", asked, cursor) if cursor is not None else ""
    if isinstance(position, Refusal):
        return position
    if folder and not _is_folder(door, rights, folder):
        return Refusal(Code.NOT_FOUND, f"there is no folder {folder}; list its parent to see what is there")
    found = sorted(_visible(door, rights, folder, depth), key=lambda entry: entry.path)
    rest = [entry for entry in found if entry.path > str(position)]
    page = rest[:PAGE]
    following = cursors.make("list", asked, page[-1].path) if len(rest) > PAGE else None
    return Listing(tuple(_row(door, entry, hashes) for entry in page), following)


def _is_folder(door: Door, rights: Rights, folder: str) -> bool:
    parent = folder.rpartition("/")[0]
    entries = _visible(door, rights, parent, 1)
    return any(entry.path == folder and entry.kind == "folder" for entry in entries)


def _visible(door: Door, rights: Rights, folder: str, depth: int) -> list[Entry]:
    """Entries the client may see. A folder shows where the client may see it, or anything below it."""
    shown: dict[str, Entry] = {}
    folders: dict[str, Entry] = {}
    depth_of_folder = folder.count("/") + 1 if folder else 0
    limited = not rights.sees_everything
    for entry in door.vault.walk(folder, None if limited else depth):
        if not isinstance(entry, Entry) or entry.kind == "elsewhere":
            continue
        is_near = entry.path.count("/") - depth_of_folder < depth
        if entry.kind == "folder" and is_near:
            folders[entry.path] = entry
        if not rights.sees(entry.path):
            continue
        if is_near:
            shown[entry.path] = entry
        shown.update((above, folders[above]) for above in entry.path.folders if above in folders)
    return list(shown.values())


def _row(door: Door, entry: Entry, hashes: bool) -> Row:
    size = None if entry.stamp is None else entry.stamp.size
    title: str | None = None
    digest: str | None = None
    if entry.kind == "note" or (hashes and entry.kind == "attachment"):
        try:
            found = door.vault.look(entry.path)
        except OSError:
            found = Absent(entry.path)
        if isinstance(found, File):
            digest = found.hash if hashes else None
            title = notes.parse(entry.path, found.content, found.hash).title[:_TITLE] if entry.kind == "note" else None
    if entry.kind == "elsewhere":
        raise ValueError(f"{entry.path}: a placeholder is no row")
    return Row(entry.path, entry.kind, title, size, digest)


def history(door: Door, rights: Rights, path: NotePath, cursor: str | None) -> HistoryAnswer | Refusal:
    """Events of a path, newest first, of archived paths as well."""
    if not rights.sees(path):
        return refusals.not_found(path)
    position = cursors.read_number("history", {"path": path}, cursor) if cursor is not None else None
    if isinstance(position, Refusal):
        return position
    events = door.ledger.history(path, position, PAGE + 1)
    rows = tuple(
        EventRow(
            event.id,
            event.at,
            event.client,
            event.kind.value,
            str(event.before),
            str(event.after),
            _kept(door, event.before),
            _kept(door, event.after),
            event.reason,
            event.note,
        )
        for event in events[:PAGE]
    )
    following = cursors.make("history", {"path": path}, events[PAGE - 1].seq) if len(events) > PAGE else None
    return HistoryAnswer(rows, following)


def _kept(door: Door, basis: object) -> bool:
    return isinstance(basis, ContentHash) and door.ledger.keeps(basis)
