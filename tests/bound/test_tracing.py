"""Summaries of summaries, of any shape and size: never over the budget, never current where it ended first.

A short form of ``python -P -m tests.proofs.graphs``, and the edges of the budget.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from muninn.bound import summaries
from muninn.model.bound import StalenessAnswer
from muninn.model.content import ContentHash, NotePath, Revision
from muninn.model.summary import MOST_CHECKS
from tests.conftest import Room, path
from tests.proofs.graphs import (
    MOST_SECONDS,
    SHAPES,
    Graph,
    ask,
    chain,
    content_of,
    counting,
    crowd,
    cycle,
    diamonds,
    lay,
    over,
    prove,
    star,
)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("seed", range(6))
def test_small_graphs_are_judged_as_the_model_does(room: Room, shape: Callable[..., Graph], seed: int) -> None:
    pick = random.Random(seed)
    assert prove(room, shape(pick.randint(2, 40), pick), pick, 6)[0] == []


@pytest.mark.parametrize("shape", [chain, star, cycle, diamonds, crowd], ids=lambda shape: shape.__name__)
def test_many_are_not_too_many(room: Room, shape: Callable[..., Graph]) -> None:
    """Over the budget it ends in time, and nothing is told current."""
    lay(room, shape(1_500, random.Random(1)))
    row, answer, counted, took = ask(room, "n0.md")
    assert over(room, answer, counted, "n0.md") == []
    assert (row.state, answer.exhausted) == ("unknown", True)
    assert {reason.why for reason in row.because} <= {"budget", "cycle"}
    assert took < MOST_SECONDS


def test_a_change_within_the_budget_is_stale_although_the_budget_ends(room: Room) -> None:
    graph = chain(1_000, random.Random(1))
    lay(room, graph)
    room.lay("n100.md", b"other\n")
    row, answer, counted, _ = ask(room, "n0.md")
    assert over(room, answer, counted, "n0.md") == []
    assert row.state == "stale"
    room.lay("n100.md", content_of("n100.md"))
    room.lay("n200.md", b"other\n")
    assert ask(room, "n0.md")[0].state == "unknown"


@pytest.mark.parametrize(("count", "state"), [(128, "current"), (127, "current")])
def test_exactly_the_budget_is_enough(room: Room, count: int, state: str) -> None:
    lay(room, {"top.md": [f"s{k}.md" for k in range(count)]})
    row, answer, counted, _ = ask(room, "top.md")
    assert (row.state, answer.checks, answer.exhausted) == (state, count, False)
    assert len(counted.opened) == count + 1
    lay(room, {"above.md": ["top.md"]})
    row, answer, counted, _ = ask(room, "above.md")
    assert row.state == ("unknown" if count == 128 else "current")
    assert over(room, answer, counted, "above.md") == []


def test_bytes_are_bounded_as_well(room: Room) -> None:
    def mib(name: str) -> bytes:
        return (name[:1] * (1 << 20)).encode() if name != "top.md" else b"x" * (3 << 20)

    graph = {"top.md": [f"{chr(97 + k)}.md" for k in range(16)]}
    lay(room, graph, mib)
    row, answer, counted, _ = ask(room, "top.md")
    # The summary's own three megabytes do not count.
    assert (row.state, answer.bytes, counted.bytes) == ("current", 16 << 20, 19 << 20)
    room.lay("a.md", mib("a") + b"!")
    row, answer, counted, _ = ask(room, "top.md")
    assert (row.state, answer.exhausted) == ("stale", True)
    assert over(room, answer, counted, "top.md") == []
    room.lay("p.md", mib("p") + b"!")
    room.lay("a.md", mib("a"))
    row, answer, counted, _ = ask(room, "top.md")
    assert (row.state, [reason.why for reason in row.because]) == ("unknown", ["budget"])
    assert over(room, answer, counted, "top.md") == []


def test_a_shared_source_is_looked_at_once(room: Room) -> None:
    graph = {"top.md": ["a.md", "b.md", "base.md"], "a.md": ["base.md"], "b.md": ["base.md", "a.md"]}
    lay(room, graph)
    row, answer, counted, _ = ask(room, "top.md")
    assert (row.state, answer.checks) == ("current", 3)
    assert sorted(counted.opened) == ["a.md", "b.md", "base.md", "top.md"]


def test_a_list_of_many_stays_within_one_budget_a_page(room: Room) -> None:
    """No summary is unknown because of those before it: it is told on the next page."""
    graph: Graph = {f"s{k:03}.md": [f"x{k}-{j}.md" for j in range(30)] for k in range(20)}
    graph["s010.md"] = [f"y{j}.md" for j in range(128)]
    graph["s015.md"] = ["s014.md", *(f"z{j}.md" for j in range(127))]
    lay(room, graph)
    room.lay("x3-3.md", b"other\n")
    found: dict[str, str] = {}
    cursor, pages = None, 0
    while cursor is not None or pages == 0:
        with counting() as counted:
            answer = summaries.staleness(room.door, room.rights(), None, detail=False, cursor=cursor)
        assert isinstance(answer, StalenessAnswer)
        assert len(counted.opened) <= MOST_CHECKS + 1
        assert answer.checks <= MOST_CHECKS
        assert not found.keys() & {row.path for row in answer.summaries}
        found |= {row.path: row.state for row in answer.summaries}
        cursor, pages = answer.next_cursor, pages + 1
    states = dict.fromkeys(graph, "current") | {"s003.md": "stale", "s015.md": "unknown"}
    assert found == states


def test_a_name_in_another_spelling_is_the_same_source(room: Room) -> None:
    composed = NotePath("caf\u00e9.md")
    room.lay("cafe\u0301.md", b"x\n")
    room.lay("top.md", b"t\n")
    sources = [Revision(composed, ContentHash.of(b"x\n"))]
    room.door.ledger.claims.register("ada", Revision(path("top.md"), ContentHash.of(b"t\n")), sources, {})
    assert ask(room, "top.md")[0].state == "current"
