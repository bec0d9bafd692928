"""The tables of one index file, and how it is opened.

``terms`` is contentless: it holds words and no text, and a row can still be deleted. Two bits of a row's id say whether
the note is a daily log and whether it is retired, so that ranking and leaving out need no second table.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import apsw

from .fields import COLUMNS
from .settings import IndexSettings

_CACHE_SIZE: Final = -8192
"""In KiB, as SQLite wants it."""
_MOST_LOG_PAGES: Final = 8_000
"""Pages of the write-ahead log at which a commit copies them into the file; as a rule a scan has done it before."""
_JOINED_PAGES: Final = 500
VERSION: Final = 6

TABLES: Final = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE docs(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, hash BLOB NOT NULL, stamp INTEGER NOT NULL,
    title TEXT NOT NULL, type TEXT, status TEXT, date TEXT, day TEXT NOT NULL, tags TEXT NOT NULL,
    filters TEXT NOT NULL, body INTEGER NOT NULL, fault TEXT, columns INTEGER NOT NULL) STRICT;
CREATE TABLE files(path TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE aliases(name TEXT NOT NULL, source INTEGER NOT NULL, PRIMARY KEY(name, source)) STRICT, WITHOUT ROWID;
CREATE TABLE links(name TEXT NOT NULL, source INTEGER NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
    target TEXT NOT NULL) STRICT;
CREATE TABLE faults(path TEXT PRIMARY KEY, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE words(term TEXT PRIMARY KEY, notes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE terms USING fts5({", ".join(COLUMNS)}, content='', contentless_delete=1,
    tokenize="ascii tokenchars '~_-.:@+#'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(terms, row);
"""

INDEXES: Final = """
CREATE INDEX docs_name ON docs(name);
CREATE INDEX docs_retired ON docs(id) WHERE id & 2;
CREATE INDEX docs_fault ON docs(path) WHERE fault IS NOT NULL;
CREATE INDEX files_name ON files(name);
CREATE INDEX aliases_source ON aliases(source);
CREATE INDEX links_name ON links(name);
CREATE INDEX links_source ON links(source);
"""
"""Made when a new file is full: sorting once costs less than keeping order all the way."""

_BUILD_HASH: Final = 48 * 1024 * 1024
"""Bytes of postings that FTS5 gathers before it writes a segment, while a new file is filled; a transaction ends
sooner. The usual value is 1 MiB."""

TABLE_NAMES: Final = frozenset(
    {"meta", "docs", "files", "aliases", "links", "faults", "words", "terms", "vocabulary", "terms_data", "terms_idx"}
)


def mark(settings: IndexSettings) -> str:
    """What a file must carry to be this program's index under these settings."""
    parts = (
        *sorted(settings.retired), "|", *settings.logs.patterns, "|", settings.folder_page or "", settings.language,
        settings.origin,
    )  # fmt: skip
    return f"{VERSION}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def connect(file: Path, busy_wait_s: float, *, create: bool = False, log: bool = False) -> apsw.Connection:
    """Open a file for reading and writing; without ``create`` it must be there. With ``log`` it is put into WAL."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(file), flags=flags)
    try:
        connection.set_busy_timeout(int(busy_wait_s * 1000))
        # Nothing that a stranger has laid into the file may run. A trigger on a table of FTS5 can even bring it down.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        connection.execute(f"PRAGMA cache_size={_CACHE_SIZE}; PRAGMA temp_store=MEMORY")
        if log:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint={_MOST_LOG_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


def lay_out(connection: apsw.Connection, settings: IndexSettings) -> None:
    """Make the tables of an empty file."""
    with connection:
        connection.execute(TABLES)
        connection.execute("INSERT INTO meta VALUES('mark', ?), ('ready', 0), ('scanned', 0)", (mark(settings),))


def begin_filling(connection: apsw.Connection) -> None:
    """Set a new file up for very many notes: large segments, and none joined before the end."""
    for option, value in (("hashsize", _BUILD_HASH), ("automerge", 0), ("crisismerge", 1999)):
        connection.execute("INSERT INTO terms(terms, rank) VALUES(?, ?)", (option, value))
    connection.execute("PRAGMA cache_size=-32768")


def end_filling(connection: apsw.Connection) -> None:
    """Join the segments of a new file, and set it up for a note at a time. Inside a transaction."""
    connection.execute("INSERT INTO terms(terms) VALUES('optimize')")
    for option, value in (("hashsize", 1 << 20), ("automerge", 8), ("crisismerge", 16)):
        connection.execute("INSERT INTO terms(terms, rank) VALUES(?, ?)", (option, value))
    connection.execute(INDEXES)
    connection.execute(f"PRAGMA cache_size={_CACHE_SIZE}")


def tidy(connection: apsw.Connection) -> None:
    """What a change puts off: join some of the small segments that it left, and copy the log into the file."""
    connection.execute("INSERT INTO terms(terms, rank) VALUES('merge', ?)", (_JOINED_PAGES,))
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
