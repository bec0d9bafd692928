"""What is asked, what was seen, what will change, and how it ended.

A write is a ``Draft`` judged against a ``View``; the verdict is a ``Plan`` or a ``Refusal``; a plan that is
carried out ends as a ``Receipt`` or stays ``Pending``. Nothing here touches a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from .content import MISSING, Basis, ContentHash, NotePath
from .note import Note


class Code(StrEnum):
    """The codes a refusal may carry (SYSTEM 3)."""

    INVALID_ARGUMENTS = "invalid_arguments"
    INVALID_PATH = "invalid_path"
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"
    EXISTS = "exists"
    CONFLICT = "conflict"
    INVALID_NOTE = "invalid_note"
    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    UNKNOWN_ID = "unknown_id"
    VAULT_UNAVAILABLE = "vault_unavailable"
    LEDGER_UNAVAILABLE = "ledger_unavailable"
    INDEX_BLOCK = "index_block"
    SCRIPT_ERROR = "script_error"
    SCRIPT_LIMIT = "script_limit"
    BUDGET_EXCEEDED = "budget_exceeded"


@dataclass(frozen=True, slots=True)
class Refusal:
    """No, and why: what was expected, what was found, and the next step. Nothing was changed."""

    code: Code
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Warn:
    """A warning that rides along in an answer and never blocks."""

    code: str
    message: str
    paths: tuple[str, ...] = ()


class Kind(StrEnum):
    """What an event did, as ``history`` names it."""

    CREATE = "create"
    OVERWRITE = "overwrite"
    ARCHIVE = "archive"
    RESTORE = "restore"
    UNDO = "undo"
    EXTERNAL = "external"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Change:
    """A path goes from one basis to another. Bytes never ride along: they lie in the ledger by their hash.

    ``mode`` holds the permission bits of the bytes that stay or go; None where the platform's default is meant.
    """

    path: NotePath
    before: Basis
    after: Basis
    mode: int | None = None


# --- what was seen -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class File:
    """A regular file at its exact bytes. ``stored`` is the name on disk, maybe in another Unicode form."""

    path: NotePath
    stored: str
    content: bytes = field(repr=False)
    hash: ContentHash
    mode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing is there. ``twin`` names an existing path that differs only in case or Unicode form."""

    path: NotePath
    twin: str | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something is there that is no regular file, or a folder on the way is none."""

    path: NotePath
    what: Literal["folder", "symbolic link", "special file", "a file where a folder is needed", "larger than 64 MiB"]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A cloud placeholder: the file exists, but not here and now."""

    path: NotePath


Sight = File | Absent | Blocked | Elsewhere


def basis_of(sight: Sight) -> Basis | None:
    """The basis that a look found; None where what is there has none."""
    match sight:
        case File():
            return sight.hash
        case Absent():
            return MISSING
        case Blocked() | Elsewhere():
            return None


@dataclass(frozen=True, slots=True)
class View:
    """One look at all that a draft concerns: the note, its folder's page, and the folder's other notes.

    ``siblings`` is filled only where the page has to be made from them.
    """

    note: Sight
    page: Sight | None = None
    siblings: tuple[Note, ...] = ()


# --- what is asked -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replace:
    find: str
    text: str


@dataclass(frozen=True, slots=True)
class Append:
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    text: str
    mode: Literal["replace", "append", "prepend"]


@dataclass(frozen=True, slots=True)
class SetFields:
    fields: Mapping[str, Any]


Edit = Replace | Append | Section | SetFields


@dataclass(frozen=True, slots=True)
class Kept:
    """A revision the ledger keeps: what a restore brings back."""

    hash: ContentHash
    content: bytes = field(repr=False)
    mode: int | None


@dataclass(frozen=True, slots=True)
class WriteDraft:
    """``typed`` is the path as the client sent it: a new name is judged as typed."""

    path: NotePath
    typed: str
    content: bytes = field(repr=False)
    expected: Basis


@dataclass(frozen=True, slots=True)
class EditDraft:
    path: NotePath
    edits: tuple[Edit, ...]
    expected: Basis


@dataclass(frozen=True, slots=True)
class ArchiveDraft:
    path: NotePath
    expected: Basis
    reason: str
    note: str | None


@dataclass(frozen=True, slots=True)
class RestoreDraft:
    path: NotePath
    kept: Kept


@dataclass(frozen=True, slots=True)
class UndoDraft:
    """Bring a path back to what it held before; ``kept`` is None where nothing was there."""

    path: NotePath
    expected: Basis
    kept: Kept | None


Draft = WriteDraft | EditDraft | ArchiveDraft | RestoreDraft | UndoDraft


# --- what will change, and how it ended ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """A client's own name for a call, and the digest of tool and arguments it is bound to."""

    id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The verdict on a draft: every change, with the bytes that must be kept before the first file is touched.

    The first change is the note's own, a second one its folder's page. No change at all means that the
    right hash came with the bytes that are there already.
    """

    kind: Kind
    path: NotePath
    before: Basis
    after: Basis
    changes: tuple[Change, ...]
    contents: Mapping[ContentHash, bytes] = field(repr=False)
    reason: str | None = None
    note: str | None = None
    diff: str | None = None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The plan was carried out whole. ``event`` is None where nothing had to change."""

    plan: Plan
    event: str | None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """The plan is kept but not finished; ``recover`` goes on with it."""

    plan: Plan
    id: str
