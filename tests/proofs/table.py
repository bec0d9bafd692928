"""One row a kind of proof: what was done, what did not hold, what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .model import Finding


@dataclass(slots=True)
class Row:
    """The figures of one kind."""

    kind: str
    rounds: int = 0
    acknowledged: int = 0
    slowest_start: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: str | None = None

    def take(self, found: Iterable[Finding], about: str = "") -> None:
        """Keep findings, each with where it was found; one that was found before is not told again."""
        known = {finding.what.partition(": ")[2] if about else finding.what for finding in self.findings}
        for finding in found:
            if finding.what not in known:
                self.findings.append(Finding(finding.kind, f"{about}: {finding.what}" if about else finding.what))


def show(rows: list[Row]) -> bool:
    """Print the table, every finding and every skipped kind. Gives whether all promises hold."""
    heads = ("kind", "rounds", "acknowledged", "lost", "torn", "temps", "other", "slowest start")
    lines: list[tuple[str, ...]] = [heads]
    for row in rows:
        if row.skipped is not None:
            continue
        by = Counter(finding.kind for finding in row.findings)
        other = sum(count for kind, count in by.items() if kind not in ("lost", "torn", "temp"))
        start = f"{row.slowest_start:.2f} s" if row.slowest_start else ""
        figures = (row.rounds, row.acknowledged, by["lost"], by["torn"], by["temp"], other)
        lines.append((row.kind, *map(str, figures), start))
    widths = [max(len(line[at]) for line in lines) for at in range(len(heads))]
    for line in lines:
        cells = [cell.ljust(widths[at]) if at == 0 else cell.rjust(widths[at]) for at, cell in enumerate(line)]
        print("  ".join(cells).rstrip())
    for row in rows:
        for note in row.notes:
            print(f"  {row.kind}: {note}")
    for row in rows:
        if row.skipped is not None:
            print(f"SKIPPED {row.kind}: {row.skipped}. It is neither held nor broken.")
    for row in rows:
        for finding in row.findings[:40]:
            print(f"BROKEN {row.kind}: [{finding.kind}] {finding.what}")
        if len(row.findings) > 40:
            print(f"BROKEN {row.kind}: … and {len(row.findings) - 40} more")
    return not any(row.findings for row in rows)
