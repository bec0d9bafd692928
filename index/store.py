"""One index file: its connections, its transactions and what is written into it.

Whatever goes wrong with the file comes out as ``ShelfError``. ``lost`` says that the file is no index any more and will
be made anew; otherwise it cannot be used just now. Reading and writing threads never share a connection.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw

from muninn.model import seams
from muninn.model.errors import IndexBrokenError

from .schema import TABLE_NAMES, connect, lay_out, mark, tidy
from .settings import IndexSettings
from .stamps import Stamps
from .words import ALL

_NOT_NOW: Final = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.ReadOnlyError, apsw.NoMemError)
_SIDE_FILES: Final = ("-wal", "-shm", "-journal")
_IDLE_READERS: Final = 8
_PROOF: Final = "~~~proof"
_PROOF_ROW: Final = 1 << 61


class ShelfError(IndexBrokenError):
    """The file cannot be used: not now, or (``lost``) never again."""

    def __init__(self, reason: str, lost: bool) -> None:
        super().__init__(reason)
        self.lost = lost


class NotReadyError(ShelfError):
    """There is no whole index yet: the first scan has not ended."""

    def __init__(self) -> None:
        super().__init__("the index is being built", lost=False)


@dataclass(slots=True)
class _Reader:
    """A connection for questions, and the state of the file it was last checked in."""

    connection: apsw.Connection
    version: int = -1


class Shelf:
    """A file of the index. Opening is put off to the first use; ``private`` only says which notes it is for."""

    def __init__(self, file: Path, settings: IndexSettings, private: bool) -> None:
        self.file = file
        self.private = private
        self.lost = False
        self.stamps: Stamps | None = None
        """What each note's file looked like when it was read last; filled by the first scan."""
        self.words: set[str] = set()
        """Terms that are known to stand in the list of words, so that a change asks for the others alone."""
        self._settings = settings
        self._mark = mark(settings)
        self._readers: list[_Reader] = []
        self._writer: apsw.Connection | None = None
        self._writer_identity: tuple[int, int] | None = None
        self._identity: tuple[int, int] | None = None
        self._data_version = -1
        self.scanned_ns = 0
        """When the last whole scan by this process began; 0 where there was none."""
        self._written = 0
        """Transactions since the last tidying."""
        self._lock = threading.RLock()
        self._pool_lock = threading.Lock()

    # --- reading ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection for questions, on the file that lies there now.

        Refuses with ``ShelfError`` a file that is missing, foreign or damaged, and one whose first scan has not ended.
        """
        reader: _Reader | None = None
        try:
            seams.at("index.query")
            reader = self._reader()
            _check_if_changed(reader)
            yield reader.connection
        except BaseException as error:
            if reader is not None:
                reader.connection.close()
            if isinstance(error, (apsw.Error, OSError, ShelfError)):
                raise self._broken(error) from error
            raise
        self._give_back(reader)

    def _give_back(self, reader: _Reader) -> None:
        with self._pool_lock:
            if len(self._readers) < _IDLE_READERS and self._identity is not None:
                self._readers.append(reader)
                return
        reader.connection.close()

    def _reader(self) -> _Reader:
        seen = os.stat(self.file)
        stale: list[_Reader] = []
        with self._pool_lock:
            if self._identity != (seen.st_dev, seen.st_ino):
                stale, self._readers = self._readers, []
                self._identity = (seen.st_dev, seen.st_ino)
            pooled = self._readers.pop() if self._readers else None
        for old in stale:
            old.connection.close()
        if pooled is not None:
            return pooled
        with _doorway(self.file, exclusive=False):
            opened = connect(self.file, self._settings.busy_wait_s)
            try:
                self._check(opened)
            except BaseException:
                opened.close()
                raise
        return _Reader(opened)

    def _check(self, connection: apsw.Connection) -> None:
        admit(connection, self._mark)

    # --- writing ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One transaction. What fails inside leaves the file as it was, and comes out as ``ShelfError``."""
        with self._lock:
            try:
                seams.at("index.write")
                connection = self._open_writer()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                    self._written += 1
                except BaseException:
                    _roll_back(connection)
                    self.words.clear()
                    raise
            except (apsw.Error, OSError) as error:
                self._close_writer()
                raise self._broken(error) from error

    @contextlib.contextmanager
    def holding(self) -> Iterator[apsw.Connection]:
        """The writing connection for a look, with nobody writing meanwhile."""
        with self._lock:
            try:
                yield self._open_writer()
            except (apsw.Error, OSError) as error:
                self._close_writer()
                raise self._broken(error) from error

    def prepare(self) -> bool:
        """See to it that a usable file lies there: one that is not is dropped and laid out anew, which gives True.

        Also forgets the remembered stamps where another process has written since.
        """
        with self._lock:
            try:
                if not self.lost:
                    connection = self._open_writer()
                    self._forget_foreign(connection)
                    found = one(connection, "SELECT value FROM meta WHERE key='mark'")
                    if found is not None and found[0] == self._mark:
                        if self.stamps is None:
                            count(connection)
                        probe(connection)
                        return False
            except (apsw.Error, OSError, ShelfError) as error:
                broken = error if isinstance(error, ShelfError) else self._broken(error)
                if not broken.lost:
                    raise broken from error
            try:
                self._lay_anew()
            except (apsw.Error, OSError) as error:
                self._close_writer()
                raise self._broken(error) from error
            return True

    def _open_writer(self) -> apsw.Connection:
        """The one connection that writes, on the file that lies there now."""
        seen = os.stat(self.file)
        if self._writer is not None and self._writer_identity != (seen.st_dev, seen.st_ino):
            self._close_writer()
        if self._writer is None:
            with _doorway(self.file, exclusive=False):
                self._writer = connect(self.file, self._settings.busy_wait_s, log=True)
            self._writer_identity = (seen.st_dev, seen.st_ino)
            self._forget()
            (self._data_version,) = one(self._writer, "PRAGMA data_version")
        return self._writer

    def note_scan(self, began_ns: int) -> None:
        """Remember that a whole scan began at this time, in the file as well: a write that shows that one can be made.

        Raises ShelfError where it cannot: an index that cannot follow the next change is no index.
        """
        with self.writing() as connection:
            prove(connection)
            connection.execute("UPDATE meta SET value=? WHERE key='scanned'", (began_ns,))
        self.scanned_ns = began_ns
        if self._written > 1:  # this one is the first
            with contextlib.suppress(ShelfError), self.holding() as connection:
                tidy(connection)
        self._written = 0

    def examine(self) -> None:
        """Look through the whole file, and write into it. Slow; raises ShelfError for the first thing that is wrong."""
        with self.writing() as connection:
            self._check(connection)
            for (said,) in connection.execute("PRAGMA quick_check(1)"):
                if said != "ok":
                    raise ShelfError(f"the index file is damaged ({said})", lost=True)
            count(connection)
            probe(connection)
            connection.execute("INSERT INTO terms(terms) VALUES('integrity-check')")
            prove(connection)
            connection.execute("UPDATE meta SET value=value WHERE key='scanned'")

    def size(self) -> int:
        """Bytes on disk, of the file and of what lies beside it; 0 where there is none."""
        found = 0
        for suffix in ("", *_SIDE_FILES):
            with contextlib.suppress(OSError):
                found += os.stat(f"{self.file}{suffix}").st_size
        return found

    def replace_with(self, other: Shelf) -> None:
        """Put another shelf's file in this one's place. Whoever has the old file open goes on reading that one."""
        with self._lock:
            other.close()
            self.close()
            with _doorway(self.file, exclusive=True):
                for suffix in _SIDE_FILES:
                    Path(f"{self.file}{suffix}").unlink(missing_ok=True)
                os.replace(other.file, self.file)
            self.lost = False

    def discard(self) -> None:
        """Close and remove the file."""
        with self._lock:
            self.close()
            with contextlib.suppress(OSError):
                self._remove()

    def close(self) -> None:
        """Close every connection that is not in use."""
        with self._lock:
            self._close_writer()
        with self._pool_lock:
            readers, self._readers = self._readers, []
            self._identity = None
        for reader in readers:
            reader.connection.close()

    def _lay_anew(self) -> None:
        self.close()
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _doorway(self.file, exclusive=True):
            self._remove()
            os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = connect(self.file, self._settings.busy_wait_s, create=True, log=True)
        lay_out(connection, self._settings)
        connection.close()
        self.lost = False
        self.scanned_ns = 0
        self._open_writer()
        self.stamps = Stamps()

    def _remove(self) -> None:
        for suffix in ("", *_SIDE_FILES):
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._forget()

    def _forget_foreign(self, connection: apsw.Connection) -> None:
        (version,) = one(connection, "PRAGMA data_version")
        if version != self._data_version:
            self._data_version = version
            self._forget()

    def _forget(self) -> None:
        """Forget what is remembered of the file's rows: another file lies there, or somebody else has written."""
        self.stamps = None
        self.words.clear()

    def _broken(self, error: apsw.Error | OSError | ShelfError) -> ShelfError:
        if isinstance(error, ShelfError):
            self.lost = self.lost or error.lost
            return error
        # An OSError other than a missing file is trouble with the disk, not with what the file holds.
        lost = not isinstance(error, _NOT_NOW) and (isinstance(error, (apsw.Error, FileNotFoundError)))
        self.lost = self.lost or lost
        return ShelfError(f"the index cannot be used ({type(error).__name__})", lost)


def one(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> Any:
    """The first row, None where there is none."""
    return next(iter(connection.execute(sql, values)), None)


def admit(connection: apsw.Connection, mark: str) -> None:
    """Refuse a file that does not carry this mark, and one whose first scan has not ended."""
    found = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('mark', 'ready')"))
    if found.get("mark") != mark:
        raise ShelfError("the index was made by another version or under other settings", lost=True)
    if not found.get("ready"):
        raise NotReadyError


def _check_if_changed(reader: _Reader) -> None:
    """Where somebody wrote since this connection last looked: does the index still find what it holds?"""
    (version,) = one(reader.connection, "PRAGMA data_version")
    if version != reader.version:
        probe(reader.connection)
        reader.version = version


def probe(connection: apsw.Connection) -> None:
    """Refuse an index that does not find what it holds: its word lists are gone though its notes are there."""
    noted = one(connection, "SELECT 1 FROM docs LIMIT 1")
    found = one(connection, f"SELECT rowid FROM terms WHERE terms MATCH '\"{ALL}\"' LIMIT 1")
    listed = one(connection, "SELECT 1 FROM words WHERE term=?", (ALL,))
    if (noted is None) != (found is None) or (noted is not None and listed is None):
        raise ShelfError("the index does not find the notes it holds", lost=True)


def prove(connection: apsw.Connection) -> None:
    """Write a note's words, find them, and take them back; inside a transaction."""
    connection.execute("SAVEPOINT proof")
    connection.execute("INSERT INTO terms(rowid, title) VALUES(?, ?)", (_PROOF_ROW, _PROOF))
    connection.execute("INSERT INTO terms(terms) VALUES('flush')")
    found = one(connection, "SELECT rowid FROM terms WHERE terms MATCH ?", (f'"{_PROOF}"',))
    connection.execute("ROLLBACK TO proof; RELEASE proof")
    if found is None:
        raise ShelfError("the index does not find what was just written into it", lost=True)


def count(connection: apsw.Connection) -> None:
    """Refuse an index that lacks a table or some notes' words. Slower than ``probe``, so only after strangers."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not tables.issuperset(TABLE_NAMES):
        raise ShelfError("the index lacks a table", lost=True)
    noted = one(connection, "SELECT count(*) FROM docs")[0]
    known = one(connection, "SELECT count(*) FROM terms_docsize")[0]
    listed = one(connection, "SELECT count(*) FROM words")[0]
    counted = one(connection, "SELECT value FROM meta WHERE key='words'")
    if noted != known or (counted is not None and listed < counted[0]):
        raise ShelfError("the index has lost the words of some notes", lost=True)


def _roll_back(connection: apsw.Connection) -> None:
    with contextlib.suppress(apsw.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextlib.contextmanager
def _doorway(file: Path, *, exclusive: bool) -> Iterator[None]:
    """Held while a file is opened or another is put in its place, so that no old log meets a new file."""
    descriptor = os.open(file.parent / "index.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)
