"""What will change, and how it ended.

A write is a ``Draft`` judged against a ``View`` (``draft``); the verdict is a ``Plan`` or a ``Refusal``; a plan that is
carried out ends as a ``Receipt`` or stays ``Pending``. Nothing here touches a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .content import Basis, ContentHash, NotePath
from .refusal import Warn


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


@dataclass(frozen=True, slots=True)
class Pending:
    """The plan is kept but not finished; ``recover`` goes on with it."""

    plan: Plan
    id: str
