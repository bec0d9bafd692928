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

VERSION: Final = 4

TABLES: Final = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE docs(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, hash BLOB NOT NULL, stamp INTEGER NOT NULL,
    title TEXT NOT NULL, type TEXT, status TEXT, date TEXT, day TEXT NOT NULL, tags TEXT NOT NULL,
    filters TEXT NOT NULL, body INTEGER NOT NULL, fault TEXT) STRICT;
CREATE INDEX docs_name ON docs(name);
CREATE INDEX docs_retired ON docs(id) WHERE id & 2;
CREATE INDEX docs_fault ON docs(path) WHERE fault IS NOT NULL;
CREATE TABLE files(path TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX files_name ON files(name);
CREATE TABLE aliases(name TEXT NOT NULL, source INTEGER NOT NULL, PRIMARY KEY(name, source)) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_source ON aliases(source);
CREATE TABLE links(name TEXT NOT NULL, source INTEGER NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
    target TEXT NOT NULL) STRICT;
CREATE INDEX links_name ON links(name);
CREATE INDEX links_source ON links(source);
CREATE TABLE faults(path TEXT PRIMARY KEY, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE words(term TEXT PRIMARY KEY, notes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE terms USING fts5({", ".join(COLUMNS)}, content='', contentless_delete=1,
    tokenize="ascii tokenchars '~_-.:@+#'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(terms, row);
"""


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
        connection.execute("PRAGMA cache_size=-8192; PRAGMA temp_store=MEMORY")
        if log:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def lay_out(connection: apsw.Connection, settings: IndexSettings) -> None:
    """Make the tables of an empty file."""
    with connection:
        connection.execute(TABLES)
        connection.execute("INSERT INTO meta VALUES('mark', ?), ('ready', 0), ('scanned', 0)", (mark(settings),))
