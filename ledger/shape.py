"""Whether a file is a ledger by its form: the fields of its header, its statements, its pages and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw

from .file import schema
from .migrations import VERSION, version_of

_WAL: Final = b"\x02\x02"
_PRAGMAS: Final = (("encoding", "UTF-8"), ("auto_vacuum", 0), ("application_id", 0))


def faults(connection: apsw.Connection, file: Path) -> Iterator[str]:
    """What does not fit, most telling first. Reads in the transaction that is open."""
    version = version_of(connection)
    if version != VERSION:
        yield f"file: its schema is {version}, this Muninn knows {VERSION}"
    with file.open("rb") as raw:
        if raw.read(20)[18:] != _WAL:
            yield "file: its header does not say that it has a write-ahead log"
    for name, expected in _PRAGMAS:
        found = connection.pragma(name)
        if found != expected:
            yield f"file: {name} is {found}, expected {expected}"
    yield from _statements(connection)
    for row in connection.execute("PRAGMA integrity_check(20)"):
        if row[0] != "ok":
            yield f"file: {row[0]}"


def _statements(connection: apsw.Connection) -> Iterator[str]:
    """Tables, indexes and triggers that are not those that a new ledger gets."""
    with closing(apsw.Connection(":memory:")) as fresh:
        fresh.execute(schema())
        expected = _objects(fresh)
    found = _objects(connection)
    for name in sorted(expected.keys() | found.keys(), key=str):
        if name not in found:
            yield f"file: {name} is gone"
        elif name not in expected:
            yield f"file: {name} is not one of a ledger's"
        elif found[name] != expected[name]:
            yield f"file: {name} is not made as a ledger's"


def _objects(connection: apsw.Connection) -> dict[Any, tuple[Any, ...]]:
    rows = connection.execute("SELECT name, type, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'")
    return {row[0]: tuple(row[1:]) for row in rows}
