"""The committed figures of the bundled set, and what has fallen below them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from muninn.model.errors import SettingsError

from .score import Sheet

KEPT: Final = Path(__file__).with_name("baseline.json")
ENGINE: Final = "bm25"
"""The engine the baseline is of: the one that every installation has."""
_SLACK: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Fall:
    """A figure below the baseline, with the questions that made it fall."""

    figure: str
    before: float
    now: float
    questions: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.questions) or "none by itself"
        return f"{self.figure} fell from {self.before:.3f} to {self.now:.3f}; worse: {names}"


def write(file: Path, sheet: Sheet, questions: Path) -> None:
    """Keep a sheet as the baseline of a set of questions."""
    kept = {
        "questions": fingerprint(questions),
        "engine": sheet.engine,
        **_figures(sheet),
        "ranks": {outcome.id: outcome.rank for outcome in sheet.answerable},
        "unsure": sorted(outcome.id for outcome in sheet.outcomes if outcome.unsure),
    }
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def falls(file: Path, sheet: Sheet, questions: Path) -> list[Fall]:
    """Every figure of the sheet that lies below the baseline. Raises SettingsError where it is of other questions."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["questions"] != fingerprint(questions):
            raise SettingsError(f"{file.name} was made with other questions; write it anew with --write-baseline")
        before = {name: float(kept[name]) for name in _figures(sheet)}
        return _falls(before, kept["ranks"], set(kept["unsure"]), sheet)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{file} is no baseline ({error!r}); write it with --write-baseline") from error


def _falls(before: dict[str, float], ranks: dict[str, Any], unsure: set[str], sheet: Sheet) -> list[Fall]:
    now = _figures(sheet)
    found: list[Fall] = []
    for name in ("top1", "top5", "mrr"):
        if now[name] < before[name] - _SLACK:
            deep = {"top1": 1, "top5": 5}.get(name, 0)
            worse = [row.id for row in sheet.answerable if _is_worse(ranks.get(row.id), row.rank, deep)]
            found.append(Fall(name, before[name], now[name], tuple(worse)))
    if now["flagged_unanswerable"] < before["flagged_unanswerable"] - _SLACK:
        lost = [row.id for row in sheet.outcomes if not row.answerable and row.id in unsure and not row.unsure]
        found.append(
            Fall("flagged_unanswerable", before["flagged_unanswerable"], now["flagged_unanswerable"], (*lost,))
        )
    if now["flagged_answerable"] > before["flagged_answerable"] + _SLACK:
        new = [row.id for row in sheet.answerable if row.unsure and row.id not in unsure]
        # Here more is worse: what is compared is the share that was not flagged.
        calm = (1 - before["flagged_answerable"], 1 - now["flagged_answerable"])
        found.append(Fall("sure of answerable", *calm, (*new,)))
    return found


def _is_worse(before: int | None, now: int | None, deep: int) -> bool:
    """Whether a rank fell; with ``deep`` only where it fell out of the first so many."""
    was, is_now = before or 10_000, now or 10_000
    return was <= deep < is_now if deep else is_now > was


def _figures(sheet: Sheet) -> dict[str, float]:
    score = sheet.score()
    return {
        "top1": score.top1,
        "top5": score.top5,
        "mrr": score.mrr,
        "flagged_unanswerable": score.flagged_unanswerable or 0.0,
        "flagged_answerable": score.flagged_answerable or 0.0,
    }


def fingerprint(questions: Path) -> str:
    """The SHA-256 of a set's bytes."""
    return hashlib.sha256(questions.read_bytes()).hexdigest()
