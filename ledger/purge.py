"""Remove kept bytes for good: by the operator, by hash, and recorded in the chain.

The chain is over hashes, so it holds without the bytes. ``blobs`` is append-only for everybody else: the trigger
that keeps it so is away only inside this one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import apsw

from muninn.model.content import ContentHash, NotePath
from muninn.model.errors import LedgerUnavailableError

from . import blobs
from .append import append, counters
from .file import File
from .history import last
from .plans import opened
from .records import read_body

_TRIGGER: Final = "blobs_kept"
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Purged:
    """How a purge ended. With ``refusals`` nothing was changed; each says why one hash stays.

    ``gone`` is False where the file could not be rewritten, or somebody still reads an older state, so that the bytes
    lie in it yet: the same call again rewrites it. ``row`` is None where all were purged before. ``copies`` are files
    beside the ledger that a migration left and that may hold them.
    """

    row: int | None
    refusals: tuple[str, ...] = ()
    gone: bool = True
    copies: tuple[str, ...] = ()


def purge(file: File, digests: Sequence[ContentHash], reason: str, force: bool) -> Purged:
    """Remove these bytes, record it, and rewrite the file without them.

    Refused whole: bytes that are not kept, that an open plan needs, or that a path was last known to hold; the
    last alone can be forced. What was purged before adds no row, but the file is rewritten again. Call it under
    the vault's write lock.
    """
    with file.transaction("remove kept bytes") as writer:
        kept = [digest for digest in dict.fromkeys(digests) if blobs.holds(writer, digest)]
        refusals = _unknown(writer, set(digests) - set(kept)) + _needed(writer, kept) + _held(writer, kept, force)
        if refusals:
            return Purged(None, tuple(refusals))
        row = _remove(writer, kept, reason) if kept else None
    copies = sorted(found.name for found in file.path.parent.glob(f"{file.path.name}.before-v*"))
    return Purged(row, gone=_rewrite(file), copies=tuple(copies))


def _remove(writer: apsw.Connection, digests: Sequence[ContentHash], reason: str) -> int:
    row, _ = append(writer, "purge", None, {"hashes": sorted(digests), "reason": reason}, (), counters(writer))
    guard = writer.execute("SELECT sql FROM sqlite_master WHERE name = ?", (_TRIGGER,)).get
    writer.execute(f"DROP TRIGGER {_TRIGGER}")
    for digest in digests:
        blobs.stand_alone(writer, digest)
        writer.execute("DELETE FROM blobs WHERE hash = ?", (bytes.fromhex(digest),))
    writer.execute(guard)
    return row


def _unknown(writer: apsw.Connection, digests: set[ContentHash]) -> list[str]:
    bodies = writer.execute("SELECT body FROM rows WHERE kind = 'purge'") if digests else ()
    before = {digest for body in bodies for digest in read_body(body[0])["hashes"]}
    return [f"{digest}: no bytes are kept under this hash" for digest in sorted(digests - before)]


def _needed(writer: apsw.Connection, digests: Sequence[ContentHash]) -> list[str]:
    needed = {side for entry in opened(writer) for change in entry.changes for side in (change.before, change.after)}
    why = "a plan that is not finished needs these bytes; start the gateway to end it"
    return [f"{digest}: {why}" for digest in digests if digest in needed]


def _held(writer: apsw.Connection, digests: Sequence[ContentHash], force: bool) -> list[str]:
    holders = {digest: _holders(writer, digest) for digest in digests} if not force else {}
    return [
        f"{digest}: {', '.join(paths[:3])} holds these bytes now; --force removes them anyway"
        for digest, paths in holders.items()
        if paths
    ]


def _holders(writer: apsw.Connection, digest: ContentHash) -> list[NotePath]:
    """Paths that were last known to hold these bytes."""
    query = "SELECT DISTINCT path FROM changes WHERE after = ? ORDER BY path"
    paths = [NotePath(row[0]) for row in writer.execute(query, (bytes.fromhex(digest),))]
    held = ((path, last(writer, path)) for path in paths)
    return [path for path, known in held if known is not None and known[0] == digest]


def _rewrite(file: File) -> bool:
    """Write the file anew, without the pages that held the bytes, and empty its log. Gives whether that was done."""
    with suppress(LedgerUnavailableError), file.writing("rewrite its file") as writer:
        writer.execute("VACUUM")
        for _ in range(_TRIES):
            busy, _, _ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            if not busy:
                return True
            time.sleep(0.1)
    return False
