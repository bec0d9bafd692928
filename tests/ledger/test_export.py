"""An export alone, with the standard library, gives back every revision of every path and the chain's head."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, export
from tests.conftest import path
from tests.ledger.filled import fill


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    book = Ledger(tmp_path / "ledger.db")
    fill(book, 40)
    found = [json.dumps(line, sort_keys=True) for line in export.lines(book, contents=True)]
    book.close()
    return found


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def head_of(lines: list[str]) -> str:
    """The chain, computed from an export as its documentation says."""
    chain = bytes(32)
    for row in map(json.loads, lines):
        if "content" in row:
            continue
        columns = [row[name] for name in ("seq", "kind", "at", "client", "events", "open")]
        sides = [[None if c[name] == "missing" else c[name] for name in ("before", "after")] for c in row["changes"]]
        changes = [[n, c["path"], *sides[n], c["mode"]] for n, c in enumerate(row["changes"])]
        chain = hashlib.sha256(chain + canonical([[*columns, canonical(row["body"])], changes]).encode()).digest()
        assert chain.hex() == row["chain"]
    return chain.hex()


def revisions_of(lines: list[str], name: str) -> list[bytes | None]:
    """What a path held after each of its events, oldest first, None where nothing."""
    contents: dict[str, bytes] = {}
    plans: dict[int, Any] = {}
    held: list[bytes | None] = []
    for row in map(json.loads, lines):
        if "content" in row:
            contents[row["content"]["hash"]] = base64.b64decode(row["content"]["base64"])
    for row in map(json.loads, lines):
        landed = []
        if row.get("kind") == "plan":
            plans[row["seq"]] = row
        elif row.get("kind") == "external":
            landed = row["changes"]
        elif row.get("kind") == "end" and row["body"]["state"] != "refused":
            changes = plans[row["body"]["plan"]]["changes"]
            landed = [change for change in changes if change["path"] in row["body"]["landed"]]
        held += [contents.get(change["after"]) for change in landed if change["path"] == name]
    return held


def test_an_export_gives_back_the_head_and_every_revision(lines: list[str], tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    assert head_of(lines) == book.head()[2]
    for name in book.known_paths():
        events = book.history(name, None, 10_000)[::-1]
        assert revisions_of(lines, name) == [
            book.content(e.after) if isinstance(e.after, str) else None for e in events
        ]
    assert len(revisions_of(lines, "folder-0/note-0.md")) > 3
    book.close()


def test_a_content_stands_once_right_after_the_first_row_that_names_it(lines: list[str]) -> None:
    seen: set[str] = set()
    rows = [json.loads(line) for line in lines]
    last: dict[str, Any] = {}
    for row in rows:
        if "content" not in row:
            last = row
            continue
        found = row["content"]
        content = base64.b64decode(found["base64"])
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (found["hash"], found["size"])
        assert found["hash"] in json.dumps(last)
        assert found["hash"] not in seen
        seen.add(found["hash"])
    assert len(seen) > 30


def test_without_contents_there_are_rows_alone(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    fill(book, 3)
    found = list(export.lines(book))
    assert [row["seq"] for row in found] == list(range(1, book.tip().rows + 1))
    assert path("folder-0/note-0.md") in json.dumps(found)
    book.close()


def test_more_rows_than_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_BATCH", 4)
    book = Ledger(tmp_path / "ledger.db")
    fill(book, 9)
    assert [row["seq"] for row in export.lines(book)] == list(range(1, book.tip().rows + 1))
    book.close()
