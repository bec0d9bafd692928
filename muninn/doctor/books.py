"""Checks of the ledger: that it holds, that its key is its own, and that nothing in it waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from ledger import Verdict, checkpoint
from ledger.blobs import holds
from ledger.glance import MOST_SECONDS
from ledger.migrations import VERSION
from ledger.verify import verify_through
from muninn.model.errors import SettingsError

from . import still
from .check import Finding, Named, fault, ok, skipped
from .installation import BROKEN, SETTLED_S, Installation

_MEND: Final = "stop the gateway, copy the home, run `muninn ledger verify`, and bring a whole copy back from a backup"
_NEW_KEY: Final = (
    "put it back, or start the gateway: it makes a new one and records it in the chain; old checkpoints hold"
)
_SLACK_S: Final = 5.0
_NOT_BEFORE: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""A machine whose clock stands before this has lost it: the first version is younger."""


def ledger(installation: Installation) -> Finding:
    """The same look as a gateway's at its start: the newest row, and the pages as far as there is time."""
    standing = installation.standing
    if standing is None:
        return skipped("there is no ledger yet; it is made when the gateway first starts")
    if standing.schema > VERSION:
        return fault(f"the ledger has schema {standing.schema}, this Muninn knows {VERSION}", "update Muninn")
    if not standing.whole:
        return skipped(f"its newest row fits; its pages were not looked at to the end in {MOST_SECONDS:g} s: --full")
    older = "" if standing.schema == VERSION else f"; the next start brings it from schema {standing.schema}"
    return ok(f"{standing.tip.rows} rows, {standing.tip.events} events, the newest fits the chain{older}")


def chain(installation: Installation) -> Finding:
    """With ``--full``: the whole chain replayed, and every kept byte hashed again."""
    if not installation.asked.full:
        return skipped("the chain is replayed, and every kept byte hashed, with --full")
    file = installation.places.ledger
    if not file.exists():
        return skipped("there is no ledger yet: see ledger")
    with installation.stage("verify") as progress:
        found: Verdict = still.steady(file, lambda reader: verify_through(reader, file, progress))
    if found.faults:
        return fault(f"the ledger does not hold: {len(found.faults)}", _MEND, details=found.faults)
    return ok(f"{found.rows} rows and {found.contents} kept contents hold, head {found.head[:16]}")


def key(installation: Installation) -> Finding:
    """The key that signs checkpoints: there, private, and the one the chain names."""
    standing, file = installation.book, installation.places.ledger_key
    if standing.key is None and not file.exists():
        return skipped("the ledger names no key yet; it is made when the gateway starts")
    if not file.exists():
        return fault("there is no ledger.key in the home, and the chain names one", _NEW_KEY)
    try:
        public = checkpoint.public_of(checkpoint.read_key(file))
    except SettingsError as error:
        return fault(str(error), "then start the gateway")
    if public != standing.key:
        named = "none" if standing.key is None else f"{standing.key[:16]}…"
        what = f"the key in the home is {public[:16]}…, the chain names {named}"
        return fault(what, "if nobody put another key there, start the gateway: it records this one in the chain")
    return ok(f"it is private, and the one that the chain names ({public[:16]}…)")


def signed(installation: Installation) -> Finding:
    """With ``--checkpoint FILE``: whether the ledger goes on from what was signed before."""
    file = installation.asked.checkpoint
    if file is None:
        return skipped("none was named: --checkpoint FILE compares with one that is kept outside of the home")
    try:
        known = checkpoint.parse(file.read_bytes().decode("latin-1"))
    except (OSError, SettingsError) as error:
        return fault(f"{file} cannot be taken: {error}", "name a file that `muninn ledger checkpoint` wrote")
    if not installation.places.ledger.exists():
        return fault("there is no ledger, and one was signed", _MEND)
    found = still.steady(installation.places.ledger, lambda reader: checkpoint.check_through(known, reader))
    if found:
        return fault("; ".join(found), _MEND)
    return ok(f"the ledger goes on from row {known.rows}, signed at {known.at}")


def pending(installation: Installation) -> Finding:
    """Plans that were kept and not finished."""
    since = (datetime.now(UTC) - timedelta(seconds=SETTLED_S)).isoformat()
    waiting = [entry for entry in installation.book.open if entry.at < since]
    if not waiting:
        return ok("no plan waits to be finished")
    told = [
        Named(one.terms.path, f"{one.terms.pending_id} of {one.terms.client or 'you'}, {one.at}") for one in waiting
    ]
    step = "start the gateway again, or let the client call `recover`: each is finished, or told as superseded"
    return fault(f"plans that wait to be finished: {len(waiting)}", step, told)


def undoable(installation: Installation) -> Finding:
    """How many of the notes could be brought back after an edit around the door."""
    file = installation.places.ledger
    if not installation.book.tip.rows:
        return skipped("nothing is kept yet")
    try:
        shelves = installation.shelves
    except BROKEN:
        return skipped("which bytes the notes hold is asked of the index, and it cannot be read: see index")
    digests = [row.hash for shelf in shelves if shelf is not None for row in shelf.notes.values()]
    if not digests:
        return skipped("which bytes the notes hold is asked of the index, and there is none yet")
    kept = still.steady(file, lambda reader: sum(holds(reader, digest) for digest in digests))
    share = f"{kept} of {len(digests)} notes ({100 * kept / len(digests):.1f} %) are kept as they are now"
    return ok(f"{share}: an edit around the door could be undone")


def clock(installation: Installation) -> Finding:
    """Whether this machine's clock can be believed: not before the newest row, nor before this program was written."""
    now = datetime.now(UTC)
    step = "set the clock of this machine; the times of new rows, of tokens and backups hang on it"
    if now < _NOT_BEFORE:
        return fault(f"the clock says {now:%Y-%m-%d %H:%M} UTC", step)
    told = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    if not installation.places.ledger.exists():
        return ok(f"{told}; there is no ledger to compare it with")
    newest = installation.book.at
    if (newest - now).total_seconds() > _SLACK_S:
        return fault(f"the clock says {told}, and the ledger's newest row is of {newest:%Y-%m-%d %H:%M:%S}", step)
    return ok(f"{told}, not before the ledger's newest row")
