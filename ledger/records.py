"""Rows of the ledger as values, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from muninn.model.change import Change, Kind, Request
from muninn.model.content import MISSING, Basis, ContentHash, NotePath

from .file import LedgerDamagedError

PlanState = Literal["committed", "superseded", "pending", "refused"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a plan is kept with, beside its changes: who asked for what, and under which contract."""

    client: str | None
    kind: Kind
    path: NotePath
    before: Basis
    after: Basis
    pending_id: str
    contract_version: str
    reason: str | None = None
    note: str | None = None
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A plan as the ledger keeps it, with its end where it has one."""

    seq: int
    at: str
    terms: Terms
    changes: tuple[Change, ...]
    state: PlanState
    landed: tuple[NotePath, ...]
    event: str | None
    settled_at_start: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One event as the history of one path shows it."""

    id: str
    at: str
    client: str | None
    kind: Kind
    path: NotePath
    before: Basis
    after: Basis
    mode: int | None
    reason: str | None
    note: str | None
    seq: int


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest row: how many rows and events there are, how many plans are open, and the chain's head in hex."""

    rows: int
    events: int
    open: int
    head: str


def basis_from(value: bytes | None) -> Basis:
    """A stored hash as a basis."""
    return MISSING if value is None else ContentHash(value.hex())


def basis_to(basis: Basis) -> bytes | None:
    """A basis as it is stored."""
    return None if basis is MISSING else bytes.fromhex(basis)


def body_of(terms: Terms) -> dict[str, Any]:
    """The terms as a row's body; the client is a column of its own."""
    return {
        "kind": terms.kind.value,
        "path": terms.path,
        "before": str(terms.before),
        "after": str(terms.after),
        "pending_id": terms.pending_id,
        "contract": terms.contract_version,
        "reason": terms.reason,
        "note": terms.note,
        "request": request_body(terms.request),
    }


def request_body(request: Request | None) -> dict[str, str] | None:
    """A request id as it stands in a row's body."""
    return None if request is None else {"id": request.id, "digest": request.digest}


def terms_from(body: Mapping[str, Any], client: str | None) -> Terms:
    """The terms back from a plan's body."""
    request = body["request"]
    return Terms(
        client,
        Kind(body["kind"]),
        NotePath(body["path"]),
        _basis(body["before"]),
        _basis(body["after"]),
        body["pending_id"],
        body["contract"],
        body["reason"],
        body["note"],
        Request(request["id"], request["digest"]) if request else None,
    )


def read_body(text: str) -> dict[str, Any]:
    """A row's body. Raises LedgerDamagedError where it is none."""
    try:
        body = json.loads(text)
    except (ValueError, TypeError) as error:
        raise LedgerDamagedError("the ledger is damaged: the body of a row cannot be read") from error
    if not isinstance(body, dict):
        raise LedgerDamagedError("the ledger is damaged: the body of a row cannot be read")
    return body


def event_id(connection: apsw.Connection, seq: int) -> str:
    """The name of the event in this row."""
    return row_id("ev", seq, chained_at(connection, seq))


def row_id(prefix: str, seq: int, chained: bytes) -> str:
    """A name for what a row holds, bound to the row's place in the chain."""
    return f"{prefix}-{seq}-{chained.hex()[:12]}"


def chained_at(connection: apsw.Connection, seq: int) -> bytes:
    """The chain's value at this row. Raises LedgerDamagedError where there is no such row."""
    row = connection.execute("SELECT chain FROM rows WHERE seq = ?", (seq,)).fetchone()
    if row is None:
        raise LedgerDamagedError(f"the ledger is damaged: row {seq} is gone")
    found: bytes = row[0]
    return found


def _basis(text: str) -> Basis:
    return MISSING if text == MISSING.value else ContentHash(text)
