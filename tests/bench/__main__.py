"""``python -P -m tests.bench [--notes N] [--vault DIR] [--quick] [--json]``: one table.

Exit status 0 always; missed gates are named.

A ratio is taken within this run, anchor and subject in turn; milliseconds are for orientation.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from . import commanding, counting, crowd, indexing, lasting, noting, place, running, starting, wiring
from .gates import GATES, NOT_MEASURED, Gate, Row, Skipped
from .timing import FULL, QUICK, Effort

_BUSY: Final = 3.0
"""Above this load a machine is too busy for its ratios to be trusted."""


@dataclass(slots=True)
class Report:
    """What a run found. ``load`` is that of the last minute, before and after."""

    notes: int
    text: int
    load: list[float]
    rows: list[Row] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    steps: list[tuple[str, float, float]] = field(default_factory=list)
    broke: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, found: Row | Skipped) -> None:
        """Keep a measure, and say on stderr that it is there."""
        print(f"  {found.gate.number} {found.gate.what}", file=sys.stderr, flush=True)
        if isinstance(found, Row):
            self.rows.append(found)
        else:
            self.skipped.append(found)

    @property
    def missed(self) -> list[str]:
        return [row.gate.number for row in self.rows if row.verdict(self.notes) == "missed"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench", description="Times beside their bare operations, as ratios.")
    parser.add_argument("--notes", type=int, default=5_000, metavar="N", help="size of the made-up vault, from 100 on")
    parser.add_argument("--vault", type=Path, metavar="DIR", help="measure on a copy of this vault instead")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that all is measured, ratios mean nothing"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as one JSON object")
    asked = parser.parse_args()
    if asked.notes < 100:
        parser.error("--notes: at least 100")
    run = Path(".run").absolute()
    run.mkdir(exist_ok=True)
    # Beside the checkout and not where temporary files lie: those may be in memory, where a sync costs nothing.
    with tempfile.TemporaryDirectory(prefix="bench-", dir=run) as folder:
        report = _measure(Path(folder), asked.notes, asked.vault, QUICK if asked.quick else FULL)
    print(json.dumps(_as_json(report))) if asked.json else _show(report)


def _measure(folder: Path, notes: int, vault: Path | None, effort: Effort) -> Report:
    began = time.monotonic()
    here = place.make(folder, notes, vault)
    report = Report(len(here.notes), here.text, [os.getloadavg()[0]])
    print(f"{len(here.notes)} notes, {here.text / 1e6:.2f} MB; measuring …", file=sys.stderr, flush=True)
    parts: tuple[Callable[[], Iterable[Row | Skipped]], ...] = (
        lambda: _in_process(here, report, effort),
        lambda: counting.measure(here),
        lambda: lasting.measure(here, effort),
        lambda: commanding.measure(here, effort),
        lambda: wiring.measure(here, effort),
        lambda: starting.measure(here, effort),
    )
    for part in parts:
        try:
            for found in part():
                report.take(found)
        except Exception as error:  # one measure that broke must not cost the others; it is named, and never held
            traceback.print_exc()
            report.broke.append(f"{type(error).__name__}: {error}")
    told = {row.gate.number for row in report.rows} | {gap.gate.number for gap in report.skipped}
    why = "the measure broke (" + "; ".join(report.broke) + ")"
    report.skipped += [Skipped(gate, why) for gate in GATES if gate.number not in told]
    order = {gate.number: at for at, gate in enumerate(GATES)}
    report.rows.sort(key=lambda row: order[row.gate.number])
    report.load.append(os.getloadavg()[0])
    report.seconds = time.monotonic() - began
    return report


def _in_process(here: place.Place, report: Report, effort: Effort) -> Iterator[Row | Skipped]:
    door = here.door()
    try:
        yield from indexing.measure(here, door, effort)
        yield noting.reads(here, door, effort)
        row, steps = noting.writes(here, door, effort)
        report.steps = noting.shares(steps)
        yield row
        yield crowd.writes(here, door, effort)
        yield lasting.growth(here, door, here.rights())
        yield running.measure(here, door, effort)
    finally:
        door.index.close()
        door.ledger.close()


def _show(report: Report) -> None:
    print(f"\n{report.notes} notes, {report.text / 1e6:.2f} MB of text, {report.seconds:.0f} s; load {_load(report)}")
    table = [("", "what", "subject", "anchor", "ratio", "gate", "moonshot", "")]
    for row in report.rows:
        gate = row.gate
        table.append(
            (
                gate.number,
                gate.what + (f" / {gate.anchor}" if gate.anchor else ""),
                _quantity(row.subject, gate),
                "" if row.anchor is None else _quantity(row.anchor, gate),
                "" if row.ratio is None else f"{row.ratio:.2f}",
                _limit(gate, gate.limit_at(report.notes)),
                _limit(gate, gate.moonshot),
                row.verdict(report.notes) + (f"  ({row.note})" if row.note else ""),
            )
        )
    widths = [max(len(line[at]) for line in table) for at in range(7)]
    for line in table:
        cells = [line[at].ljust(widths[at]) if at < 2 else line[at].rjust(widths[at]) for at in range(7)]
        print("  ".join([*cells, line[7]]).rstrip())
    print("\nSteps of a committed write (mean seconds a write, share)")
    for name, seconds, share in report.steps:
        print(f"  {name:<38} {seconds * 1000:7.3f} ms  {share:5.0%}")
    for gap in report.skipped:
        print(f"\nSKIPPED {gap.gate.number} ({gap.gate.what}): {gap.why}. It is neither held nor missed.")
    print(f"\nNot measured here: {NOT_MEASURED}.")
    print(f"Missed: {', '.join(report.missed)}" if report.missed else "No gate that was measured was missed.")


def _load(report: Report) -> str:
    said = f"{report.load[0]:.1f} before, {report.load[1]:.1f} after"
    return said + (" - OVER 3: take the ratios with care, and run again" if max(report.load) > _BUSY else "")


def _quantity(value: float, gate: Gate) -> str:
    if gate.unit == "B":
        return f"{value / 1e6:.2f} MB" if value >= 1e5 else f"{value:.0f} B"
    if gate.unit != "s":
        return f"{value:g} {gate.unit}"
    if value < 0.001:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1000:.2f} ms" if value < 1 else f"{value:.2f} s"


def _limit(gate: Gate, value: float | None) -> str:
    if value is None:
        return "-"
    return f"<= {value:g}" if gate.judged == "ratio" else f"<= {_quantity(value, gate)}"


def _as_json(report: Report) -> dict[str, Any]:
    rows = [
        {
            "number": row.gate.number,
            "what": row.gate.what,
            "against": row.gate.anchor,
            "unit": row.gate.unit,
            "subject": row.subject,
            "anchor": row.anchor,
            "ratio": row.ratio,
            "gate": row.gate.limit_at(report.notes),
            "moonshot": row.gate.moonshot,
            "verdict": row.verdict(report.notes),
            "note": row.note,
        }
        for row in report.rows
    ]
    return {
        "notes": report.notes,
        "bytes": report.text,
        "seconds": round(report.seconds, 1),
        "load": report.load,
        "busy": max(report.load) > _BUSY,
        "rows": rows,
        "steps": [{"step": name, "seconds": seconds, "share": share} for name, seconds, share in report.steps],
        "skipped": [{"number": gap.gate.number, "why": gap.why} for gap in report.skipped],
        "broke": report.broke,
        "missed": report.missed,
    }


if __name__ == "__main__":
    main()
