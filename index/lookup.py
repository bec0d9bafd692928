"""The vault's names and links as the index files hold them: several shelves answer as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from .names import Written


class ShelfNames:
    """``Names`` over open shelves. Good while their connections are."""

    def __init__(self, connections: tuple[apsw.Connection, ...]) -> None:
        self._connections = connections
        self._known: dict[str, list[str]] = {}

    def files(self, key: str) -> list[str]:
        """Paths of notes and attachments of this name."""
        if key not in self._known:
            sql = "SELECT path FROM docs WHERE name=?1 UNION ALL SELECT path FROM files WHERE name=?1"
            self._known[key] = [path for (path,) in self._rows(sql, key)]
        return self._known[key]

    def aliased(self, key: str) -> list[str]:
        """Paths of notes that carry this alias."""
        sql = "SELECT path FROM aliases JOIN docs ON docs.id = source WHERE aliases.name=?"
        return [path for (path,) in self._rows(sql, key)]

    def aliases(self, path: str) -> list[str]:
        """The keys of a note's aliases."""
        sql = "SELECT aliases.name FROM docs JOIN aliases ON source = docs.id WHERE path=?"
        return [name for (name,) in self._rows(sql, path)]

    def pointing(self, key: str) -> Iterator[Written]:
        """Links whose target ends in this name."""
        sql = "SELECT path, line, kind, target FROM links JOIN docs ON docs.id = source WHERE links.name=?"
        for path, line, kind, target in self._rows(sql, key):
            yield Written(path, line, kind, target)

    def _rows(self, sql: str, value: str) -> Iterator[tuple[Any, ...]]:
        for connection in self._connections:
            yield from connection.execute(sql, (value,)).fetchall()
