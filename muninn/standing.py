"""What a client may know of the door as a whole: the contract, the state of things, its plans, a note's links."""

from __future__ import annotations

import platform
from typing import Any, Final

import muninn
from ledger import Entry
from muninn import cursors, linking, proof, refusals, scripting
from muninn.door import Door
from muninn.model.answer import ContractAnswer, Links, PlanRow, Status
from muninn.model.content import NotePath
from muninn.model.errors import IndexBrokenError, LedgerUnavailableError, VaultUnavailableError
from muninn.model.refusal import Refusal, Warn
from muninn.model.rights import Rights
from muninn.model.sight import Absent, Blocked, Elsewhere

PLANS: Final = 100
_PAGE: Final = 100
_NAMED: Final = 5
"""Of the names that several files fit, and of those files."""
_DEGRADED: Final = Warn("degraded", "the index cannot answer; the files are scanned until it is made again")


def contract(door: Door) -> ContractAnswer:
    """The published contract."""
    published = door.contract.publish()
    return ContractAnswer(
        published["version"],
        published["digest"],
        tuple(published["rules"]),
        published["limits"],
        published["folder_index"],
        tuple(published["private"]),
    )


def links(door: Door, rights: Rights, path: NotePath, position: int) -> Links | Refusal:
    """The links of a note, a page at a time."""
    if not rights.sees(path):
        return refusals.not_found(path)
    match door.vault.look(path):
        case Elsewhere():
            return refusals.elsewhere(path)
        case Blocked(_, what):
            return refusals.no_file(path, what)
        case Absent():
            return refusals.not_found(path)
        case _:
            pass
    found = linking.links(door.index, door.vault.look, door.vault.walk, rights, path, position, _PAGE)
    if found is None:
        return refusals.not_found(path)
    following = cursors.make("links", {"path": path}, found.next_offset) if found.next_offset is not None else None
    warnings = (*((_DEGRADED,) if found.degraded else ()), *_ambiguous(found.ambiguous))
    return Links(found.outgoing, found.backlinks, found.broken, found.totals, following, warnings)


def _ambiguous(found: tuple[linking.Ambiguous, ...]) -> tuple[Warn, ...]:
    """Which file was taken where several fit a name."""
    if not found:
        return ()
    told = "; ".join(
        f"{one.target[:200]} leads to {one.taken}, not {', '.join(one.others[:_NAMED])}" for one in found[:_NAMED]
    )
    paths = dict.fromkeys(path for one in found[:_NAMED] for path in (one.taken, *one.others[:_NAMED]))
    rest = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (Warn("ambiguous_links", f"several files fit a name: {told}{rest}", tuple(paths)),)


def plan_row(entry: Entry, rights: Rights) -> PlanRow:
    """A plan as `recover` and `status` show it."""
    state = "superseded" if entry.state == "refused" else entry.state
    landed = tuple(path for path in entry.landed if rights.sees(path))
    return PlanRow(entry.terms.pending_id, entry.terms.path, state, landed, entry.at)


def plans(door: Door, rights: Rights) -> tuple[PlanRow, ...]:
    """This client's plans that are pending or that a start has settled, newest 100."""
    client = rights.client
    if client is None:
        return ()
    pending = [entry for entry in door.ledger.open_entries() if entry.terms.client == client]
    settled = door.ledger.settled_at_start(client, PLANS)
    found = sorted(pending + settled, key=lambda entry: entry.seq, reverse=True)
    return tuple(plan_row(entry, rights) for entry in found[:PLANS])


def status(door: Door, rights: Rights, *, counting: bool = True) -> Status:
    """The state of every part, without failing where one is down.

    Whoever sees a part of the vault has its notes counted by their names, one by one; without ``counting`` ``notes`` is
    None then, and ``undoable`` 0.
    """
    warnings: list[Warn] = []
    ledger: dict[str, Any] = {"state": "ok", "events": None, "head": None}
    pending: tuple[PlanRow, ...] = ()
    try:
        events, _, head = door.ledger.head()
        ledger |= {"events": events, "head": head}
        pending = tuple(row for row in plans(door, rights) if row.state == "pending")
    except LedgerUnavailableError as error:
        ledger["state"] = "unavailable"
        warnings.append(Warn("ledger_unavailable", f"writes stop, reads go on: {error}"))
    if door.ledger.fault is not None:
        ledger["state"] = "broken"
        if not warnings:
            warnings.append(Warn("ledger_unavailable", f"writes stop, reads go on: {door.ledger.fault}"))
    index = door.index.state(private=rights.sees_private)
    notes = _count(door, rights) if counting or rights.sees_everything else None
    if index.state == "broken":
        warnings.append(_DEGRADED)
    return Status(
        {"id": door.vault.id, "notes": notes, "readable": is_readable(door)},
        {"state": index.state, "age_s": index.age_s, "notes": notes, "faults": _visible_faults(index.faults, rights)},
        ledger,
        proof.status(door.home),
        pending,
        _can_exchange(door),
        0.0 if notes is None else door.coverage.share(notes, rights.sees),
        {
            "muninn": muninn.__version__,
            "contract": door.contract.version,
            "python": platform.python_version(),
            "sandbox": scripting.fences(door.scripts),
        },
        {
            "name": rights.client,
            "scopes": sorted(rights.scopes),
            "read": list(rights.read.patterns),
            "write": list(rights.write.patterns),
        },
        tuple(warnings),
    )


def _count(door: Door, rights: Rights) -> int:
    """How many notes this client may see; 0 while the index cannot say."""
    try:
        if rights.sees_everything:
            return door.index.state(private=rights.sees_private).notes
        return sum(rights.sees(path) for path, _ in door.index.hashes(private=rights.sees_private))
    except IndexBrokenError:
        return 0


def _visible_faults(faults: Any, rights: Rights) -> int:
    return sum(1 for fault in faults if rights.sees(fault.path))


def _can_exchange(door: Door) -> bool:
    try:
        return door.vault.can_exchange()
    except VaultUnavailableError:
        return False


def is_readable(door: Door) -> bool:
    """Whether the vault's root can be opened now, and is this vault's."""
    try:
        with door.vault.opened():
            return True
    except VaultUnavailableError:
        return False
