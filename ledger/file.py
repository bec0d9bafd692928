"""How the ledger's file is opened, how its failures are told, and how damage that was met is remembered."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import apsw

from muninn.model.errors import LedgerInDoubtError, LedgerUnavailableError, reason

from .migrations import MIGRATIONS, VERSION, Migration, migrate, target, version_of

BUSY_MS: Final = 5000
_IDLE: Final = 8
"""Connections for reading that are kept open; more are opened where more threads read at once, and closed again."""


class LedgerDamagedError(LedgerUnavailableError):
    """Something in the ledger's file is not what was written."""


class File:
    """The ledger's file with one connection for writing and a few for reading, each opened when first used.

    A file that cannot be opened now is tried again at the next use: a broken ledger stops nobody from reading notes.
    Damage is remembered in ``fault`` until the process ends: from then on nothing is written any more.
    """

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self.path: Final = path
        self.fault: str | None = None
        self._migrations = migrations
        self._writing = threading.RLock()
        self._writer: apsw.Connection | None = None
        self._idle: list[apsw.Connection] = []

    @contextlib.contextmanager
    def transaction(self, what: str) -> Iterator[apsw.Connection]:
        """One write transaction, durable when the block ends; undone whole when it raises.

        Raises LedgerUnavailableError, whose text says that the ledger cannot ``what``, and why.
        """
        with self.writing(what) as writer:
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                _commit(writer, what)
            except BaseException:
                if not writer.get_autocommit():
                    writer.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def writing(self, what: str) -> Iterator[apsw.Connection]:
        """The connection for writing, outside of any transaction. Refuses once damage was met."""
        with self._writing, self._remembering(what):
            if self.fault is not None:
                raise LedgerUnavailableError(
                    f"the ledger cannot {what}: it is damaged ({self.fault}). Writes stop; see what "
                    "`muninn ledger verify` finds, bring back a whole copy, and start again"
                )
            yield self._ready()

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection for reading, from those that are idle; what breaks is told as LedgerUnavailableError.

        A reader waits for a writer only while the file is opened for the first time.
        """
        with self._remembering("be read"):
            if self._writer is None:
                with self._writing:
                    self._ready()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _give_back(self, connection: apsw.Connection) -> None:
        if len(self._idle) < _IDLE and self._writer is not None:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close every connection."""
        with self._writing:
            writer, self._writer = self._writer, None
            while self._idle:
                self._idle.pop().close()
            if writer is not None:
                writer.close()

    @contextlib.contextmanager
    def _remembering(self, what: str) -> Iterator[None]:
        try:
            with as_ledger_errors(what):
                yield
        except LedgerDamagedError as error:
            self.fault = self.fault or str(error)
            raise

    def _ready(self) -> apsw.Connection:
        if self._writer is None:
            made = not self.path.exists()
            writer = self._connect()
            try:
                if made:
                    self.path.chmod(0o600)
                self._prepare(writer)
            except BaseException:
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
        return connection

    def _prepare(self, writer: apsw.Connection) -> None:
        """Make the tables in a new file, bring an older one to today's schema, refuse one of a later schema."""
        if version_of(writer) == 0:
            writer.execute("BEGIN IMMEDIATE")
            # Another process may have made the tables while this one waited for its turn.
            if version_of(writer) == 0:
                writer.execute(f"{schema()}; PRAGMA user_version = {VERSION}")
            writer.execute("COMMIT")
        migrate(writer, self.path, self._migrations)
        version, known = version_of(writer), target(self._migrations)
        if version > known:
            raise LedgerUnavailableError(f"the ledger has schema {version}; this Muninn knows {known}: update Muninn")


def schema() -> str:
    """The statements that make the tables of a new file."""
    return resources.files("ledger").joinpath("schema.sql").read_text(encoding="utf-8")


def _commit(writer: apsw.Connection, what: str) -> None:
    try:
        writer.execute("COMMIT")
    except apsw.IOError as error:
        # The rows may lie in the log by now without being flushed; a later opening may find them whole.
        raise LedgerInDoubtError(f"the ledger could not {what} durably: the disk reports an error") from error


@contextlib.contextmanager
def as_ledger_errors(what: str) -> Iterator[None]:
    """Turn what SQLite or the disk raises into a LedgerUnavailableError that says the cause and the next step."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise LedgerDamagedError(f"the ledger cannot {what} (SQLite: {_kind(error)})") from error
    except UnicodeDecodeError as error:
        raise LedgerDamagedError(f"the ledger cannot {what}: text in it is not UTF-8") from error
    except apsw.BusyError as error:
        raise LedgerUnavailableError(f"the ledger cannot {what}: another process holds it; try again") from error
    except apsw.FullError as error:
        raise LedgerUnavailableError(f"the ledger cannot {what}: the disk is full; make room and try again") from error
    except apsw.Error as error:
        raise LedgerUnavailableError(f"the ledger cannot {what} (SQLite: {_kind(error)})") from error
    except OSError as error:
        raise LedgerUnavailableError(f"the ledger cannot {what}: {reason(error)}") from error


def _kind(error: apsw.Error) -> str:
    return type(error).__name__.removesuffix("Error")
