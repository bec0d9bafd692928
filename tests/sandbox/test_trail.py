"""Citations and gaps come from the answers that were handed out, and from nothing else."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Citation, Gap, Returned
from sandbox.trail import MOST_RANGES, Trail, merged
from tests.sandbox.conftest import HASH, Run, read

OTHER = "cd" * 32


def test_ranges_are_merged_and_sorted_for_each_revision() -> None:
    trail = Trail()
    for path, lines in (("b.md", (1, 2)), ("a.md", (5, 6)), ("a.md", (1, 2)), ("a.md", (3, 3)), ("a.md", (6, 8))):
        trail.note("read", {"path": path}, read(path, *lines))
    trail.note("read", {"path": "a.md"}, read("a.md", 2, 4) | {"source_hash": OTHER})
    assert trail.citations == (
        Citation("a.md", HASH, 1, 3),
        Citation("a.md", HASH, 5, 8),
        Citation("a.md", OTHER, 2, 4),
        Citation("b.md", HASH, 1, 2),
    )


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)).map(lambda two: (two[0], two[0] + two[1]))))
def test_merging_covers_the_same_lines_and_leaves_gaps_between(ranges: list[tuple[int, int]]) -> None:
    found = merged(ranges)
    assert {n for start, end in found for n in range(start, end + 1)} == {
        n for start, end in ranges for n in range(start, end + 1)
    }
    assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(found))


@pytest.mark.parametrize("odd", [{"encoding": "base64", "lines": 0}, {"lines": 0}])
def test_a_file_without_lines_is_cited_as_a_whole(odd: dict[str, Any]) -> None:
    trail = Trail()
    trail.note("read", {"path": "a"}, read("a") | odd)
    assert trail.citations == (Citation("a", HASH),)


def test_snippets_are_cited_and_listings_are_not(run: Run) -> None:
    ended = run("await vault.search('x'); await vault.list(''); await vault.links('a'); return 1")
    assert isinstance(ended, Returned)
    assert ended.citations == (Citation("h.md", HASH, 3, 4),)
    assert ended.gaps == ()


@pytest.mark.parametrize(
    ("script", "gap"),
    [
        ("await vault.read('a', {start_line: 2, end_line: 3})", Gap("read", "a", "lines 2 to 3 of 8 were read")),
        ("await vault.search('x', {limit: 1})", Gap("search", None, "further matches exist")),
        ("await vault.search('x', {limit: 1, folder: 'f'})", Gap("search", "f", "further matches exist")),
        ("await vault.list('f', {cursor: 'c'})", Gap("list", "f", "further rows exist: see next_cursor")),
    ],
)
def test_what_was_cut_is_a_gap_once(run: Run, script: str, gap: Gap) -> None:
    ended = run(f"{script}; {script}; return {{complete: true, truncation: []}}")
    assert isinstance(ended, Returned)
    assert ended.gaps == (gap,)


@pytest.mark.parametrize("answer", [{"degraded": True}, {"warnings": [{"code": "degraded"}]}])
def test_a_degraded_answer_is_a_gap(answer: dict[str, Any]) -> None:
    trail = Trail()
    trail.note("links", {"path": "a"}, answer)
    assert [gap.why for gap in trail.gaps] == ["degraded: the index could not answer"]


def test_gaps_are_counted_beyond_a_hundred() -> None:
    trail = Trail()
    for number in range(250):
        trail.leave_out("read", f"n{number}", "cut")
    assert len(trail.gaps) == 101
    assert trail.gaps[-1] == Gap("run_code", None, "and 150 more")


def test_what_could_not_be_cited_is_not_shown(run: Run) -> None:
    """Beyond the most ranges an answer is refused, so that no script sees a line that no citation names."""
    hits = [{"path": f"h{n}", "source_hash": HASH, "snippet": "s", "start_line": 1, "end_line": 1} for n in range(300)]
    count = iter(range(10_000))

    def many(name: str, asked: dict[str, Any]) -> dict[str, Any]:
        batch = next(count)
        return {"hits": [hit | {"path": f"{batch}/{hit['path']}"} for hit in hits], "more": False}

    script = "let n = 0; try { for (;;) { await vault.search('x'); n++ } } catch (e) { return [n, e.code] }"
    ended = run(script, readers=many, timeout_s=10)
    assert isinstance(ended, Returned)
    assert ended.value == [3, "budget_exceeded"]
    assert len(ended.citations) == 900 <= MOST_RANGES
    assert len(ended.gaps) == 1
