"""The gates: what is measured, beside what, and how far it may be from it. One table, and the verdict on a row.

``P`` numbers are those of the performance goals: a gate must hold, a moonshot would be remarkable. What is not in the
table (``NOT_MEASURED``) is said at the end of a run and never counted as held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

LARGE: Final = 50_000
"""From this many notes on the limits for large vaults count."""

Unit = Literal["s", "B", "syncs", "writes"]


@dataclass(frozen=True, slots=True)
class Gate:
    """``judged`` says whether the limits are for the ratio or for the subject's own value."""

    number: str
    what: str
    anchor: str
    limit: float | None
    moonshot: float | None
    judged: Literal["ratio", "value"] = "ratio"
    unit: Unit = "s"
    large_limit: float | None = None

    def limit_at(self, notes: int) -> float | None:
        """The limit for a vault of this size."""
        return self.large_limit if self.large_limit is not None and notes >= LARGE else self.limit


GATES: Final = (
    Gate("P1", "rescan of an unchanged vault", "scandir + stat walk", 1.6, 1.25),
    Gate("P2", "search while scans run, wall p95", "without them", 2.0, 1.2),
    Gate("P3", "rescan when 10 notes changed, until searchable", "that walk + 10 bare row replacements", 1.5, 1.2),
    Gate("P4", "full index build", "read + SHA-256 + bare FTS5 insert", 1.5, 0.6),
    Gate("P5", "index size", "bytes of text", 1.2, 0.5, unit="B"),
    Gate("update", "one note changed, until searchable", "bare FTS5 row replacement", None, None),
    Gate("P6", "search in process, p95", "bare OR bm25 SQL without stop words, top 15, p95", 2.0, 0.5, large_limit=1.0),
    Gate("P7", "search in process, p95", "bare SQL with every word, p95", None, None, large_limit=0.25),
    Gate("P8", "worst of the nasty questions", "p95 of the normal ones", 5.0, 2.0),
    Gate("P9", "search in process, p95", "the same in a vault of 5,000 notes", None, 4.0, large_limit=12.0),
    Gate("P10", "read in process, p50", "openat chain + read + SHA-256", 3.0, 1.5),
    Gate("P11/2025", "read over HTTP, 2025-11-25, server cpu", "SDK no-op tool, same payload", 1.3, 0.5),
    Gate("P11/2026", "read over HTTP, 2026-07-28, server cpu", "SDK no-op tool, same payload", 1.3, 0.5),
    Gate("P12", "401 for a wrong token, server cpu", "Starlette hello JSON", 1.2, 0.7),
    Gate(
        "P13",
        "committed write with page and index, wall p50",
        "FULL commit + 2 x temp/fsync/rename + fsync(dir)",
        1.5,
        1.15,
    ),
    Gate("P14", "syncs of a committed write", "", 5, 4, "value", "syncs"),
    Gate("P14/8", "syncs a write when 8 clients write at once", "", 2, None, "value", "syncs"),
    Gate("P15", "writes and syncs of a dry run", "", 0, 0, "value", "writes"),
    Gate("P16", "8 clients writing different notes, wall a write", "1 client", 0.667, 0.333),
    Gate("P17", "history and restore look-up at 1M events, p95", "at 10k events", 2.0, 1.3),
    Gate("P18", "append at 1M events, wall p50", "at 1k events", 1.5, 1.1),
    Gate("P19", "ledger bytes of an overwrite, one changed sentence", "the note's bytes", 0.8, 0.15, unit="B"),
    Gate("P22", "empty script, a whole call of run_code, wall p50", 'python -c "import quickjs"', 1.3, 0.1),
    Gate("P23", "search without an index", "bare scan of the files, ranked", 1.3, 1.0),
    Gate("P24", "start to first answer, wall", "bare SDK server + one walk", 1.5, 1.1),
    Gate("memory", "idle gateway, beside a bare SDK server", "", 40e6, None, "value", "B", large_limit=120e6),
    Gate("memory/build", "peak of index rebuild, beside the same", "", 200e6, None, "value", "B"),
    Gate("cli", "muninn search, the whole process, wall", "python -c pass", 0.25, 0.15, "value"),
    Gate("cli/hook", "muninn hook prompt, the whole process, wall", "muninn search", 0.2, 0.15, "value"),
)

BY_NUMBER: Final = {gate.number: gate for gate in GATES}
NOT_MEASURED: Final = "P20, P21 (make backup-drill measures them)"


@dataclass(frozen=True, slots=True)
class Row:
    """One measure: the gate it is for, the subject, the anchor (None where there is none), and a word on it."""

    gate: Gate
    subject: float
    anchor: float | None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The subject over the anchor."""
        return self.subject / self.anchor if self.anchor else None

    def verdict(self, notes: int) -> Literal["held", "missed", "-"]:
        """Whether the gate holds for a vault of this size."""
        limit = self.gate.limit_at(notes)
        found = self.ratio if self.gate.judged == "ratio" else self.subject
        if limit is None or found is None:
            return "-"
        return "held" if found <= limit else "missed"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measure that could not be taken here, and why."""

    gate: Gate
    why: str


def row(number: str, subject: float, anchor: float | None, note: str = "") -> Row:
    """A row of the gate with this number."""
    return Row(BY_NUMBER[number], subject, anchor, note)
