"""Follow a summary to its sources, and theirs, within a budget that is counted where files are looked at.

A summary is stale where a source holds other bytes, directly or behind sources that are summaries themselves. It is
unknown where that cannot be said: its own bytes changed, it stands on a cycle, a source cannot be read, or the budget
ended. Stale beats unknown, and nothing is current that was not looked at whole. No recursion: a chain may be long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from muninn import conflicts
from muninn.door import Door
from muninn.model.claim import why_not
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.rights import Rights
from muninn.model.sight import OTHER, Blocked, File, TooMuch, basis_of, told
from muninn.model.summary import (
    MOST_BYTES,
    MOST_CHECKS,
    Because,
    Current,
    Registration,
    Stale,
    State,
    Unknown,
    Why,
)

Content = bytes | None

_STALE: Final = frozenset[Why]({"changed", "missing", "archived"})


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found: ``basis`` None where the file cannot be read now. ``content`` only where it is asked for."""

    basis: Basis | None
    content: bytes | None = field(default=None, repr=False)


@dataclass(slots=True)
class Budget:
    """What may be looked at for one question, and what was: each path once, however often it is a source.

    ``checks`` and ``bytes`` are counted as the vault gives them. The asked summary's own file is not.
    """

    door: Door
    keeping: bool = False
    """Whether the bytes that were read are kept, to be compared with those of the registration."""
    most_checks: int = MOST_CHECKS
    most_bytes: int = MOST_BYTES
    checks: int = 0
    bytes: int = 0
    exhausted: bool = False
    edges: int = 0
    """Sources that were met, each as often as it is one: a measure of the work."""
    _seen: dict[NotePath, Seen | None] = field(default_factory=dict)

    def look(self, path: NotePath) -> Seen | None:
        """What a path holds, None where the budget does not reach for it."""
        if path in self._seen:
            return self._seen[path]
        if self.checks >= self.most_checks:
            self.exhausted = True
            return None
        self.checks += 1
        seen = self._look(path, self.most_bytes - self.bytes)
        self.exhausted = self.exhausted or seen is None
        return seen

    def own(self, path: NotePath) -> Seen:
        """What the asked summary itself holds; not counted, where it is not a source as well."""
        seen = self._seen.get(path)
        if seen is None:
            counted = self.bytes
            seen = self._look(path, MOST_BYTES)
            self.bytes = counted
        # A larger one was never registered, so that its bytes are others.
        return seen or Seen(OTHER)

    def content(self, path: NotePath) -> Content:
        """The bytes that a look has found, where they are kept."""
        seen = self._seen.get(path)
        return None if seen is None else seen.content

    def _look(self, path: NotePath, most: int) -> Seen | None:
        seen = Seen(None)
        with suppress(OSError):
            found = self.door.vault.look_within(path, most)
            match found:
                case TooMuch():
                    self._seen[path] = None
                    return None
                case File():
                    self.bytes += len(found.content)
                    seen = Seen(found.hash, found.content if self.keeping else None)
                case Blocked():
                    seen = Seen(MISSING)
                case _:
                    seen = Seen(basis_of(found))
        self._seen[path] = seen
        return seen


@dataclass(slots=True)
class _Node:
    """One summary on the way: its registration, why it is not current by what was looked at, and what lies below."""

    registration: Registration
    own: Because | None = None
    edges: list[Because | NotePath] = field(default_factory=list)
    """For a source that is not as registered why, for one that is a summary its path; for any other nothing."""


@dataclass(frozen=True, slots=True)
class Traced:
    """How a summary stands. ``changed`` are all sources beneath it that do not hold their bytes, near ones first."""

    state: State
    changed: tuple[Because, ...]


Registered = Callable[[NotePath], Registration | None]


def newest(door: Door, rights: Rights, path: NotePath) -> Registration | None:
    """The newest registration of a path that these rights may know of: with all its sources in sight."""
    for found in door.ledger.claims.registrations(path):
        if rights.sees(path) and all(rights.sees(source.path) for source in found.sources):
            return found
    return None


def trace(root: Registration, registered: Registered, budget: Budget) -> Traced:
    """Look at the sources of a summary, and of those that are summaries, breadth first, and judge it.

    ``registered`` gives the newest registration of a path; it is asked once for each.
    """
    nodes = _explored(root, registered, budget)
    order = _leaves_first(nodes)
    unknown: dict[NotePath, Why] = dict.fromkeys(nodes.keys() - order.keys(), "cycle")
    for path in order:
        why = _uncertain(nodes[path], unknown)
        if why is not None:
            unknown[path] = why
    # Whoever stands on a cycle, or leans on one, may still be stale: by what changed behind any of them.
    stale = _above(nodes, [path for path, node in nodes.items() if any(_changes(node))])
    own = root.summary.path
    because = tuple(_because(nodes[own], stale, unknown))
    changed = {(one.path, one.expected): one for node in nodes.values() for one in _changes(node)}
    if own in stale:
        return Traced(Stale(because), tuple(changed.values()))
    return Traced(Unknown(because) if own in unknown else Current(), ())


def _explored(root: Registration, registered: Registered, budget: Budget) -> dict[NotePath, _Node]:
    own = budget.own(root.summary.path)
    nodes = {root.summary.path: _Node(root, _own(root, own, budget.door))}
    known: dict[NotePath, Registration | None] = {root.summary.path: root}
    waiting = deque(nodes.values())
    while waiting:
        node = waiting.popleft()
        for source in node.registration.sources:
            budget.edges += 1
            seen = budget.look(source.path)
            why = _why(source.hash, seen, source.path, budget.door)
            if why is not None:
                found = None if seen is None else told(seen.basis)
                node.edges.append(Because(source.path, why, source.hash, found))
                continue
            if source.path not in known:
                known[source.path] = registered(source.path)
            below = known[source.path]
            if below is None:
                continue
            node.edges.append(source.path)
            if source.path not in nodes:
                assert seen is not None
                nodes[source.path] = _Node(below, _own(below, seen, budget.door))
                waiting.append(nodes[source.path])
    return nodes


def _why(expected: ContentHash, seen: Seen | None, path: NotePath, door: Door) -> Why | None:
    """Why a source is not as it was registered, None where it is."""
    if seen is None:
        return "budget"
    return why_not(expected, seen.basis, archived=seen.basis is MISSING and conflicts.was_archived(door, path))


def _own(registration: Registration, seen: Seen, door: Door) -> Because | None:
    """Why a summary's own bytes are not those that were registered, None where they are."""
    summary = registration.summary
    why = _why(summary.hash, seen, summary.path, door)
    if why is None:
        return None
    return Because(summary.path, "summary_changed" if why == "changed" else why, summary.hash, told(seen.basis))


def _leaves_first(nodes: dict[NotePath, _Node]) -> dict[NotePath, None]:
    """The summaries so that each comes after those it leans on; whoever reaches a cycle is left out."""
    left = {path: len(set(_below(node))) for path, node in nodes.items()}
    above = _turned(nodes)
    order: dict[NotePath, None] = {}
    free = deque(path for path, count in left.items() if count == 0)
    while free:
        path = free.popleft()
        order[path] = None
        for one in above.get(path, ()):
            left[one] -= 1
            if left[one] == 0:
                free.append(one)
    return order


def _below(node: _Node) -> Iterator[NotePath]:
    return (edge for edge in node.edges if not isinstance(edge, Because))


def _changes(node: _Node) -> Iterator[Because]:
    return (edge for edge in node.edges if isinstance(edge, Because) and edge.why in _STALE)


def _turned(nodes: dict[NotePath, _Node]) -> dict[NotePath, set[NotePath]]:
    """For each summary those that lean on it."""
    above: dict[NotePath, set[NotePath]] = {}
    for path, node in nodes.items():
        for below in _below(node):
            above.setdefault(below, set()).add(path)
    return above


def _uncertain(node: _Node, unknown: dict[NotePath, Why]) -> Why | None:
    """Why a summary whose summaries below are judged cannot be told current, None where it can."""
    if node.own is not None:
        return node.own.why
    for edge in node.edges:
        if isinstance(edge, Because):
            if edge.why not in _STALE:
                return edge.why
        elif edge in unknown:
            return unknown[edge]
    return None


def _above(nodes: dict[NotePath, _Node], begin: list[NotePath]) -> set[NotePath]:
    """These and all that lean on them, however far above."""
    above, found = _turned(nodes), set[NotePath]()
    waiting = deque(begin)
    while waiting:
        path = waiting.popleft()
        if path not in found:
            found.add(path)
            waiting.extend(above.get(path, ()))
    return found


def _because(node: _Node, stale: set[NotePath], unknown: dict[NotePath, Why]) -> Iterator[Because]:
    """The reasons of one summary, its own first, then source by source."""
    if node.own is not None:
        yield node.own
    hashes = {source.path: source.hash for source in node.registration.sources}
    for edge in node.edges:
        if isinstance(edge, Because):
            yield edge
        elif edge in stale:
            yield Because(edge, "stale_source", hashes[edge], hashes[edge])
        elif edge in unknown:
            yield Because(edge, unknown[edge], hashes[edge], hashes[edge])
