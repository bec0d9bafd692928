"""Measures of a ledger that has lasted: look-ups and appends beside a young one, and what an overwrite adds to it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import apsw

from ledger import Ledger, Terms, blobs
from muninn.door import Door
from muninn.model.change import Change, Kind
from muninn.model.content import ContentHash, NotePath
from muninn.model.rights import Rights
from tests.ledger.alone import open_entry, settle

from . import laying
from .gates import Row, row
from .place import Place, call
from .timing import WALL, Effort, in_turn, over, percentile

_PER_PATH: Final = 50
"""Events of a path, in every ledger: a longer one has more paths, and answers of the same size."""
_BUSY: Final = 100
"""One event in so many is the busiest path's."""
_CONTENTS: Final = 64
_AT_ONCE: Final = 5_000
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_ASKED: Final = 20
_VAULT: Final = "0" * 32
_OVERWRITES: Final = 300
_NOTE_BYTES: Final = 2_000


def measure(place: Place, effort: Effort) -> Iterator[Row]:
    """P17 and P18: a ledger of ``effort.events`` events beside one of 10,000, and beside one of 1,000."""
    folder = place.folder / "ledgers"
    folder.mkdir()
    old, young, new = (build(folder / f"{events}.db", events) for events in (effort.events, 10_000, 1_000))
    try:
        numbers = [str(number) for number in random.Random(3).sample(range(10_000 // _PER_PATH), effort.questions)]
        pair = over(numbers, lambda n: _look_up(old, effort.events, n), lambda n: _look_up(young, 10_000, n), 5)
        found, known = percentile(pair.subject, 0.95), percentile(pair.anchor, 0.95)
        yield row(
            "P17",
            found,
            known,
            f"{effort.events:,} events, {(folder / f'{effort.events}.db').stat().st_size / 1e6:.0f} MB",
        )
        times = in_turn(lambda n: _append(old, n), lambda n: _append(new, n), 3 * effort.writes, WALL)
        yield row("P18", *times.medians(), f"{effort.events:,} events")
    finally:
        for book in (old, young, new):
            book.close()


def growth(place: Place, door: Door, rights: Rights) -> Row:
    """P19: what the ledger's file grows by, an overwrite of one changed sentence each time."""
    tongue = laying.Tongue(9)
    name = f"{laying.WRITES}/grown.md"
    lines = laying.note(tongue, name, []).splitlines(keepends=True)
    while sum(map(len, lines)) < _NOTE_BYTES:
        lines.append(tongue.sentence() + "\n")
    answer = call(door, rights, "write", {"path": name, "content": "".join(lines), "expected_hash": "missing"})
    written = size = 0
    for number in range(-20, _OVERWRITES):
        if number == 0:
            size, written = _file_size(place), 0
        lines[-3] = f"Change number {number}: {tongue.sentence()}\n"
        content = "".join(lines)
        answer = call(door, rights, "write", {"path": name, "content": content, "expected_hash": answer.hash})
        if len(answer.changes) != 1:
            raise ValueError("expected the page to stay as it was")
        written += len(content.encode())
    grown = _file_size(place) - size
    return row("P19", grown / _OVERWRITES, written / _OVERWRITES)


def _file_size(place: Place) -> int:
    """The ledger's file with all that its log holds."""
    with closing(apsw.Connection(str(place.folder / "home/ledger.db"))) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(other.pragma("page_count")) * int(other.pragma("page_size"))


def _path(number: int, events: int) -> NotePath:
    """The path of an event: the busiest one, or those of the ledger in turn."""
    busiest = number % _BUSY == 0
    return NotePath("busiest.md" if busiest else f"folder-{number % 7}/note-{number % max(1, events // _PER_PATH)}.md")


def _look_up(book: Ledger, events: int, number: str) -> None:
    """What ``history`` and ``restore`` ask: the newest events of a path, and the bytes that the last of them ended."""
    place = NotePath("busiest.md") if int(number) % 5 == 0 else _path(int(number) * 13 + 1, events)
    found = book.history(place, None, _ASKED)
    kept = book.revision(place, found[-1].id) if found else None
    if kept is None or book.content(kept[0]) is None:
        raise ValueError(f"expected kept bytes of {place}")


def _append(book: Ledger, number: int) -> None:
    name = NotePath(f"appended/{number}.md")
    before, after = _content(number), _content(number + 1)
    was, becomes = ContentHash.of(before), ContentHash.of(after)
    terms = Terms("bench", Kind.OVERWRITE, name, was, becomes, _id(), "1")
    changes = [Change(name, was, becomes, 0o644)]
    entry = open_entry(book, terms, changes, {was: before, becomes: after})
    settle(book, entry, "committed", [name])


def _id() -> str:
    return f"pn-{random.getrandbits(128):032x}"


def _content(number: int) -> bytes:
    return f"---\ntitle: Content {number % _CONTENTS}\n---\n{'word ' * (number % _CONTENTS)}\n".encode()


def build(file: Path, events: int) -> Ledger:
    """A ledger of so many committed overwrites, each with its plan, its end and a chain that holds, laid without its
    own code: that would take an hour."""
    book = Ledger(file)
    book.belong_to(_VAULT)
    contents = [_content(number) for number in range(_CONTENTS)]
    with book._file.transaction("keep what the bench laid") as writer:
        blobs.keep(writer, {ContentHash.of(content): content for content in contents})
    head = bytes.fromhex(book.tip().head)
    book.close()
    with closing(apsw.Connection(str(file))) as connection:
        connection.pragma("journal_mode", "off")
        connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN")
        _lay(connection, events, head, [ContentHash.of(content) for content in contents])
        connection.execute("COMMIT")
        connection.pragma("journal_mode", "wal")
    return Ledger(file)


def _lay(connection: apsw.Connection, events: int, head: bytes, digests: list[ContentHash]) -> None:
    pick, turns = random.Random(5), dict[str, int]()
    for start in range(0, events, _AT_ONCE):
        tables: dict[str, list[tuple[Any, ...]]] = {"rows": [], "changes": [], "pendings": [], "ends": []}
        for number in range(start, min(events, start + _AT_ONCE)):
            path, seq = _path(number, events), 2 * number + 2
            turn = turns[path] = turns.get(path, pick.randrange(_CONTENTS)) + 1
            before, after = digests[(turn - 1) % _CONTENTS], digests[turn % _CONTENTS]
            at = (_BEGAN + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            name = f"pn-{pick.getrandbits(128):032x}"
            plan = (
                f'{{"after":"{after}","before":"{before}","contract":"1","kind":"overwrite","note":null,"path":"{path}",'
                f'"pending_id":"{name}","reason":"superseded","request":null}}'
            )
            changed = f'[[0,"{path}","{before}","{after}",420]]'
            tables["rows"].append(_row(head, (seq, "plan", at, number, 1, plan), changed))
            end = f'{{"at_start":false,"landed":["{path}"],"plan":{seq},"state":"committed"}}'
            tables["rows"].append(_row(tables["rows"][-1][-1], (seq + 1, "end", at, number + 1, 0, end), "[]"))
            head = tables["rows"][-1][-1]
            tables["changes"].append((seq, 0, path, bytes.fromhex(before), bytes.fromhex(after), 0o644))
            tables["pendings"].append((name, seq))
            tables["ends"].append((seq, seq + 1, 0))
        for table, laid in tables.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(laid[0]))})", laid)


def _row(head: bytes, values: tuple[int, str, str, int, int, str], changed: str) -> tuple[Any, ...]:
    """A row of the bench's client, with its chain: what ``ledger.chain`` says, in one string."""
    seq, kind, at, counted, opened, body = values
    escaped = body.replace('"', '\\"')
    text = f'[[{seq},"{kind}","{at}","bench",{counted},{opened},"{escaped}"],{changed}]'
    return (seq, kind, at, "bench", counted, opened, body, hashlib.sha256(head + text.encode()).digest())
