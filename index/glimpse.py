"""What an index file holds, through a connection that can change nothing: for whoever looks at it from outside."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import apsw

from muninn.model.content import ContentHash
from muninn.model.errors import IndexBrokenError

from .schema import mark
from .settings import IndexSettings
from .store import NotReadyError, ShelfError, admit, count, one, probe

MOST_SECONDS: Final = 10.0
_STEPS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """A note as the index knows it: the hash it was read at, the number of its file's stamp, and what was wrong."""

    hash: ContentHash
    stamp: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class Glimpse:
    """``scanned`` is when the last whole scan began, in seconds since 1970; ``whole`` says whether there was time to
    look at every page."""

    notes: Mapping[str, Row]
    scanned: float
    whole: bool


def glimpse(connection: apsw.Connection, settings: IndexSettings) -> Glimpse | None:
    """Look an index file through; None where its first scan has not ended. Raises IndexBrokenError with the reason."""
    try:
        admit(connection, mark(settings))
        count(connection)
        probe(connection)
        whole = _pages(connection)
        rows = connection.execute("SELECT path, hash, stamp, fault FROM docs")
        notes = {path: Row(ContentHash(digest.hex()), stamp, fault) for path, digest, stamp, fault in rows}
        scanned = one(connection, "SELECT value FROM meta WHERE key='scanned'")
        return Glimpse(notes, (scanned[0] if scanned else 0) / 1e9, whole)
    except NotReadyError:
        return None
    except (apsw.Error, UnicodeDecodeError) as error:
        raise IndexBrokenError(f"the index file cannot be read ({type(error).__name__})") from error


def _pages(connection: apsw.Connection) -> bool:
    until = time.monotonic() + MOST_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        found: list[Any] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except apsw.InterruptError:
        return False
    finally:
        connection.set_progress_handler(None)
    if found != [("ok",)]:
        raise ShelfError(f"the index file is damaged ({found[0][0] if found else 'no answer'})", lost=True)
    return True
