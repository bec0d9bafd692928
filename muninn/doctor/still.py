"""Look at a SQLite file of a live installation without changing a byte, a name or a time beside it.

A connection that only reads makes the side files of a database in WAL mode where they are missing, writes its mark into
the memory they share, and leaves them behind. Here nothing is made and nothing is written: where no log lies beside the
file, nobody has it open, and it is read as it is; where one does, its shared memory is opened for reading alone, under
the same locks as ever, so that a gateway beside it is neither stopped nor misread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from muninn.model.errors import MuninnError

_BUSY_MS: Final = 5000
_TRIES: Final = 5
_Found = TypeVar("_Found")
_fchown = threading.RLock()


@contextlib.contextmanager
def opened(file: Path) -> Iterator[apsw.Connection]:
    """A connection on the last state that was committed. Nothing a stranger has laid into the file may run.

    Raises apsw.Error for what is no database and OSError for what is not there.
    """
    file.stat()
    log, memory = _size(file, "-wal"), _size(file, "-shm")
    if log and not memory:
        # A log that was carried here without its memory: only a copy can be read without making that memory anew.
        with tempfile.TemporaryDirectory(prefix="muninn-doctor-") as folder:
            for suffix in ("", "-wal"):
                shutil.copyfile(f"{file}{suffix}", Path(folder, f"copy.db{suffix}"))
            with contextlib.closing(_connect(Path(folder, "copy.db"), "")) as connection:
                yield connection
        return
    with _owners_left(), contextlib.closing(_connect(file, _how(log, memory))) as connection:
        yield connection


def _how(log: int | None, memory: int | None) -> str:
    return "readonly_shm=1" if log is not None and memory else "immutable=1"


def steady(file: Path, ask: Callable[[apsw.Connection], _Found]) -> _Found:
    """What a question finds in a file. One that was taken for nobody's and was written to meanwhile, because a gateway
    started, is asked again. Raises as ``opened``, and what ``ask`` raises."""
    for _ in range(_TRIES):
        before = _stamp(file)
        try:
            with opened(file) as connection:
                found = ask(connection)
        except (apsw.Error, MuninnError, UnicodeDecodeError):
            if _stamp(file) == before:
                raise
            continue
        if _stamp(file) == before:
            return found
    with opened(file) as connection:
        return ask(connection)


def _stamp(file: Path) -> tuple[Any, ...]:
    """What differs after a look that took the file for one that nobody has open, where somebody wrote into it."""
    how = _how(_size(file, "-wal"), _size(file, "-shm"))
    if how.startswith("readonly"):
        return (how,)
    seen = file.stat()
    return (how, seen.st_ino, seen.st_size, seen.st_mtime_ns)


def _size(file: Path, suffix: str) -> int | None:
    try:
        return os.stat(f"{file}{suffix}").st_size
    except FileNotFoundError:
        return None


def _connect(file: Path, how: str) -> apsw.Connection:
    uri = f"{file.absolute().as_uri()}?mode=ro&{how}"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        connection.execute("PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _owners_left() -> Iterator[None]:
    """For root: SQLite would set the owner of the side files to what it is already, and the system notes the time."""
    if os.geteuid() != 0:
        yield
        return
    with _fchown:
        unix = apsw.VFS("muninn-still", "unix")
        kept = unix.xGetSystemCall("fchown")
        unix.xSetSystemCall("fchown", ctypes.cast(_NOTHING, ctypes.c_void_p).value or 0)
        try:
            yield
        finally:
            unix.xSetSystemCall("fchown", kept or 0)
            unix.unregister()


_NOTHING: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.c_uint)(lambda *_: 0)
