"""A worklist for whoever keeps the vault: sources that changed, and the summaries and claims that lean on them.

No model judges anything here. For each source there is a diff of its changed lines, from the kept bytes of the
registration to what it holds now, and the sentences of each summary that share words with them. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from muninn.door import Door
from muninn.model import note as notes
from muninn.model.bound import SentenceRow
from muninn.model.claim import Abstained, Abstaining, Claim
from muninn.model.content import NotePath
from muninn.model.note import Note
from muninn.model.rights import Rights
from muninn.model.sight import File, told
from muninn.model.summary import MOST_BYTES, Because, Current, Stale, Unknown, Why

from . import claims, refreshing
from .summaries import registered
from .tracing import Budget, Traced, newest, trace


@dataclass(frozen=True, slots=True)
class Leaning:
    """A summary that leans on a source that changed: directly, or behind other summaries. ``sentences`` share words
    with the changed lines."""

    path: NotePath
    direct: bool
    sentences: tuple[SentenceRow, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """A claim on a source that changed; its statement is not told while it abstains."""

    claim_id: str
    why: Abstaining


@dataclass(slots=True)
class Changed:
    """A source that does not hold the bytes (``expected``) that something was made from. ``diff`` has its changed lines
    alone; None where there are none to compare."""

    path: NotePath
    why: Why | Abstaining
    expected: str
    found: str | None
    diff: str | None = None
    summaries: list[Leaning] = field(default_factory=list)
    claims: list[Bound] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Unclear:
    """A summary of which it cannot be said whether it is current, and why."""

    path: NotePath
    because: tuple[Because, ...]


@dataclass(frozen=True, slots=True)
class Worklist:
    """``changed`` by path; ``unclear`` summaries by path. ``summaries`` and ``claims`` count what was looked at."""

    changed: tuple[Changed, ...]
    unclear: tuple[Unclear, ...]
    summaries: int
    claims: int

    @property
    def empty(self) -> bool:
        """Whether there is nothing to look at again."""
        return not self.changed and not self.unclear


def lint(door: Door, rights: Rights, since: str | None = None) -> Worklist:
    """Every source that changed and what leans on it, for those who may see it.

    Each summary is asked within a budget of its own. ``since`` (RFC 3339, UTC) leaves out sources whose newest change
    in the ledger is older; what the ledger has not seen yet counts as new.
    """
    work = _Work(door)
    unclear: list[Unclear] = []
    summaries = 0
    for found in registered(door, rights):
        summaries += 1
        budget = Budget(door, keeping=True)
        traced = trace(found, lambda below: newest(door, rights, below), budget)
        path = found.summary.path
        match traced.state:
            case Current():
                pass
            case Stale():
                work.lean(path, traced, {source.path for source in found.sources}, budget)
            case Unknown(because) if not _is_archived(path, because):
                unclear.append(Unclear(path, because))
            case Unknown():
                pass
    counted = work.bind(claims.visible(door, rights))
    changed = [one for one in work.changed() if since is None or work.changed_since(one, since)]
    return Worklist(tuple(changed), tuple(unclear), summaries, counted)


def _is_archived(path: NotePath, because: tuple[Because, ...]) -> bool:
    """Whether the summary itself was taken out of the vault: there is nothing to bring up to date."""
    return any(reason.path == path and reason.why == "archived" for reason in because)


class _Work:
    """What has been found so far, by the source and the bytes that were expected of it."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._found: dict[tuple[NotePath, str], Changed] = {}
        self._differences: dict[tuple[NotePath, str], refreshing.Difference] = {}

    def changed(self) -> list[Changed]:
        return [self._found[key] for key in sorted(self._found)]

    def lean(self, summary: NotePath, traced: Traced, sources: set[NotePath], budget: Budget) -> None:
        """Note a stale summary under each source beneath it that changed."""
        said = refreshing.said(self._note(summary), self._door.index.lexicon)
        for reason in traced.changed:
            one = self._one(reason.path, reason.why, reason.expected or "", reason.found, budget.content(reason.path))
            lines = self._differences[(one.path, one.expected)].lines
            sentences = refreshing.about(said, lines)
            one.summaries.append(Leaning(summary, reason.path in sources, sentences))

    def bind(self, found: Iterator[Claim]) -> int:
        """Note each claim that abstains under its source. Gives how many were looked at."""
        count = 0
        sources = claims.Sources(self._door)
        for claim in found:
            count += 1
            standing = sources.stand(claim)
            if not isinstance(standing, Abstained):
                continue
            path, expected = claim.source.path, claim.source.hash
            if (path, expected) not in self._found:
                sight = self._look(path)
                content = sight.content if sight is not None else None
                self._one(path, standing.why, expected, told(sources.found(path)), content)
            self._found[(path, expected)].claims.append(Bound(claim.id, standing.why))
        return count

    def changed_since(self, one: Changed, since: str) -> bool:
        """Whether a source changed after this time, as far as the ledger knows."""
        last = next(iter(self._door.ledger.history(one.path, None, 1)), None)
        return last is None or str(last.after) != one.found or last.at >= since

    def _one(
        self, path: NotePath, why: Why | Abstaining, expected: str, found: str | None, content: bytes | None
    ) -> Changed:
        key = (path, expected)
        if key not in self._found:
            reason = Because(path, "changed", expected, found)
            difference = refreshing.difference(self._door, reason, content)
            self._differences[key] = difference
            self._found[key] = Changed(path, why, expected, found, difference.diff)
        return self._found[key]

    def _note(self, path: NotePath) -> Note:
        sight = self._look(path)
        return notes.parse(path, sight.content if sight is not None else b"")

    def _look(self, path: NotePath) -> File | None:
        try:
            found = self._door.vault.look_within(path, MOST_BYTES)
        except OSError:
            return None
        return found if isinstance(found, File) else None
