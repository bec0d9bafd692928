"""Warnings on what is shown: a note whose claims abstain, or that is a summary of sources which changed.

Asked for every path in an answer, so it is bounded: one look-up in the ledger for a path that nothing is bound to, and
a few files for one that is a summary. What the bounds leave out is not warned of; ``staleness`` says it whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

from .tracing import Budget, newest, trace

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
    hashes = {NotePath(path): digest for path, digest in shown}
    with suppress(LedgerUnavailableError):
        bound = door.ledger.claims.bound(list(hashes)[:MOST_PATHS])
        if bound:
            return tuple(_of_bound(door, rights, bound, hashes))
    return ()


def _of_bound(
    door: Door, rights: Rights, bound: dict[NotePath, set[str]], hashes: dict[NotePath, str]
) -> Iterator[Warn]:
    claimed = [path for path, kinds in bound.items() if "claim" in kinds]
    abstaining = [path for path in claimed if _has_abstaining(door, path, hashes[path])]
    if abstaining:
        message = "these notes changed since something was claimed of them; `claims` lists what abstains"
        yield Warn("abstaining_claims", message, tuple(abstaining[:_NAMED]))
    budget = Budget(door, most_checks=_MOST_CHECKS, most_bytes=_MOST_BYTES)
    summaries = [path for path, kinds in bound.items() if "summary" in kinds]
    stale = [path for path in summaries if not budget.exhausted and _is_stale(door, rights, path, budget)]
    if stale:
        message = "sources of these summaries changed since they were registered; `staleness` says which"
        yield Warn("stale_summary", message, tuple(stale[:_NAMED]))


def _has_abstaining(door: Door, path: NotePath, digest: str) -> bool:
    return any(claim.source.hash != digest for claim in door.ledger.claims.of_path(path, limit=_CLAIMS))


def _is_stale(door: Door, rights: Rights, path: NotePath, budget: Budget) -> bool:
    found = newest(door, rights, path)
    return found is not None and isinstance(
        trace(found, lambda below: newest(door, rights, below), budget).state, Stale
    )
