"""A ledger with some of everything in it, of any length, and everything that can be read from one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import apsw

from ledger import Ledger, Terms
from muninn.model.change import Change, Kind, Request
from muninn.model.claim import Lines
from muninn.model.content import MISSING, Basis, ContentHash, NotePath, Revision
from muninn.model.errors import LedgerUnavailableError
from tests.ledger.alone import open_entry, settle

VAULT: Final = "0" * 32
_TABLES: Final = {
    "rows": "seq",
    "changes": "seq, n",
    "ends": "plan",
    "requests": "client, request_id, seq",
    "pendings": "pending_id",
    "blobs": "id",
}


def text_of(number: int) -> bytes:
    """The bytes that event ``number`` leaves."""
    return f"---\ntitle: Note {number}\n---\nwhat happened at {number * 7919}\n".encode()


def fill(book: Ledger, events: int, paths: int = 9) -> None:
    """Add this many events of all kinds, with plans that were refused, superseded and left open between them."""
    book.belong_to(VAULT)
    book.name_key("ab" * 32)
    holds: dict[NotePath, Basis] = {}
    book.begin_with([], {}, complete=True)
    for number in range(events):
        name = NotePath(f"folder-{number % 3}/note-{number % paths}.md")
        before, content = holds.get(name, MISSING), text_of(number)
        after: Basis = MISSING if number % 11 == 10 and before is not MISSING else ContentHash.of(content)
        contents = {ContentHash.of(content): content} if after is not MISSING else {}
        if number % 13 == 12:
            book.witness([Change(name, before, after, 0o644)], contents)
        else:
            _write(book, number, Change(name, before, after, 0o644), contents)
        holds[name] = after
        _bind(book, number, name, holds)


def _bind(book: Ledger, number: int, name: NotePath, holds: dict[NotePath, Basis]) -> None:
    """Claims and summaries between the events, each third claim retracted, some with a request id."""
    held = holds[name]
    if not isinstance(held, ContentHash):
        return
    content = book.content(held) or b""
    client, request = ("ada", "ben")[number % 2], Request(f"bound-{number}", "digest") if number % 4 == 0 else None
    if number % 3 == 1:
        lines = Lines(2, 4) if number % 2 else None
        added = book.claims.add(client, f"it happened at {number}", Revision(name, held), lines, content, request)
        claim = book.claims.at(added.id)
        if number % 9 == 1 and claim is not None:
            book.claims.retract("ben", claim, "it did not", Request(f"ended-{number}", "digest"))
    if number % 7 == 6:
        sources = [Revision(path, basis) for path, basis in sorted(holds.items()) if isinstance(basis, ContentHash)]
        contents = {source.hash: book.content(source.hash) or b"" for source in sources}
        book.claims.register(client, Revision(name, held), sources, contents, request)


def _write(book: Ledger, number: int, change: Change, contents: dict[ContentHash, bytes]) -> None:
    kind = Kind.CREATE if change.before is MISSING else Kind.ARCHIVE if change.after is MISSING else Kind.OVERWRITE
    request = Request(f"request-{number}", "digest") if number % 2 else None
    client = ("ada", "ben")[number % 2]
    terms = Terms(client, kind, change.path, change.before, change.after, f"pn-{number}", "1", "why", None, request)
    entry = open_entry(book, terms, [change], contents)
    if number % 17 == 5:
        settle(book, entry, "refused", ())
        again = Terms(client, kind, change.path, change.before, change.after, f"pn-{number}-again", "1")
        entry = open_entry(book, again, [change], contents)
    settle(book, entry, "committed", [change.path], at_start=number % 19 == 3)


def make(folder: Path, events: int) -> Path:
    """A ledger with one plan still open, closed and checkpointed into one file."""
    book = Ledger(folder / "ledger.db")
    fill(book, events)
    path, content = NotePath("open.md"), b"an open plan\n"
    digest = ContentHash.of(content)
    terms = Terms("ada", Kind.CREATE, path, MISSING, digest, "pn-open", "1")
    open_entry(book, terms, [Change(path, MISSING, digest, 0o600)], {digest: content})
    book.close()
    with closing(apsw.Connection(str(folder / "ledger.db"))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder / "ledger.db"


def rows_of(file: Path) -> list[Any]:
    """Every row of every table, by its key. Raises where something cannot be read."""
    with closing(apsw.Connection(str(file))) as connection:
        return [list(connection.execute(f"SELECT * FROM {name} ORDER BY {key}")) for name, key in _TABLES.items()]


def everything(file: Path) -> list[Any]:
    """Every row, and the answer to every question a ledger can be asked about them. Raises as ``rows_of``."""
    tables = rows_of(file)
    book = Ledger(file)
    try:
        return [*tables, *_answers(book, tables)]
    finally:
        book.close()


def _answers(book: Ledger, tables: list[list[Any]]) -> list[Any]:
    rows, changes, _, requests, pendings, kept = tables
    digests = [ContentHash(row[1].hex()) for row in kept]
    paths = book.known_paths()
    found: list[Any] = [book.vault_id, book.key, book.tip(), book.has_begun(), paths, book.lately_touched()]
    found += [book.open_entries(), book.settled_at_start("ada", 99), book.settled_at_start("ben", 99)]
    found += [book.between(who, rows[0][2], rows[-1][2]) for who in ("ada", "ben", None)]
    found += [(book.keeps(digest), book.content(digest)) for digest in digests]
    found += [book.entry(row[0]) for row in pendings] + [book.request(row[0], row[1]) for row in requests]
    found += [book.claims.asked(row[0], row[1]) for row in requests]
    found += [book.claims.newest(limit=10_000), book.claims.summaries(limit=10_000)]
    found += [book.rows(row[0] - 1, 1) for row in rows]
    for path in paths:
        events = book.history(path, None, 10_000)
        found += [events, book.last(path), *(book.changes_of(event.id) for event in events)]
        claims = book.claims.of_path(path, limit=10_000)
        found += [
            claims,
            list(book.claims.registrations(path)),
            {name: sorted(kinds) for name, kinds in book.claims.bound([path]).items()},
        ]
        found += [(book.claims.at(claim.id), book.claims.retraction(claim)) for claim in claims]
    found += [book.revision(NotePath(row[2]), row[4].hex()) for row in changes if row[4] is not None]
    return found


def outcome(read: Callable[[Path], list[Any]], file: Path, expected: list[Any]) -> str | None:
    """None where all that is read is as expected; otherwise what is not."""
    with suppress(LedgerUnavailableError, apsw.Error, UnicodeDecodeError):
        return None if read(file) == expected else "it reads differently"
    return "it cannot be read"
