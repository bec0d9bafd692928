"""Digests into rows and out again: the statements that change an index, each inside somebody's transaction."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from muninn.model.content import NotePath, same_name

from .fields import COLUMNS, FLAG_BITS, Digest, name_key
from .store import one

_INSERT_DOC = "INSERT INTO docs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE_DOC = (
    "UPDATE docs SET hash=?, stamp=?, title=?, type=?, status=?, date=?, day=?, tags=?, filters=?, body=?, fault=?,"
    " columns=? WHERE id=?"
)
_INSERT_LINK = "INSERT INTO links VALUES(?, ?, ?, ?, ?)"
_INSERT_ALIAS = "INSERT OR IGNORE INTO aliases VALUES(?, ?)"
_MOST_WORDS = 50_000
_INSERT_TERMS = f"INSERT INTO terms(rowid, {', '.join(COLUMNS)}) VALUES(?{', ?' * len(COLUMNS)})"


@functools.lru_cache(maxsize=4096)
def facet(kind: str, value: str) -> str:
    """How a filter's value is written in a row: one kind of value, folded."""
    return f"\n{kind}:{same_name(value)}\n"


def put(connection: apsw.Connection, digest: Digest, stamp: int, words: set[str] | None) -> bool:
    """Write a note in place of what was there under its path. False where only its file's stamp had changed.

    ``words`` are terms that are known to stand in the list of words: the note's other terms are added to both. None
    where the list will be made anew.
    """
    row = one(connection, "SELECT id, hash, columns FROM docs WHERE path=?", (digest.path,))
    raw_hash = bytes.fromhex(digest.hash)
    flags = digest.facts.flags
    if row is not None and row[1] == raw_hash and row[0] & ((1 << FLAG_BITS) - 1) == flags:
        connection.execute("UPDATE docs SET stamp=?, day=? WHERE id=?", (stamp, digest.facts.day, row[0]))
        return False
    if row is None:
        connection.execute("DELETE FROM files WHERE path=?", (digest.path,))
        number = (one(connection, "SELECT coalesce(max(id), 0) FROM docs")[0] >> FLAG_BITS) + 1
        _insert(connection, digest, stamp, number << FLAG_BITS | flags)
    elif row[0] & ((1 << FLAG_BITS) - 1) == flags:
        if _change(connection, digest, stamp, row[0], row[2]):
            return True
    else:
        _forget(connection, row[0])
        _insert(connection, digest, stamp, row[0] >> FLAG_BITS << FLAG_BITS | flags)
    if words is not None:
        _learn(connection, digest, words)
    return True


def put_new(connection: apsw.Connection, batch: Sequence[tuple[Digest, int]]) -> None:
    """Write many notes with their stamps, of which none is there under its path or twice among them."""
    number = one(connection, "SELECT coalesce(max(id), 0) FROM docs")[0] >> FLAG_BITS
    ids = [at << FLAG_BITS | taken.facts.flags for at, (taken, _) in enumerate(batch, number + 1)]
    each = list(zip(ids, batch, strict=True))
    connection.executemany(_INSERT_DOC, [_doc(taken, stamp, row_id) for row_id, (taken, stamp) in each])
    connection.executemany(_INSERT_TERMS, [(row_id, *taken.columns) for row_id, (taken, _) in each])
    connection.executemany(
        _INSERT_LINK,
        [(key, row_id, line, kind, target) for row_id, (taken, _) in each for key, line, kind, target in taken.links],
    )
    connection.executemany(
        _INSERT_ALIAS, [(same_name(alias), row_id) for row_id, (taken, _) in each for alias in taken.facts.aliases]
    )


def drop(connection: apsw.Connection, path: str) -> bool:
    """Take a note out; whether it was there."""
    row = one(connection, "SELECT id FROM docs WHERE path=?", (path,))
    if row is not None:
        _forget(connection, row[0])
    return row is not None


def put_file(connection: apsw.Connection, path: NotePath) -> None:
    """Note the name of a file that links may lead to and whose text is not searched."""
    connection.execute("INSERT OR REPLACE INTO files VALUES(?, ?)", (path, name_key(path.name)))


def drop_files(connection: apsw.Connection, paths: Iterable[str]) -> None:
    """Forget such names."""
    connection.executemany("DELETE FROM files WHERE path=?", [(path,) for path in paths])


def count_words(connection: apsw.Connection) -> None:
    """Count anew in how many notes each word stands."""
    connection.execute("DELETE FROM words")
    connection.execute("INSERT INTO words SELECT term, doc FROM vocabulary")
    note_meta(connection, "words", connection.changes())


def note_meta(connection: apsw.Connection, key: str, value: int) -> None:
    """Keep a number beside the notes."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))


def _forget(connection: apsw.Connection, row_id: int) -> None:
    connection.execute("DELETE FROM terms WHERE rowid=?", (row_id,))
    connection.execute("DELETE FROM links WHERE source=?", (row_id,))
    connection.execute("DELETE FROM aliases WHERE source=?", (row_id,))
    connection.execute("DELETE FROM docs WHERE id=?", (row_id,))


def _insert(connection: apsw.Connection, digest: Digest, stamp: int, row_id: int) -> None:
    connection.execute(_INSERT_DOC, _doc(digest, stamp, row_id))
    connection.execute(_INSERT_TERMS, (row_id, *digest.columns))
    if digest.links:
        connection.executemany(
            _INSERT_LINK, [(key, row_id, line, kind, target) for key, line, kind, target in digest.links]
        )
    if digest.facts.aliases:
        connection.executemany(_INSERT_ALIAS, [(same_name(alias), row_id) for alias in digest.facts.aliases])


def _change(connection: apsw.Connection, digest: Digest, stamp: int, row_id: int, columns: int) -> bool:
    """Write a note in place of what it was, as far as it differs; whether its words are the same. A folder's page
    changes with each of its notes, and what changes in it is not searched."""
    row = _doc(digest, stamp, row_id)
    connection.execute(_UPDATE_DOC, (*row[3:], row_id))
    same = bool(row[-1] == columns)
    if not same:
        connection.execute("DELETE FROM terms WHERE rowid=?", (row_id,))
        connection.execute(_INSERT_TERMS, (row_id, *digest.columns))
    _change_links(connection, digest, row_id)
    return same


def _change_links(connection: apsw.Connection, digest: Digest, row_id: int) -> None:
    kept: dict[Any, list[int]] = defaultdict(list)
    for number, *link in connection.execute(
        "SELECT rowid, name, line, kind, target FROM links WHERE source=?", (row_id,)
    ):
        kept[tuple(link)].append(number)
    new = []
    for key, line, kind, target in digest.links:
        same = kept.get((key, line, kind, target))
        if same:
            same.pop()
        else:
            new.append((key, row_id, line, kind, target))
    gone = [(number,) for numbers in kept.values() for number in numbers]
    if gone:
        connection.executemany("DELETE FROM links WHERE rowid=?", gone)
    if new:
        connection.executemany(_INSERT_LINK, new)
    named = {same_name(alias) for alias in digest.facts.aliases}
    before = {str(name) for (name,) in connection.execute("SELECT name FROM aliases WHERE source=?", (row_id,))}
    if named != before:
        connection.execute("DELETE FROM aliases WHERE source=?", (row_id,))
        connection.executemany(_INSERT_ALIAS, [(name, row_id) for name in named])


def _doc(digest: Digest, stamp: int, row_id: int) -> tuple[Any, ...]:
    facts, path = digest.facts, digest.path
    tags = json.dumps(facts.tags, ensure_ascii=False) if facts.tags else "[]"
    facets = [facet("tag", tag) for tag in facts.tags]
    facets += [facet("type", facts.type)] if facts.type is not None else []
    facets += [facet("status", facts.status)] if facts.status is not None else []
    return (
        *(row_id, path, name_key(path.name), bytes.fromhex(digest.hash), stamp),
        *(facts.title, facts.type, facts.status, facts.date, facts.day),
        *(tags, "".join(facets), facts.body, digest.fault, _fingerprint(digest.columns)),
    )


def _fingerprint(columns: tuple[str, ...]) -> int:
    """Stands for a note's terms, of which the index keeps no text. Two fall together about once in 2^62."""
    digest = hashlib.blake2b("\n".join(columns).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _learn(connection: apsw.Connection, digest: Digest, words: set[str]) -> None:
    new = {term for column in digest.columns for term in column.split()}.difference(words)
    connection.executemany("INSERT OR IGNORE INTO words VALUES(?, 1)", [(term,) for term in sorted(new)])
    if len(words) > _MOST_WORDS:
        words.clear()
    words.update(new)
