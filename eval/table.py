"""The results as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .score import Outcome, Sheet, interval, mrr, top


def engines(sheets: Sequence[Sheet]) -> Iterator[str]:
    """One row an engine."""
    yield f"{'engine':<17} {'top-1':>18} {'top-5':>18} {'MRR':>6} {'ms':>6}  unsure of unanswerable/answerable"
    for sheet in sheets:
        score, count = sheet.score(), len(sheet.answerable)
        flagged = f"{_share(score.flagged_unanswerable)}/{_share(score.flagged_answerable)}"
        first, five = _with_interval(score.top1, count), _with_interval(score.top5, count)
        yield f"{sheet.engine:<17} {first:>18} {five:>18} {score.mrr:6.3f} {score.ms:6.1f}  {flagged}"


def clients(sheets: Sequence[Sheet]) -> Iterator[str]:
    """One column a client of a door."""
    scores = [sheet.score() for sheet in sheets]
    counts = [len(sheet.answerable) for sheet in sheets]
    rows = {
        "": [sheet.engine[:20] for sheet in sheets],
        "top-1": [_with_interval(score.top1, count) for score, count in zip(scores, counts, strict=True)],
        "top-5": [_with_interval(score.top5, count) for score, count in zip(scores, counts, strict=True)],
        "MRR": [f"{score.mrr:.3f}" for score in scores],
        "ms": [f"{score.ms:.1f}" for score in scores],
        "unsure of unanswerable": [_share(score.flagged_unanswerable) for score in scores],
        "unsure of answerable": [_share(score.flagged_answerable) for score in scores],
    }
    for name, cells in rows.items():
        yield f"{name:<24}" + "".join(f"{cell:>22}" for cell in cells)


def kinds(sheet: Sheet) -> Iterator[str]:
    """One engine's figures by kind of question; nothing where the set names no kinds."""
    found = sheet.kinds()
    if not found:
        return
    yield f"{sheet.engine} by kind"
    for name, asked in found.items():
        shares = f"top-1 {top(1, asked):4.0%}   top-5 {top(5, asked):4.0%}   MRR {mrr(asked):.3f}"
        yield f"  {name:<18} {len(asked):>3}   {shares}"


def misses(sheet: Sheet) -> Iterator[str]:
    """Every question whose right note did not come first, and what was wrongly sure or unsure."""
    for row in sheet.outcomes:
        said = _said(row)
        if said:
            yield f"  {row.id:<18} {said}"


def _said(row: Outcome) -> str:
    parts = []
    if row.answerable and row.rank != 1:
        parts.append(f"right note at {row.rank or 'none of the first 15'}")
    if row.unsure is not None and row.unsure == row.answerable:
        parts.append("unsure, though it can be answered" if row.answerable else "sure, though it cannot be answered")
    return "; ".join(parts)


def _with_interval(value: float, count: int) -> str:
    low, high = interval(value, count)
    return f"{value:4.0%} ({low:.0%}–{high:.0%})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
