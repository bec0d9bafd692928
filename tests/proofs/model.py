"""What must hold after anything, asked of the files themselves.

- Every acknowledged write is in the vault, or its bytes are kept and a later event tells what followed.
- No note is torn: its bytes are those of one attempt, or of one outsider, whole.
- No temp file stays behind, and nothing that was refused appears.
- The events of a path chain from before to after without a gap; an acknowledged one is there exactly once; the
  last one ends in the bytes on disk. Nobody is told to have come around the door who did not.
- The ledger verifies, no plan is open, and a folder's page lists exactly the folder's notes.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ledger import verify
from muninn.model.content import ContentHash

from . import records
from .records import MISSING, Records, Step
from .said import Said

PAGE: Final = "index.md"
_LINE = re.compile(r"^- \[\[([^|\]]+)[|\]]", re.MULTILINE)
_BLOCK = re.compile(r"<!-- muninn:index -->\n(.*)<!-- /muninn:index -->", re.DOTALL)

Kind = Literal["lost", "torn", "temp", "ghost", "history", "external", "page", "pending", "ledger", "slow", "answer"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One promise that does not hold."""

    kind: Kind
    what: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look, and what was said."""

    vault: Path
    home: Path
    said: Said
    pages: bool = True
    """Whether folder pages must be whole; not where outsiders make and remove notes."""


def check(places: Places, within: float = 0.0) -> list[Finding]:
    """Everything that does not hold; asked again for ``within`` seconds, for what may take a moment by promise."""
    deadline = time.monotonic() + within
    while True:
        found = list(_findings(places))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def _findings(places: Places) -> Iterator[Finding]:
    disk = on_disk(places.vault)
    ledger = records.read(places.home / "ledger.db")
    yield from (Finding("temp", str(file.relative_to(places.vault))) for file in temps(places.vault))
    yield from _torn(disk, ledger, places.said)
    yield from _owed(disk, ledger, places.said)
    yield from _chains(disk, ledger, places.said)
    yield from (Finding("pending", f"a plan on {path} has no end") for path in sorted(ledger.open_paths))
    if places.pages:
        yield from _pages(places.vault, disk)
    yield from (Finding("ledger", fault) for fault in verify(places.home / "ledger.db").faults)


def on_disk(vault: Path) -> dict[str, str]:
    """Every note's path and hash."""
    files = (file for file in vault.rglob("*.md") if not file.name.startswith("."))
    return {str(file.relative_to(vault)): ContentHash.of(file.read_bytes()) for file in files}


def temps(vault: Path) -> list[Path]:
    """Temp files of the door."""
    return sorted(vault.rglob(".muninn-*.tmp"))


def _torn(disk: dict[str, str], ledger: Records, said: Said) -> Iterator[Finding]:
    for path, digest in disk.items():
        whole = digest in said.tried or (path.rpartition("/")[2] == PAGE and digest in ledger.kept)
        if not whole:
            yield Finding("torn", f"{path} holds bytes that nobody wrote ({digest[:12]})")


def _owed(disk: dict[str, str], ledger: Records, said: Said) -> Iterator[Finding]:
    """Acknowledged writes that are gone, and refused ones that are there."""
    present = set(disk.values())
    for ack in said.acks:
        if ack.after not in (MISSING, disk.get(ack.path)) and ack.after not in ledger.kept:
            yield Finding("lost", f"{ack.path}: the acknowledged {ack.after[:12]} is neither on disk nor kept")
        if ack.before != MISSING and ack.before not in ledger.kept:
            yield Finding("lost", f"{ack.path}: the bytes before {ack.after[:12]} are not kept ({ack.before[:12]})")
    landed = {step.after for steps in ledger.steps.values() for step in steps}
    for digest, code in said.refused.items():
        if digest in present or digest in landed:
            yield Finding("ghost", f"{digest[:12]} was refused ({code}) and landed all the same")


def _chains(disk: dict[str, str], ledger: Records, said: Said) -> Iterator[Finding]:
    acked = Counter((ack.path, ack.event) for ack in said.acks if ack.event is not None)
    for path, steps in ledger.steps.items():
        yield from _chain(path, steps, disk.get(path, MISSING), said, path in ledger.open_paths)
        told = Counter(step.event for step in steps)
        yield from (Finding("history", f"{path}: {event} stands {n} times") for event, n in told.items() if n > 1)
    for (path, event), times in acked.items():
        if times != 1 or event not in {step.event for step in ledger.steps.get(path, ())}:
            yield Finding(
                "history", f"{path}: the acknowledged {event} was told {times} times or is not in the history"
            )
    steps_by_event = {(path, step.event): step for path, steps in ledger.steps.items() for step in steps}
    for ack in said.acks:
        step = steps_by_event.get((ack.path, ack.event or ""))
        if step is not None and (step.before, step.after) != (ack.before, ack.after):
            yield Finding(
                "history", f"{ack.path}: {ack.event} says {step.before[:12]} → {step.after[:12]}, not the answer"
            )


def _chain(path: str, steps: list[Step], now: str, said: Said, is_open: bool) -> Iterator[Finding]:
    state: str | None = None
    for step in steps:
        if step.kind == "baseline":
            state = step.after
            continue
        if state is None and step.before != MISSING and step.before not in said.tried:
            yield Finding("history", f"{path}: {step.event} begins at {step.before[:12]}, which nobody wrote")
        if state is not None and step.before != state:
            yield Finding(
                "history", f"{path}: {step.event} ({step.kind}) begins at {step.before[:12]}, not {state[:12]}"
            )
        if step.kind == "external" and step.after != MISSING and step.after not in said.outside:
            yield Finding("external", f"{path}: {step.event} says {step.after[:12]} came around the door; it did not")
        state = step.after
    if state != now and not is_open:
        yield Finding("history", f"{path}: the history ends at {(state or '?')[:12]}, on disk is {now[:12]}")


def _pages(vault: Path, disk: dict[str, str]) -> Iterator[Finding]:
    for page in sorted(path for path in disk if path.rpartition("/")[2] == PAGE):
        block = _BLOCK.search((vault / page).read_text())
        if block is None:
            continue
        folder = page.rpartition("/")[0]
        listed = _LINE.findall(block[1])
        notes = sorted(path[:-3] for path in disk if path.rpartition("/")[0] == folder and path != page)
        if sorted(listed) != notes:
            odd = sorted(set(listed) ^ set(notes))[:5]
            yield Finding("page", f"{page} does not list exactly its folder's notes: {odd}")


def exactly_once(recover: Callable[[], tuple[str, int]]) -> list[Finding]:
    """Recover twice: the state must be an end both times, and the second call must add no event."""
    (first, events), (second, later) = recover(), recover()
    found = []
    if first not in ("committed", "superseded") or second != first:
        found.append(Finding("pending", f"recover answered {first}, then {second}"))
    if later != events:
        found.append(Finding("history", "a second recover added an event"))
    return found
