"""The ledger as JSON lines, from which history can be read, and the chain replayed, without Muninn.

A line is a row, oldest first::

    {"seq", "kind", "at", "client", "events", "open", "body": {…}, "chain",
     "changes": [{"path", "before", "after", "mode"}, …]}

or, with contents, kept bytes right after the first row that names them::

    {"content": {"hash", "size", "base64"}}

The ``chain`` of a row is SHA-256 over the chain before it (32 zero bytes before the first) and the UTF-8 of
``[[seq, kind, at, client, events, open, BODY], [[0, path, before, after, mode], [1, …], …]]``, as JSON with sorted
keys, no spaces and no escapes but the needed ones; BODY is the body in the same form, as a string; ``before`` and
``after`` are ``null`` where the line says ``missing``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from muninn.model.content import ContentHash

from .store import Ledger

_BATCH: Final = 500


def lines(ledger: Ledger, *, contents: bool = False) -> Iterator[dict[str, Any]]:
    """Every line, in order; what is added while it runs is in it as well."""
    seen = 0
    given: set[str] = set()
    while found := ledger.rows(seen, _BATCH):
        for row in found:
            yield row
            for digest in _named(row) if contents else ():
                if digest not in given:
                    given.add(digest)
                    yield from _content(ledger, digest)
        seen = found[-1]["seq"]


def _named(row: dict[str, Any]) -> Iterator[str]:
    """The hashes that a row names, ``missing`` left out."""
    for change in row["changes"]:
        yield from (side for side in (change["before"], change["after"]) if side != "missing")
    if row["kind"] != "purge":
        yield from row["body"].get("kept", ())


def _content(ledger: Ledger, digest: str) -> Iterator[dict[str, Any]]:
    parsed = ContentHash.parse(digest)
    content = None if parsed is None else ledger.content(parsed)
    if content is not None:
        encoded = base64.b64encode(content).decode("ascii")
        yield {"content": {"hash": digest, "size": len(content), "base64": encoded}}
