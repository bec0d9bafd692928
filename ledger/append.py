"""The one writer of the chain: every row that there is was added here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from muninn.model.change import Change, Request
from muninn.model.moments import now

from . import chain
from .records import basis_to


def counters(writer: apsw.Connection) -> tuple[int, int]:
    """Events and open plans so far, read inside the transaction."""
    row = writer.execute("SELECT events, open FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def append(
    writer: apsw.Connection,
    kind: str,
    client: str | None,
    body: Mapping[str, Any],
    changes: Sequence[Change],
    counted: tuple[int, int],
) -> tuple[int, str]:
    """Add one row to the chain, with its changes. Gives its number and its time.

    ``counted`` are events and open plans up to and including this row.
    """
    last = writer.execute("SELECT seq, chain FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    seq, previous = (1, chain.START) if last is None else (last[0] + 1, last[1])
    at = now()
    row = (seq, kind, at, client, *counted, chain.canonical(body))
    stored = [(n, c.path, basis_to(c.before), basis_to(c.after), c.mode) for n, c in enumerate(changes)]
    writer.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, chain.link(previous, row, stored)))
    for change in stored:
        writer.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)", (seq, *change))
    return seq, at


def remember_request(writer: apsw.Connection, client: str | None, request: Request | None, seq: int) -> None:
    """Let a row be found by the request id that its client gave it; nothing where there is none."""
    if request is not None and client is not None:
        writer.execute("INSERT INTO requests VALUES (?, ?, ?)", (client, request.id, seq))
