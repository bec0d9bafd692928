"""A layered drawing of what is bound to what: sources on the left, each summary right of all it was made from.

Places and sizes only, in units of the drawing; a cycle ends in the last column. Rows of a column are put near the
middle of what they are tied to, in two sweeps: enough for a picture of some dozen boxes to be read.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from muninn.model.content import NotePath

from .bound import Edge, Node, Web

BOX: Final = 230
HEIGHT: Final = 46
GAP_X: Final = 84
GAP_Y: Final = 16
EDGE: Final = 8
MOST: Final = 60
"""Boxes in one drawing; the table beside it has all."""
_NAME: Final = 27
"""Characters of a name in a box."""

_Spot = NotePath | tuple[NotePath, NotePath, int]
"""What stands in a column: a node, or, by its ends and the column, an edge that passes."""


@dataclass(frozen=True, slots=True)
class Box:
    """One node with its upper left corner; ``shown`` is its name as far as the box holds it, ``mark`` how it stands."""

    node: Node
    x: int
    y: int
    shown: str
    mark: str


@dataclass(frozen=True, slots=True)
class Line:
    """One edge as the path of an SVG."""

    edge: Edge
    d: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """``left_out`` is the number of nodes without a box."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: int
    height: int
    left_out: int


def drawn(web: Web) -> Drawing | None:
    """The drawing; None where there is nothing to draw."""
    if not web.nodes:
        return None
    shown = _chosen(web)
    edges = [edge for edge in web.edges if edge.source in shown and edge.summary in shown]
    columns = _columns(shown, edges)
    ways = [_way(edge, columns) for edge in edges]
    rows = _ordered(columns, ways)
    tallest = max(map(len, columns))
    places = {
        spot: _place(column, rows[spot], len(spots), tallest) for column, spots in enumerate(columns) for spot in spots
    }
    boxes = tuple(_box(web.nodes[path], places[path]) for path in shown)
    lines = tuple(Line(edge, _curve([places[spot] for spot in way])) for edge, way in zip(edges, ways, strict=True))
    width = len(columns) * (BOX + GAP_X) - GAP_X + 2 * EDGE
    height = tallest * (HEIGHT + GAP_Y) - GAP_Y + 2 * EDGE
    return Drawing(boxes, lines, width, height, len(web.nodes) - len(boxes))


def _chosen(web: Web) -> dict[NotePath, None]:
    """As many nodes as are drawn: what is not fresh first, each summary together with its sources."""
    sources: dict[NotePath, list[NotePath]] = {}
    for edge in web.edges:
        sources.setdefault(edge.summary, []).append(edge.source)
    chosen: dict[NotePath, None] = {}
    for node in sorted(web.summaries, key=lambda node: (node.health == "fresh", node.path)):
        group = dict.fromkeys([node.path, *sources.get(node.path, ())])
        if len(chosen | group) <= MOST or not chosen:
            chosen |= dict.fromkeys(list(group)[: MOST - len(chosen)])
    rest = sorted(web.sources, key=lambda node: (node.health == "fresh", node.path))
    for node in rest:
        if len(chosen) < MOST:
            chosen[node.path] = None
    return chosen


def _columns(nodes: Iterable[NotePath], edges: list[Edge]) -> list[list[_Spot]]:
    """The nodes by their distance from the left: one more than the farthest of what they were made from."""
    waits = dict.fromkeys(nodes, 0)
    above: dict[NotePath, list[NotePath]] = {}
    for edge in edges:
        waits[edge.summary] += 1
        above.setdefault(edge.source, []).append(edge.summary)
    depth = dict.fromkeys(waits, 0)
    free = deque(path for path, count in waits.items() if count == 0)
    settled: set[NotePath] = set()
    while free:
        path = free.popleft()
        settled.add(path)
        for one in above.get(path, ()):
            depth[one] = max(depth[one], depth[path] + 1)
            waits[one] -= 1
            if waits[one] == 0:
                free.append(one)
    last = max((depth[path] for path in settled), default=0) + 1
    columns: list[list[_Spot]] = [[] for _ in range(last + 1)]
    for path in depth:
        columns[depth[path] if path in settled else last].append(path)
    return [column for column in columns if column]


def _way(edge: Edge, columns: list[list[_Spot]]) -> list[_Spot]:
    """The spots an edge leads through: its ends, and one of its own in each column between, which is added there."""
    begin, end = (next(n for n, spots in enumerate(columns) if path in spots) for path in (edge.source, edge.summary))
    between: list[_Spot] = [(edge.source, edge.summary, column) for column in range(begin + 1, end)]
    for column, spot in enumerate(between, begin + 1):
        columns[column].append(spot)
    return [edge.source, *between, edge.summary]


def _ordered(columns: list[list[_Spot]], ways: list[list[_Spot]]) -> dict[_Spot, int]:
    """The row of each spot in its column, after a sweep to the right and one to the left."""
    tied: dict[_Spot, list[_Spot]] = {}
    for one, other in itertools.chain.from_iterable(map(itertools.pairwise, ways)):
        tied.setdefault(one, []).append(other)
        tied.setdefault(other, []).append(one)
    rows = {spot: row for column in columns for row, spot in enumerate(sorted(column, key=str))}

    def middle(spot: _Spot) -> tuple[float, str]:
        ends = [rows[other] for other in tied.get(spot, ())]
        return (sum(ends) / len(ends) if ends else float(len(rows)), str(spot))

    for column in (*columns, *reversed(columns)):
        rows |= {spot: row for row, spot in enumerate(sorted(column, key=middle))}
    return rows


def _place(column: int, row: int, rows: int, tallest: int) -> tuple[int, int]:
    """The upper left corner of a spot; a short column stands in the middle."""
    down = (tallest - rows) * (HEIGHT + GAP_Y) // 2
    return EDGE + column * (BOX + GAP_X), EDGE + down + row * (HEIGHT + GAP_Y)


def _box(node: Node, place: tuple[int, int]) -> Box:
    return Box(node, *place, _short(node.path), _mark(node))


def _short(path: NotePath) -> str:
    """The end of a path, which tells one note from another better than its beginning."""
    return path if len(path) <= _NAME else "…" + path[-(_NAME - 1) :]


def _mark(node: Node) -> str:
    claims = f" · {node.claims} claim{'' if node.claims == 1 else 's'}" if node.claims else ""
    return f"{node.what}, {node.state}{claims}"


def _curve(places: list[tuple[int, int]]) -> str:
    """From the right side of the first place to the left side of the last, straight through those between."""
    half = HEIGHT // 2
    parts = [f"M{places[0][0] + BOX} {places[0][1] + half}"]
    for (x0, y0), (x1, y1) in itertools.pairwise(places):
        bend = max(abs(x1 - x0 - BOX) // 2, 30)
        parts.append(f"C{x0 + BOX + bend} {y0 + half} {x1 - bend} {y1 + half} {x1} {y1 + half}")
        parts.append(f"H{x1 + BOX}")
    return " ".join(parts[:-1])
