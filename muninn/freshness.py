"""Warnings on what is shown: a note whose claims abstain, or that is a summary of sources which changed.

Asked for every path in an answer, so it is bounded: one look-up in the ledger for a path that nothing is bound to, and
a few files for one that is a summary. What the bounds leave out is not warned of; ``staleness`` says it whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from muninn.door import Door
from muninn.model.answer import ReadAnswer, RunAnswer
from muninn.model.content import NotePath
from muninn.model.errors import LedgerUnavailableError
from muninn.model.hits import Found
from muninn.model.refusal import Warn
from muninn.model.rights import Rights
from muninn.model.summary import Stale
from muninn.tracing import Budget, newest, trace

MOST_PATHS: Final = 100
_CLAIMS: Final = 100
_NAMED: Final = 10
"""Paths in one warning: an answer has no room for more."""
_MOST_CHECKS: Final = 32
_MOST_BYTES: Final = 2 * 1024 * 1024


_Answer = TypeVar("_Answer", Found, ReadAnswer, RunAnswer)


def warned(door: Door, rights: Rights, answer: _Answer, shown: Iterable[tuple[str, str]]) -> _Answer:
    """An answer with these warnings beside its own."""
    more: tuple[Warn, ...] = warnings(door, rights, shown)
    return replace(answer, warnings=(*answer.warnings, *more)) if more else answer


def warnings(door: Door, rights: Rights, shown: Iterable[tuple[str, str]]) -> tuple[Warn, ...]:
    """What to know of these paths, each with the hash of the bytes that were shown of it."""
    abstaining: list[str] = []
    stale: list[str] = []
    budget = Budget(door, most_checks=_MOST_CHECKS, most_bytes=_MOST_BYTES)
    with suppress(LedgerUnavailableError):
        for path, digest in list(dict(shown).items())[:MOST_PATHS]:
            kinds = door.ledger.claims.kinds_at(NotePath(path))
            if "claim" in kinds and _has_abstaining(door, NotePath(path), digest):
                abstaining.append(path)
            if "summary" in kinds and not budget.exhausted and _is_stale(door, rights, NotePath(path), budget):
                stale.append(path)
    given = []
    if abstaining:
        message = "these notes changed since something was claimed of them; `claims` lists what abstains"
        given.append(Warn("abstaining_claims", message, tuple(abstaining[:_NAMED])))
    if stale:
        message = "sources of these summaries changed since they were registered; `staleness` says which"
        given.append(Warn("stale_summary", message, tuple(stale[:_NAMED])))
    return tuple(given)


def _has_abstaining(door: Door, path: NotePath, digest: str) -> bool:
    return any(claim.source.hash != digest for claim in door.ledger.claims.of_path(path, limit=_CLAIMS))


def _is_stale(door: Door, rights: Rights, path: NotePath, budget: Budget) -> bool:
    found = newest(door, rights, path)
    return found is not None and isinstance(
        trace(found, lambda below: newest(door, rights, below), budget).state, Stale
    )
