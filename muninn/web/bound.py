"""Claims and summaries as one picture: what leans on what, and which of it still holds.

Nodes are sources and summaries, edges lead from a source to what was registered from it. All of it is what the tools
``staleness`` and ``claims`` tell this client, a page of each, within their budgets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from muninn.bound import claims, summaries, tracing
from muninn.door import Door
from muninn.model.bound import AbstainingRow, BecauseRow, HeldRow, SummaryRow
from muninn.model.content import NotePath
from muninn.model.refusal import Refusal
from muninn.model.rights import Rights

Health = Literal["fresh", "stale", "unknown"]

WORDS: Final = {
    "changed": "it changed",
    "missing": "it is not there",
    "archived": "it was archived",
    "stale_source": "it is stale itself",
    "cycle": "it stands on a cycle",
    "budget": "not everything could be looked at",
    "summary_changed": "the summary itself changed since it was registered",
    "unreadable": "it cannot be read now",
}
_STALE: Final = frozenset({"changed", "missing", "archived", "stale_source"})
_HEALTH: Final[dict[str, Health]] = {"current": "fresh", "stale": "stale", "unknown": "unknown"}


@dataclass(slots=True)
class Node:
    """A source or a summary: how it stands, why not fresh, and the claims on it."""

    path: NotePath
    is_summary: bool
    health: Health = "fresh"
    why: list[str] = field(default_factory=list)
    held: list[HeldRow] = field(default_factory=list)
    abstaining: list[AbstainingRow] = field(default_factory=list)

    @property
    def what(self) -> str:
        return "summary" if self.is_summary else "source"

    @property
    def state(self) -> str:
        """How it stands, in words."""
        if self.health == "unknown":
            return "unknown"
        words = ("current", "stale") if self.is_summary else ("as it was", "not as it was")
        return words[self.health == "stale"]

    @property
    def told(self) -> str:
        """What it is and how it stands, with its claims."""
        claimed = f", claims: {len(self.held)} held, {len(self.abstaining)} abstaining" if self.claims else ""
        return f"{self.what}, {self.state}{claimed}"

    @property
    def claims(self) -> int:
        return len(self.held) + len(self.abstaining)


@dataclass(frozen=True, slots=True)
class Edge:
    """A source and the summary that was registered from it."""

    source: NotePath
    summary: NotePath
    health: Health


@dataclass(frozen=True, slots=True)
class Web:
    """What is bound to what. The cursors lead to further summaries and further claims; ``exhausted`` says that a budget
    ended, so that some summaries are unknown for that alone."""

    nodes: dict[NotePath, Node]
    edges: tuple[Edge, ...]
    more_summaries: str | None
    more_claims: str | None
    exhausted: bool

    @property
    def summaries(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_summary]

    @property
    def sources(self) -> list[Node]:
        return [node for node in self.nodes.values() if not node.is_summary]


def web(door: Door, rights: Rights, summaries_at: str | None = None, claims_at: str | None = None) -> Web | Refusal:
    """A page of summaries with their sources, and a page of claims beside them."""
    stale = summaries.staleness(door, rights, None, detail=False, cursor=summaries_at)
    claimed = claims.everywhere(door, rights, claims_at)
    if isinstance(stale, Refusal):
        return stale
    if isinstance(claimed, Refusal):
        return claimed
    nodes: dict[NotePath, Node] = {NotePath(row.path): _summary(row) for row in stale.summaries}
    edges = [edge for row in stale.summaries for edge in _edges(door, rights, row)]
    for edge in edges:
        node = nodes.setdefault(edge.source, Node(edge.source, is_summary=False))
        if not node.is_summary and edge.health != "fresh":
            node.health = "stale" if "stale" in (edge.health, node.health) else "unknown"
    _with_reasons(nodes, stale.summaries)
    for held in claimed.held:
        nodes.setdefault(NotePath(held.path), Node(NotePath(held.path), is_summary=False)).held.append(held)
    for one in claimed.abstaining:
        _abstains(nodes.setdefault(NotePath(one.path), Node(NotePath(one.path), is_summary=False)), one)
    return Web(nodes, tuple(edges), stale.next_cursor, claimed.next_cursor, stale.exhausted)


def _summary(row: SummaryRow) -> Node:
    own = [WORDS[because.why] for because in row.because if because.path == row.path]
    return Node(NotePath(row.path), True, _HEALTH[row.state], own)


def _edges(door: Door, rights: Rights, row: SummaryRow) -> list[Edge]:
    """The edges into one summary, by its registration that the client may know of."""
    path = NotePath(row.path)
    found = tracing.newest(door, rights, path)
    reasons = {because.path: because for because in row.because}
    sources = () if found is None else found.sources
    return [Edge(source.path, path, _health(reasons.get(source.path))) for source in sources]


def _health(because: BecauseRow | None) -> Health:
    if because is None:
        return "fresh"
    return "stale" if because.why in _STALE else "unknown"


def _with_reasons(nodes: dict[NotePath, Node], rows: tuple[SummaryRow, ...]) -> None:
    """Say at each source why it is not as it was registered, and at each summary which sources are not."""
    for row in rows:
        for because in row.because:
            if because.path == row.path:
                continue
            nodes[NotePath(row.path)].why.append(f"{because.path}: {WORDS[because.why]}")
            source = nodes.get(NotePath(because.path))
            if source is not None and not source.is_summary and WORDS[because.why] not in source.why:
                source.why.append(WORDS[because.why])


def _abstains(node: Node, one: AbstainingRow) -> None:
    node.abstaining.append(one)
    if not node.is_summary:
        node.health = "stale" if one.why != "unreadable" else node.health
        if WORDS[one.why] not in node.why:
            node.why.append(WORDS[one.why])
