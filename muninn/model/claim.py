"""A statement bound to a source at exact bytes: it is held as long as the source has these bytes, else it abstains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .content import MISSING, Basis, ContentHash, Revision

Abstaining = Literal["changed", "missing", "archived", "unreadable"]
"""Why a claim abstains: the source holds other bytes; is not there; was archived; cannot be read now."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of the source that bear a claim out, 1-based and inclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement as it was made. ``seq`` is its row in the ledger, ``at`` its time (RFC 3339, UTC)."""

    id: str
    statement: str
    source: Revision
    lines: Lines | None
    client: str | None
    at: str
    seq: int


@dataclass(frozen=True, slots=True)
class Held:
    """The source holds exactly the bytes the claim was bound to."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Abstained:
    """The source does not hold these bytes now. The statement is not in here, so that nobody repeats it."""

    id: str
    path: str
    why: Abstaining


def stand(claim: Claim, found: Basis | None, *, archived: bool) -> Held | Abstained:
    """Whether a claim is held, by what its source holds now.

    ``found`` None says that the source cannot be read; ``archived`` tells a source that was archived from one that is
    gone otherwise.
    """
    why = why_not(claim.source.hash, found, archived=archived)
    return Held(claim) if why is None else Abstained(claim.id, claim.source.path, why)


def why_not(expected: ContentHash, found: Basis | None, *, archived: bool) -> Abstaining | None:
    """Why a path does not hold the bytes that something was made from, None where it does; ``found`` as above."""
    if found == expected:
        return None
    if found is None:
        return "unreadable"
    if found is MISSING:
        return "archived" if archived else "missing"
    return "changed"
