"""Keep an index fresh: the body of the thread that scans, and the watch that wakes it early."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Final

from muninn.model.errors import IndexBrokenError, VaultUnavailableError

from .catalogue import Index
from .settings import Look, Walk

_log = logging.getLogger("muninn.index")
_FIRST_AFTER_S: Final = 0.5


def keep_fresh(index: Index, walk: Walk, look: Look, stop: threading.Event, kick: threading.Event) -> None:
    """Scan now, then every ``scan_every_s`` and whenever ``kick`` is set, until ``stop`` is set.

    Beside every scan a few notes are hashed whatever their stamps say, so that within ``rehash_every_s`` each was.
    A vault or an index that is not there is said once and waited out. Where a whole index lies there already the first
    scan waits a moment: whoever starts this is about to answer questions, and can.
    """
    settings = index.settings
    if index.age_s() is not None:
        _wait(min(_FIRST_AFTER_S, settings.scan_every_s), stop, kick)
    trouble = ""
    cursor, rechecked = "", time.monotonic()
    known_faults: frozenset[str] = frozenset()
    while not stop.is_set():
        kick.clear()
        try:
            swept = index.sweep(walk, look, gently=True)
            now = time.monotonic()
            share = swept.notes * (now - rechecked) / settings.rehash_every_s
            if share >= 1:
                cursor, rechecked = index.recheck(look, cursor, int(share)), now
            for fault in swept.faults:
                if fault.path not in known_faults:
                    _log.info("a note could not be taken in whole: %s", fault.reason)
            known_faults = frozenset(fault.path for fault in swept.faults)
            trouble = ""
        except (VaultUnavailableError, IndexBrokenError) as error:
            if trouble != type(error).__name__:
                trouble = type(error).__name__
                _log.warning("the scan cannot go on, it will be tried again: %s", error)
        _wait(settings.scan_every_s, stop, kick)


def _wait(seconds: float, stop: threading.Event, kick: threading.Event) -> None:
    """Until the time is over, or somebody kicks; whoever stops sets ``kick`` as well, or waits a second at most."""
    until = time.monotonic() + seconds
    while not stop.is_set() and not kick.is_set() and (left := until - time.monotonic()) > 0:
        kick.wait(min(left, 1.0))


def watch(root: Path, kick: threading.Event, stop: threading.Event) -> None:
    """Set ``kick`` whenever the system reports a change below ``root``, until ``stop``. Where it cannot watch it ends:
    the scan is the sure thing."""
    from watchfiles import watch as changes

    try:
        for _ in changes(
            root, stop_event=stop, debounce=400, step=100, raise_interrupt=False, ignore_permission_denied=True
        ):
            kick.set()
    except (OSError, RuntimeError) as error:
        _log.info("the system reports no changes (%s); the scan finds them", type(error).__name__)
