"""The anchors inside one process: the bare operations that a measure is made of, without a gateway around them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw
import zstandard

from .laying import FUNCTION_WORDS

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW
_HEAD: Final = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_VALUE: Final = re.compile(r"^([a-z]+): (.*)$", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_INSERT: Final = "INSERT INTO bare(rowid, title, tags, fm, body) VALUES(?, ?, ?, ?, ?)"
_BEST: Final = "SELECT rowid, bm25(bare, 8, 5, 2, 1) AS score FROM bare WHERE bare MATCH ? ORDER BY score LIMIT 15"


def walk(folder: str) -> int:
    """scandir and stat of everything below a folder; how many entries there are."""
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
            count += 1
            if entry.is_dir(follow_symlinks=False):
                count += walk(entry.path)
    return count


def notes_below(root: Path) -> list[str]:
    """The paths of all notes, relative to the root."""
    return sorted(str(file.relative_to(root)) for file in root.rglob("*.md"))


def read(root: int, path: str) -> tuple[bytes, str]:
    """A file by a chain of openat without following links, with its SHA-256."""
    *folders, name = path.split("/")
    descriptor = os.dup(root)
    for folder in folders:
        inner = os.open(folder, _FOLDER, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    file = os.open(name, _FILE, dir_fd=descriptor)
    os.close(descriptor)
    content = os.read(file, os.fstat(file).st_size + 1)
    os.close(file)
    return content, hashlib.sha256(content).hexdigest()


def columns(content: bytes) -> tuple[str, str, str, str]:
    """Title, tags, other values of the frontmatter, body: no more than splitting."""
    text = content.decode("utf-8", "replace")
    head = _HEAD.match(text)
    values = dict(_VALUE.findall(head[1])) if head else {}
    rest = " ".join(value for key, value in values.items() if key not in ("title", "tags"))
    return values.get("title", ""), values.get("tags", ""), rest, text[head.end() :] if head else text


@dataclass(frozen=True, slots=True)
class Table:
    """A contentless FTS5 table and nothing else."""

    connection: apsw.Connection

    @classmethod
    def make(cls, file: Path) -> Table:
        """An empty one in a new file."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        connection = apsw.Connection(str(file))
        connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536")
        connection.execute(
            "CREATE VIRTUAL TABLE bare USING fts5(title, tags, fm, body, content='', contentless_delete=1,"
            " tokenize='unicode61 remove_diacritics 2')"
        )
        connection.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(bare, row)")
        return cls(connection)

    def fill(self, root: Path, paths: Sequence[str]) -> None:
        """Read, hash and insert every note in one transaction."""
        with self.connection:
            self.connection.executemany(_INSERT, self._rows(root, paths))

    def replace(self, number: int, content: bytes) -> None:
        """Put another text in a row's place, in a transaction of its own."""
        with self.connection:
            self.connection.execute("DELETE FROM bare WHERE rowid=?", (number,))
            self.connection.execute(_INSERT, (number, *columns(content)))

    def best(self, question: str) -> list[Any]:
        """The 15 best rows for any of a question's words that are no function words."""
        terms = [word for word in dict.fromkeys(_WORD.findall(question.lower())) if word not in FUNCTION_WORDS]
        expression = " OR ".join(f'"{term}"' for term in terms)
        return self.connection.execute(_BEST, (expression,)).fetchall() if terms else []

    def every_word(self, question: str) -> list[Any]:
        """The 15 best rows for any of a question's words, whatever words they are."""
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(question.lower())))
        return self.connection.execute(_BEST, (expression,)).fetchall() if expression else []

    def common_words(self, count: int) -> list[str]:
        """The words of most notes that are no function words."""
        found = self.connection.execute("SELECT term FROM vocabulary ORDER BY doc DESC LIMIT ?", (count + 400,))
        words = (term for (term,) in found if term.isalpha() and term not in FUNCTION_WORDS)
        return [word for word, _ in zip(words, range(count), strict=False)]

    def _rows(self, root: Path, paths: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for number, path in enumerate(paths, 1):
                content, _ = read(folder, path)
                yield (number, *columns(content))
        finally:
            os.close(folder)


class BareWrite:
    """The bare sequence of a write: one FULL commit of an event with compressed bytes, two files, one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._connection = apsw.Connection(str(folder.parent / "bare-ledger.db"))
        self._connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE events(id INTEGER PRIMARY KEY, path TEXT, before BLOB, after BLOB)")
        self._connection.execute("CREATE TABLE blobs(hash BLOB PRIMARY KEY, packed BLOB)")

    def write(self, note: bytes, page: bytes) -> None:
        """One write of a note and a page."""
        packer = zstandard.ZstdCompressor(level=3)
        hashes = [hashlib.sha256(content).digest() for content in (note, page)]
        packed = [packer.compress(content) for content in (note, page)]
        with self._connection:
            self._connection.execute("INSERT INTO events(path, before, after) VALUES(?, ?, ?)", ("a.md", *hashes))
            self._connection.executemany(
                "INSERT OR IGNORE INTO blobs VALUES(?, ?)", list(zip(hashes, packed, strict=True))
            )
        for name, content in (("a.md", note), ("index.md", page)):
            self._put(name, content)
        os.fsync(self._folder)

    def close(self) -> None:
        """Close what is open."""
        self._connection.close()
        os.close(self._folder)

    def _put(self, name: str, content: bytes) -> None:
        temp = f".{secrets.token_hex(8)}.tmp"
        file = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._folder)
        os.write(file, content)
        os.fsync(file)
        os.close(file)
        os.rename(temp, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
