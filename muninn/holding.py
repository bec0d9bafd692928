"""Hold the file that a write replaced for two seconds, and look at it again before it goes.

An editor that truncates and writes in place may still write into the file it opened, although its name leads to
another one by now. What comes in that time is kept, and told as an event ``external``. A descriptor held open
longer is not covered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Final

from muninn.door import Door, Held
from muninn.model.change import Change
from muninn.model.content import MISSING, ContentHash
from muninn.model.errors import LedgerUnavailableError, VaultUnavailableError
from muninn.model.sight import File, basis_of
from muninn.vault import write_lock

HOLD_S: Final = 2.0
"""How long a replaced file is held, for an editor that still has it open (docs/explain/around-the-door.md)."""

log = logging.getLogger("muninn.holding")


def keep_releasing(door: Door, stop: threading.Event) -> None:
    """The body of a thread: release every held file when its time is over; at the end, all that are left."""
    while not stop.is_set():
        _release_due(door, time.monotonic())
        stop.wait(0.2)
    release_all(door)


def release_all(door: Door) -> None:
    """Wait for the youngest held file, and release them all."""
    waiting: deque[Held] = door.held.waiting
    if waiting:
        time.sleep(max(0.0, waiting[-1].due - time.monotonic()))
    _release_due(door, float("inf"))


def _release_due(door: Door, now: float) -> None:
    waiting = door.held.waiting
    while waiting and waiting[0].due <= now:
        held = waiting.popleft()
        try:
            _release(door, held)
        except (LedgerUnavailableError, VaultUnavailableError, OSError) as error:
            # The file stays where it is: the next start knows its bytes, or keeps them first.
            log.warning("a held file could not be released: %s", type(error).__name__)


def _release(door: Door, held: Held) -> None:
    content = door.vault.release(held.aside)
    if content is None:
        return
    with write_lock(door.home):
        now = door.vault.look(held.path)
        basis = basis_of(now)
        came = ContentHash.of(content)
        contents = {came: content}
        if isinstance(now, File):
            contents[now.hash] = now.content
        mode = now.mode if isinstance(now, File) else None
        door.ledger.witness([Change(held.path, came, MISSING if basis is None else basis, mode)], contents)
    door.vault.remove_leftover(held.aside.name)
    log.warning("somebody wrote into a note in the instant it was replaced; the bytes are kept")
