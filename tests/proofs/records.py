"""Read the ledger's file without the product's code: what each path went through, in order."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Step:
    """One event of one path; ``kind`` is that of the row's body, or ``baseline`` for what a first scan found."""

    kind: str
    before: str
    after: str
    event: str
    client: str | None


@dataclass(slots=True)
class Records:
    """The ledger at one moment."""

    steps: dict[str, list[Step]] = field(default_factory=lambda: defaultdict(list))
    kept: set[str] = field(default_factory=set)
    open_paths: set[str] = field(default_factory=set)
    """Paths of plans that have no end."""
    events: int = 0


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as connection:
        connection.execute("BEGIN")
        yield connection


def read(file: Path) -> Records:
    """All steps by path, oldest first."""
    found = Records()
    with _opened(file) as connection:
        rows = {
            seq: (kind, client, json.loads(body), f"ev-{seq}-{chain.hex()[:12]}")
            for seq, kind, client, body, chain in connection.execute("SELECT seq, kind, client, body, chain FROM rows")
        }
        ends = {body["plan"]: (body, event) for kind, _, body, event in rows.values() if kind == "end"}
        query = "SELECT seq, n, path, before, after FROM changes ORDER BY seq, n"
        for seq, n, path, before, after in connection.execute(query):
            kind, client, body, event = rows[seq]
            if kind == "plan":
                if seq not in ends:
                    found.open_paths.add(path)
                    continue
                end, event = ends[seq]
                if end["state"] == "refused" or path not in end["landed"]:
                    continue
            shown = "baseline" if kind == "baseline" else body["kind"] if n == 0 else "index"
            found.steps[path].append(Step(shown, _basis(before), _basis(after), event, client))
        found.kept = {digest.hex() for (digest,) in connection.execute("SELECT hash FROM blobs")}
        last = connection.execute("SELECT events FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
        found.events = last[0] if last else 0
    return found


def _basis(value: bytes | None) -> str:
    return MISSING if value is None else value.hex()
