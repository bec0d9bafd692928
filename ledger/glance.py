"""Looks at the ledger of a gateway: a glance before serving, cheap, bounded in time, and enough to see that a file is
torn or emptied; and behind its back the whole of ``verify``, which finds what was changed with care.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import apsw

from muninn.model.errors import LedgerUnavailableError

from . import chain
from .file import File, LedgerDamagedError
from .verify import first_fault

MOST_BYTES: Final = 200 * 1024 * 1024
MOST_SECONDS: Final = 5.0
_STEPS: Final = 10_000


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
