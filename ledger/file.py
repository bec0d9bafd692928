"""How the ledger's file is opened, and how its failures are told."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

import apsw

from muninn.model.errors import LedgerUnavailableError

VERSION: Final = 1
BUSY_MS: Final = 5000


class File:
    """The ledger's file with one connection for writing and one a thread for reading, each opened when first used.

    A file that cannot be opened now is tried again at the next use: a broken ledger stops nobody from reading notes.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self._writing = threading.RLock()
        self._local = threading.local()
        self._writer: apsw.Connection | None = None
        self._all: list[apsw.Connection] = []

    @contextlib.contextmanager
    def transaction(self, what: str) -> Iterator[apsw.Connection]:
        """One write transaction, durable when the block ends; undone whole when it raises.

        Raises LedgerUnavailableError, whose text says that the ledger cannot ``what``, and why.
        """
        with self._writing, as_ledger_errors(what):
            writer = self._ready()
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                if not writer.get_autocommit():
                    writer.execute("ROLLBACK")
                raise

    def reader(self) -> apsw.Connection:
        """This thread's connection for reading."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with self._writing:
                self._ready()
            connection = self._local.connection = self._connect()
        return connection

    def close(self) -> None:
        """Close every connection."""
        with self._writing:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._writer = None

    def _ready(self) -> apsw.Connection:
        if self._writer is None:
            made = not self.path.exists()
            writer = self._connect()
            try:
                if made:
                    self.path.chmod(0o600)
                _prepare(writer)
            except BaseException:
                self._all.remove(writer)
                writer.close()
                raise
            self._writer = writer
        return self._writer

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync = ON")
        self._all.append(connection)
        return connection


def _prepare(writer: apsw.Connection) -> None:
    """Make the tables in a new file; refuse one of a later schema."""
    if _version(writer) == 0:
        script = resources.files("ledger").joinpath("schema.sql").read_text()
        writer.execute("BEGIN IMMEDIATE")
        # Another process may have made the tables while this one waited for its turn.
        if _version(writer) == 0:
            writer.execute(f"{script}; PRAGMA user_version = {VERSION}")
        writer.execute("COMMIT")
    version = _version(writer)
    if version > VERSION:
        raise LedgerUnavailableError(f"the ledger has schema {version}; this Muninn knows {VERSION}: update Muninn")


def _version(connection: apsw.Connection) -> int:
    row = connection.execute("PRAGMA user_version").fetchone()
    return int(row[0]) if row else 0


@contextlib.contextmanager
def as_ledger_errors(what: str) -> Iterator[None]:
    """Turn what SQLite or the disk raises into a LedgerUnavailableError that says the cause and the next step."""
    try:
        yield
    except apsw.BusyError as error:
        raise LedgerUnavailableError(f"the ledger cannot {what}: another process holds it; try again") from error
    except apsw.FullError as error:
        raise LedgerUnavailableError(f"the ledger cannot {what}: the disk is full; make room and try again") from error
    except apsw.Error as error:
        kind = type(error).__name__.removesuffix("Error")
        raise LedgerUnavailableError(f"the ledger cannot {what} (SQLite: {kind})") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "I/O error"
        raise LedgerUnavailableError(f"the ledger cannot {what}: {reason}") from error
