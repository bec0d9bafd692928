"""Claims and registrations of summaries: rows of the same chain as the events, and found again by their path.

A row of kind ``claim`` holds the statement and the revision it is bound to, ``retract`` ends one, ``summary`` registers
a note with its sources. None of them changes a note or is an event. The bytes of the sources are kept in the same
transaction. There is no look-up table: the index ``rows_by_source`` reads the path out of the row's body.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import apsw

from muninn.model import seams
from muninn.model.change import Request
from muninn.model.claim import Claim, Lines
from muninn.model.content import ContentHash, NotePath, Revision
from muninn.model.errors import LedgerInDoubtError
from muninn.model.summary import Registration

from . import blobs
from .append import append, counters, remember_request
from .file import File
from .records import chained_at, read_body, request_body, row_id

Kind = Literal["claim", "retract", "summary"]

_PREFIXES: Final[Mapping[Kind, str]] = {"claim": "cl", "retract": "rt", "summary": "rg"}
_CLAIM_ID: Final = re.compile(r"cl-([0-9]{1,18})-([0-9a-f]{12})\Z")
_PATH: Final = "json_extract(body, '$.path')"
_BOUND: Final = "kind IN ('claim', 'retract', 'summary')"
_OF_PATH: Final = (
    f"SELECT seq, at, client, body, chain FROM rows WHERE {_BOUND} AND {_PATH} = ? AND kind = ? ORDER BY seq DESC"
)
_REGISTRATIONS: Final = (
    f"SELECT seq, at, client, body, chain FROM rows WHERE {_BOUND} AND {_PATH} = ? AND kind = 'summary' AND seq < ?"
    " ORDER BY seq DESC LIMIT ?"
)
_AT_ONCE: Final = 16
_CLAIMS: Final = (
    "SELECT seq, at, client, body, chain FROM rows WHERE kind = 'claim' AND seq < ? ORDER BY seq DESC LIMIT ?"
)
_SUMMARIES: Final = (
    f"SELECT DISTINCT {_PATH} FROM rows WHERE {_BOUND} AND kind = 'summary' AND {_PATH} > ? ORDER BY 1 LIMIT ?"
)
_PATHS: Final = f"SELECT DISTINCT {_PATH} FROM rows INDEXED BY rows_by_source WHERE {_BOUND}"
_SINCE: Final = f"SELECT seq, CASE WHEN {_BOUND} THEN {_PATH} END FROM rows WHERE seq > ?"
_KINDS: Final = f"SELECT DISTINCT kind FROM rows WHERE {_BOUND} AND {_PATH} = ?"
_ENDED: Final = (
    f"SELECT json_extract(body, '$.claim') FROM rows INDEXED BY rows_by_source WHERE {_BOUND} AND kind = 'retract'"
)
_NEWEST: Final = 1 << 62
_KNOWN_S: Final = 1.0
"""So long it is not looked whether another process has added rows."""


@dataclass(frozen=True, slots=True)
class Added:
    """A row that was added. ``certain`` is False where the disk failed while it was made durable."""

    id: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Retraction:
    """The end of a claim."""

    claim: str
    client: str | None
    at: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asked for under a request id: the kind of row, the digest it is bound to, the row's id and path.

    ``claim`` is the claim that the row made or ended. ``kind`` None stands for a plan.
    """

    kind: Kind | None
    digest: str
    id: str = ""
    path: NotePath | None = None
    claim: str | None = None


class Claims:
    """What a ledger file knows of claims and summaries. Safe to use from several threads, as the ledger is."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._learning = threading.Lock()
        self._known: set[str] = set()
        """Paths that any row of these kinds names. None ever leaves: rows are only added."""
        self._known_until = 0.0
        self._seq: int | None = None

    # --- adding ------------------------------------------------------------------------------------

    def add(
        self,
        client: str | None,
        statement: str,
        source: Revision,
        lines: Lines | None,
        content: bytes,
        request: Request | None = None,
    ) -> Added:
        """Keep a claim together with the bytes of its source."""
        body = {
            "statement": statement,
            "path": source.path,
            "revision": source.hash,
            "lines": None if lines is None else [lines.start, lines.end],
            "kept": [source.hash],
        }
        return self._append("claim", client, body, {source.hash: content}, request)

    def retract(self, client: str | None, claim: Claim, reason: str, request: Request | None = None) -> Added:
        """End a claim. Its row stays; nobody is shown it any more."""
        body = {"claim": claim.id, "path": claim.source.path, "reason": reason}
        return self._append("retract", client, body, {}, request)

    def register(
        self,
        client: str | None,
        summary: Revision,
        sources: Sequence[Revision],
        contents: Mapping[ContentHash, bytes],
        request: Request | None = None,
    ) -> Added:
        """Keep a registration together with the bytes of all its sources."""
        body = {
            "path": summary.path,
            "revision": summary.hash,
            "sources": [[source.path, source.hash] for source in sources],
            "kept": sorted(contents),
        }
        return self._append("summary", client, body, contents, request)

    def _append(
        self,
        kind: Kind,
        client: str | None,
        body: dict[str, Any],
        contents: Mapping[ContentHash, bytes],
        request: Request | None,
    ) -> Added:
        added: Added | None = None
        try:
            with self._file.transaction("keep the claim" if kind != "summary" else "keep the registration") as writer:
                blobs.keep(writer, contents)
                row = {**body, "request": request_body(request)}
                seq, _ = append(writer, kind, client, row, (), counters(writer))
                remember_request(writer, client, request, seq)
                added = Added(_id(kind, seq, chained_at(writer, seq)))
                seams.at("ledger.commit")
            with self._learning:
                self._known.add(body["path"])
        except LedgerInDoubtError:
            if added is None:
                raise
            return Added(added.id, certain=False)
        return added

    # --- asking ------------------------------------------------------------------------------------

    def at(self, claim_id: str) -> Claim | None:
        """The claim with this id, retracted or not; None for any other text."""
        named = _CLAIM_ID.match(claim_id)
        if named is None:
            return None
        with self._file.reading() as reader:
            query = "SELECT seq, at, client, body, chain FROM rows WHERE seq = ? AND kind = 'claim'"
            row = reader.execute(query, (int(named[1]),)).fetchone()
            found = None if row is None else _claim(row)
        return found if found is not None and found.id == claim_id else None

    def retraction(self, claim: Claim) -> Retraction | None:
        """How a claim was ended, None where it was not."""
        with self._file.reading() as reader:
            return _retractions(reader, claim.source.path).get(claim.id)

    def of_path(self, path: NotePath, below: int | None = None, limit: int = 100) -> list[Claim]:
        """Claims on this path that nobody has retracted, newest first; ``below`` is the ``seq`` of the last one."""
        with self._file.reading() as reader:
            ended = _retractions(reader, path)
            found: list[Claim] = []
            for row in reader.execute(_OF_PATH, (path, "claim")):
                claim = _claim(row) if below is None or row[0] < below else None
                if claim is not None and claim.id not in ended:
                    found.append(claim)
                    if len(found) == limit:
                        break
            return found

    def newest(self, below: int | None = None, limit: int = 100) -> list[Claim]:
        """Claims on any path that nobody has retracted, newest first; ``below`` as in ``of_path``."""
        found: list[Claim] = []
        with self._file.reading() as reader:
            ended = {row[0] for row in reader.execute(_ENDED)}
            for row in reader.execute(_CLAIMS, (_NEWEST if below is None else below, limit + len(ended))):
                claim = _claim(row)
                if claim.id not in ended:
                    found.append(claim)
                    if len(found) == limit:
                        break
        return found

    def registrations(self, path: NotePath) -> Iterator[Registration]:
        """Registrations of this path, newest first; read as they are asked for, since most want the first alone."""
        below, limit = _NEWEST, 1
        while True:
            with self._file.reading() as reader:
                rows: list[Any] = reader.execute(_REGISTRATIONS, (path, below, limit)).fetchall()
            yield from map(_registration, rows)
            if len(rows) < limit:
                return
            below, limit = rows[-1][0], _AT_ONCE

    def summaries(self, after: str = "", limit: int = 100) -> list[NotePath]:
        """Paths that were registered as summaries and come after this one, in the order of their code points."""
        with self._file.reading() as reader:
            return [NotePath(row[0]) for row in reader.execute(_SUMMARIES, (after, limit))]

    def bound(self, paths: Iterable[NotePath]) -> dict[NotePath, set[str]]:
        """Those of these paths that claims or summaries are about, each with the kinds of rows that name it.

        Every read asks, so that the paths are remembered: those of rows that this process adds at once, those of
        another's a second later.
        """
        if time.monotonic() > self._known_until:
            self._learn()
        known = [path for path in paths if path in self._known]
        if not known:
            return {}
        with self._file.reading() as reader:
            return {path: {row[0] for row in reader.execute(_KINDS, (path,))} for path in known}

    def _learn(self) -> None:
        """Take in the paths of rows that were added since the last time, by another process for one."""
        with self._learning, self._file.reading() as reader:
            if self._seq is None:
                self._seq = reader.execute("SELECT coalesce(max(seq), 0) FROM rows").get
                self._known.update(row[0] for row in reader.execute(_PATHS))
            else:
                for seq, path in reader.execute(_SINCE, (self._seq,)):
                    self._seq = max(seq, self._seq)
                    if path is not None:
                        self._known.add(path)
            self._known_until = time.monotonic() + _KNOWN_S

    def asked(self, client: str, request_id: str) -> Asked | None:
        """What a client asked for under this id, a plan included; refused plans are not kept."""
        query = (
            "SELECT r.seq, r.kind, r.body, r.chain, e.body FROM requests q JOIN rows r ON r.seq = q.seq"
            " LEFT JOIN ends x ON x.plan = r.seq LEFT JOIN rows e ON e.seq = x.seq"
            " WHERE q.client = ? AND q.request_id = ? ORDER BY r.seq DESC"
        )
        with self._file.reading() as reader:
            for seq, kind, text, chained, end in reader.execute(query, (client, request_id)):
                if kind == "plan" and end is not None and read_body(end)["state"] == "refused":
                    continue
                return _asked(seq, kind, read_body(text), chained)
        return None


def _retractions(reader: apsw.Connection, path: NotePath) -> dict[str, Retraction]:
    found = {}
    for _, at, client, text, _ in reader.execute(_OF_PATH, (path, "retract")):
        claim = str(read_body(text)["claim"])
        found[claim] = Retraction(claim, client, at)
    return found


def _claim(row: Any) -> Claim:
    seq, at, client, text, chained = row
    body = read_body(text)
    lines = Lines(*body["lines"]) if body["lines"] else None
    source = Revision(NotePath(body["path"]), ContentHash(body["revision"]))
    return Claim(_id("claim", seq, chained), body["statement"], source, lines, client, at, seq)


def _registration(row: Any) -> Registration:
    seq, at, client, text, chained = row
    body = read_body(text)
    sources = tuple(Revision(NotePath(path), ContentHash(digest)) for path, digest in body["sources"])
    summary = Revision(NotePath(body["path"]), ContentHash(body["revision"]))
    return Registration(_id("summary", seq, chained), summary, sources, client, at, seq)


def _asked(seq: int, kind: str, body: dict[str, Any], chained: bytes) -> Asked:
    digest = body["request"]["digest"]
    match kind:
        case "claim" | "retract" | "summary":
            made = _id(kind, seq, chained)
            claim = {"claim": made, "retract": body.get("claim")}.get(kind)
            return Asked(kind, digest, made, NotePath(body["path"]), claim)
        case _:
            return Asked(None, digest)


def _id(kind: Kind, seq: int, chained: bytes) -> str:
    return row_id(_PREFIXES[kind], seq, chained)
