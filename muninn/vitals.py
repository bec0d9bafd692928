"""How the door is, in numbers for its owner's instruments. Looked up when asked; no file of the vault is read.

Numbers about notes tell of no note that the client who asks may not see: without the scope ``private`` the public ones
alone are counted, and a client whose globs leave something out gets no such number at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from muninn import canary, proof, standing
from muninn.door import Door
from muninn.model.errors import LedgerUnavailableError
from muninn.model.rights import Rights


@dataclass(frozen=True, slots=True)
class OfIndex:
    """``age_s`` is the time since the last whole scan began. None: not known now, or not for this client."""

    state: str
    age_s: float | None
    notes: int | None
    faults: int | None
    size: int | None


@dataclass(frozen=True, slots=True)
class OfLedger:
    """None: the ledger cannot say now."""

    readable: bool
    fault: bool
    events: int | None
    pending: int | None


@dataclass(frozen=True, slots=True)
class OfBackup:
    """``last_ok`` is in seconds since 1970, None before the first proven backup."""

    set_up: bool
    overdue: bool
    last_ok: float | None
    age_s: float | None


@dataclass(frozen=True, slots=True)
class OfCanary:
    """How the owner's questions went last. ``last_ok`` is in seconds since 1970, None before the first good run."""

    failing: int
    last_ok: float | None


@dataclass(frozen=True, slots=True)
class Vitals:
    """The state of every part at one moment."""

    vault_readable: bool
    index: OfIndex
    ledger: OfLedger
    backup: OfBackup
    canary: OfCanary | None
    undoable: float | None
    held: int
    scripts: int


def take(door: Door, rights: Rights) -> Vitals:
    """Look at every part. A part that is down is told as such; nothing is raised for it."""
    index = _index(door, rights)
    known = index.notes if door.coverage.counted else None
    return Vitals(
        standing.is_readable(door),
        index,
        _ledger(door, rights),
        _backup(door),
        _canary(door),
        None if known is None else door.coverage.share(known, rights.sees),
        sum(rights.sees(held.path) for held in door.held.waiting.copy()),
        door.scripts.running,
    )


def _index(door: Door, rights: Rights) -> OfIndex:
    found = door.index.state(private=rights.sees_private)
    if found.state != "ready":
        return OfIndex(found.state, found.age_s, None, None, None)
    faults = sum(rights.sees(fault.path) for fault in found.faults)
    if not rights.sees_everything:
        return OfIndex(found.state, found.age_s, None, faults, None)
    return OfIndex(found.state, found.age_s, found.notes, faults, door.index.size(private=rights.sees_private))


def _ledger(door: Door, rights: Rights) -> OfLedger:
    try:
        events, _, _ = door.ledger.head()
        pending = sum(rights.sees(entry.terms.path) for entry in door.ledger.open_entries())
    except LedgerUnavailableError:
        return OfLedger(False, door.ledger.fault is not None, None, None)
    return OfLedger(True, door.ledger.fault is not None, events, pending)


def _backup(door: Door) -> OfBackup:
    found = proof.of(door.home)
    overdue = proof.overdue(door.home) is not None
    if found is None or found.last_ok is None:
        return OfBackup(found is not None, overdue, None, None)
    age = (datetime.now(UTC) - found.last_ok).total_seconds()
    return OfBackup(True, overdue, found.last_ok.timestamp(), max(0.0, age))


def _canary(door: Door) -> OfCanary | None:
    last = canary.last(door.home)
    if last is None:
        return None
    return OfCanary(len(last.failing), None if last.last_ok is None else _seconds(last.last_ok))


def _seconds(text: str) -> float | None:
    """A time as seconds since 1970; None for what is no time: the file may have been written by hand."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
