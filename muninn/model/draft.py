"""What is asked of the vault, and the one look it is judged against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .content import Basis, ContentHash, NotePath
from .note import Note
from .sight import Sight


@dataclass(frozen=True, slots=True)
class View:
    """One look at all that a draft concerns: the note, its folder's page, and the folder's other notes.

    ``siblings`` is filled only where the page has to be made from them.
    """

    note: Sight
    page: Sight | None = None
    siblings: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Replace:
    """Put ``text`` in place of ``find``, which stands exactly once."""

    find: str
    text: str


@dataclass(frozen=True, slots=True)
class Append:
    """Add text at the end, on a line of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """Change what stands under one heading."""

    heading: str
    text: str
    mode: Literal["replace", "append", "prepend"]


@dataclass(frozen=True, slots=True)
class SetFields:
    """Set top-level keys of the frontmatter; None takes one out."""

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
    """Change parts of a note and leave every other byte alone."""

    path: NotePath
    edits: tuple[Edit, ...]
    expected: Basis


@dataclass(frozen=True, slots=True)
class ArchiveDraft:
    """Take a note out of the vault."""

    path: NotePath
    expected: Basis
    reason: str
    note: str | None


@dataclass(frozen=True, slots=True)
class RestoreDraft:
    """Bring a kept revision back to its own path."""

    path: NotePath
    kept: Kept


@dataclass(frozen=True, slots=True)
class UndoDraft:
    """Bring a path back to what it held before; ``kept`` is None where nothing was there."""

    path: NotePath
    expected: Basis
    kept: Kept | None


Draft = WriteDraft | EditDraft | ArchiveDraft | RestoreDraft | UndoDraft
