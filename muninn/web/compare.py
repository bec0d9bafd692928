"""Two revisions of a text side by side: which lines belong together, and which words in them differ.

Bounded in time whatever the texts are: what both begin and end with is taken off first, a middle that is too long is
shown as replaced whole, and words are compared only as long as their time lasts.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from .marks import Span

MOST_BYTES: Final = 256 * 1024
"""Of one side."""
MOST_ROWS: Final = 4000
"""Of one comparison that are shown: a note of a quarter of a million empty lines would be a page of 40 MB."""
_MOST_OF_BOTH: Final = 50_000
"""Lines of both sides together: each is a row before any is left out."""
_MOST_LINES: Final = 2000
"""Of the middles of both sides together, whose lines are paired."""
_MOST_WORDS: Final = 150
"""Of a line whose words are compared."""
_WORDS_S: Final = 0.4
"""Time for the words of one comparison."""
_PLAN_S: Final = 2.0
"""Time for pairing the lines and words of all the changes of one page; what is left then is shown as replaced whole."""
_AROUND: Final = 3
"""Equal lines shown on each side of a change."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a row: the number of its line, the line without its end, and the places that differ."""

    number: int
    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """Two lines beside one another. A side is None where there is none; ``gap`` counts equal lines left out."""

    kind: Literal["same", "changed", "added", "removed", "gap"]
    old: Side | None = None
    new: Side | None = None
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows, and how many lines came and went. ``paired`` says that the lines between were paired at all."""

    rows: tuple[Row, ...]
    added: int
    removed: int
    paired: bool = True
    cut: int = 0
    """Rows left out at the end."""


@dataclass(slots=True)
class Clock:
    """Until when is compared. Several comparisons of one page share one."""

    end: float = field(default_factory=lambda: time.monotonic() + _PLAN_S)

    def has_run_out(self) -> bool:
        return time.monotonic() > self.end


@dataclass(frozen=True, slots=True)
class Uncompared:
    """Two sides that are not compared, and why; sizes in bytes."""

    why: str
    old_size: int
    new_size: int


def of_bytes(
    old: bytes | None,
    new: bytes | None,
    *,
    everything: bool = False,
    most_rows: int = MOST_ROWS,
    clock: Clock | None = None,
) -> Comparison | Uncompared:
    """What two files hold, None for no file. Past ``most_rows`` rows the rest is counted and left out; once ``clock``
    has run out, lines are not paired any more."""
    before, after = old or b"", new or b""
    if max(len(before), len(after)) > MOST_BYTES:
        return Uncompared(f"at most {MOST_BYTES // 1024} KiB are compared here", len(before), len(after))
    if before.count(b"\n") + after.count(b"\n") > _MOST_OF_BOTH:
        return Uncompared(f"at most {_MOST_OF_BOTH} lines are compared here", len(before), len(after))
    try:
        found = compare(before.decode(), after.decode(), everything=everything, clock=clock)
    except UnicodeDecodeError:
        return Uncompared("one of them is not text", len(before), len(after))
    if len(found.rows) <= most_rows:
        return found
    return replace(found, rows=found.rows[:most_rows], cut=len(found.rows) - most_rows)


def compare(old: str, new: str, *, everything: bool = False, clock: Clock | None = None) -> Comparison:
    """The two texts in rows; ``everything`` keeps the equal lines far from any change."""
    left, right = lines(old), lines(new)
    head = _equal_at_start(left, right)
    tail = _equal_at_start(left[head:][::-1], right[head:][::-1])
    middle = len(left) + len(right) - 2 * (head + tail)
    paired = middle <= _MOST_LINES and not (clock is not None and clock.has_run_out())
    words = Clock(time.monotonic() + _WORDS_S if clock is None else min(clock.end, time.monotonic() + _WORDS_S))
    rows = [Row("same", Side(n + 1, left[n]), Side(n + 1, right[n])) for n in range(head)]
    rows += _middle(left[head : len(left) - tail], right[head : len(right) - tail], head, paired, words)
    behind = zip(range(len(left) - tail, len(left)), range(len(right) - tail, len(right)), strict=True)
    rows += [Row("same", Side(a + 1, left[a]), Side(b + 1, right[b])) for a, b in behind]
    added = sum(row.kind in ("added", "changed") for row in rows)
    removed = sum(row.kind in ("removed", "changed") for row in rows)
    return Comparison(tuple(rows if everything else _folded(rows)), added, removed, paired)


def lines(text: str) -> list[str]:
    """Lines ended by LF alone, as a read counts them."""
    found = text.split("\n")
    return found[:-1] if found[-1] == "" else found


def _equal_at_start(left: list[str], right: list[str]) -> int:
    for count, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return count
    return min(len(left), len(right))


def _middle(left: list[str], right: list[str], head: int, paired: bool, clock: Clock) -> Iterator[Row]:
    if not paired:
        yield from _replaced(left, right, head, head, clock)
        return
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right).get_opcodes():
        if tag == "equal":
            pairs = zip(range(a, b), range(c, d), strict=True)
            yield from (Row("same", Side(head + i + 1, left[i]), Side(head + j + 1, right[j])) for i, j in pairs)
        else:
            yield from _replaced(left[a:b], right[c:d], head + a, head + c, clock)


def _replaced(left: list[str], right: list[str], at: int, to: int, clock: Clock) -> Iterator[Row]:
    """Lines in place of lines: paired in their order, what is left over removed or added."""
    both = min(len(left), len(right))
    for n in range(both):
        spans = _differing(left[n], right[n], clock)
        yield Row("changed", Side(at + n + 1, left[n], spans[0]), Side(to + n + 1, right[n], spans[1]))
    yield from (Row("removed", old=Side(at + n + 1, left[n])) for n in range(both, len(left)))
    yield from (Row("added", new=Side(to + n + 1, right[n])) for n in range(both, len(right)))


def _differing(old: str, new: str, clock: Clock) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Where the words of two lines differ; nothing where they have hardly one in common, or time ran out."""
    if clock.has_run_out() or len(old) + len(new) > 20 * _MOST_WORDS:
        return (), ()
    left, right = _WORD.findall(old), _WORD.findall(new)
    if not left or not right or max(len(left), len(right)) > _MOST_WORDS:
        return (), ()
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if matcher.ratio() < 0.3:
        return (), ()
    return (
        _spans(left, [(a, b) for _, a, b, _, _ in changed if a < b]),
        _spans(right, [(c, d) for _, _, _, c, d in changed if c < d]),
    )


def _spans(words: list[str], places: list[Span]) -> tuple[Span, ...]:
    """Places in a list of words as places in the text that they make."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[a], starts[b]) for a, b in places)


def _folded(rows: list[Row]) -> Iterator[Row]:
    """The rows, with long runs of equal lines away from any change left out."""
    near = [False] * len(rows)
    for n, row in enumerate(rows):
        if row.kind != "same":
            for m in range(max(0, n - _AROUND), min(len(rows), n + _AROUND + 1)):
                near[m] = True
    skipped = 0
    for row, keep in zip(rows, near, strict=True):
        if keep and skipped:
            yield Row("gap", gap=skipped)
        if keep:
            yield row
        skipped = 0 if keep else skipped + 1
    if skipped:
        yield Row("gap", gap=skipped)
