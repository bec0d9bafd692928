"""Looks at the ledger of a gateway: a glance before serving, cheap, bounded in time, and enough to see that a file is
torn or emptied; and behind its back the whole of ``verify``, which finds what was changed with care.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import apsw

from muninn.model.errors import LedgerUnavailableError

from . import chain
from .file import File, LedgerDamagedError, as_ledger_errors
from .migrations import version_of
from .plans import opened as plans_opened
from .records import Entry, Tip, read_body
from .verify import first_fault

MOST_BYTES: Final = 200 * 1024 * 1024
MOST_SECONDS: Final = 5.0
_STEPS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Standing:
    """What a ledger says of itself: its schema, whose it is, its newest key and row, and the plans without an end.

    ``at`` is the time of its newest row. ``whole`` says whether there was time to look at every page.
    """

    schema: int
    vault_id: str
    key: str | None
    tip: Tip
    at: datetime
    open: tuple[Entry, ...]
    whole: bool


def standing(reader: apsw.Connection, *, expected: bool) -> Standing | None:
    """The same look as a gateway's at its start, through a connection that is open already, and what is found there.

    None for a ledger without a row, where none is ``expected``. Raises LedgerUnavailableError where something does not
    hold.
    """
    with as_ledger_errors("be read"):
        schema = version_of(reader)
        if schema == 0 and not expected:
            return None
        _newest(reader, expected)
        whole = _pages(reader)
        last: Any = reader.execute("SELECT seq, events, open, chain, at FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
        if last is None:
            return None
        first: Any = reader.execute("SELECT body FROM rows WHERE seq = 1").fetchone()
        key = reader.execute("SELECT body FROM rows WHERE kind = 'key' ORDER BY seq DESC LIMIT 1").fetchone()
        try:
            vault = str(read_body(first[0])["vault"])
            public = None if key is None else str(read_body(key[0])["public"])
            at, waiting = datetime.fromisoformat(last[4]), tuple(plans_opened(reader))
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerDamagedError("the ledger is damaged: a row of it cannot be read") from error
        return Standing(schema, vault, public, Tip(last[0], last[1], last[2], last[3].hex()), at, waiting, whole)


def glance(file: File, *, expected: bool) -> str | None:
    """Open the file, check its newest row against the one before, and its pages as far as there is time.

    What is found is remembered as the file's ``fault``; nothing is raised for it. ``expected`` says that there
    must be rows: a file that was emptied is no new one. Gives a note where the pages were not looked at.
    """
    with suppress(LedgerUnavailableError), file.reading() as reader:
        _newest(reader, expected)
        size = file.path.stat().st_size
        if size > MOST_BYTES:
            return f"the ledger has {size >> 20} MiB: its pages were not looked at; run muninn ledger verify"
        if not _pages(reader):
            return f"the ledger's pages were not looked at to the end in {MOST_SECONDS:g} s; run muninn ledger verify"
    return None


def look_through(file: File, pause: Callable[[], None]) -> None:
    """Replay the whole chain and hash every kept byte beside a running gateway. What is found becomes the ``fault``.

    ``pause`` is called after every few hundred rows, so that others get their turn; what it raises ends the look.
    """
    with suppress(LedgerUnavailableError), file.reading():
        fault = first_fault(file.path, lambda done, total: pause())
        if fault is not None:
            raise LedgerDamagedError(f"the ledger is damaged: {fault}")


def _newest(reader: apsw.Connection, expected: bool) -> None:
    columns = "seq, kind, at, client, events, open, body, chain"
    newest = reader.execute(f"SELECT {columns} FROM rows ORDER BY seq DESC LIMIT 2").fetchall()
    if not newest:
        if expected:
            raise LedgerDamagedError("the ledger is damaged: it has no rows any more")
        return
    row: tuple[Any, ...] = newest[0]
    previous: Any = newest[1][-1] if len(newest) > 1 else chain.START
    changes = reader.execute("SELECT n, path, before, after, mode FROM changes WHERE seq = ? ORDER BY n", row[:1])
    if chain.link(previous, row[:-1], changes.fetchall()) != row[-1]:
        raise LedgerDamagedError("the ledger is damaged: its newest row does not fit the chain")


def _pages(reader: apsw.Connection) -> bool:
    """Whether there was time to look at every page. Raises LedgerDamagedError where they do not hold together."""
    until = time.monotonic() + MOST_SECONDS
    reader.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        row = reader.execute("PRAGMA quick_check(1)").fetchone()
    except apsw.InterruptError:
        return False
    finally:
        reader.set_progress_handler(None)
    if row is None or row[0] != "ok":
        raise LedgerDamagedError("the ledger is damaged: its pages do not hold together")
    return True
