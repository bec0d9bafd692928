"""Preserved bytes, each kept once under its hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import apsw
import zstandard

from muninn.model.content import ContentHash
from muninn.model.errors import LedgerUnavailableError

_LEVEL: Final = 3
"""zstandard's default: about 70 MB/s at the ratio of zlib."""


def keep(connection: apsw.Connection, contents: Mapping[ContentHash, bytes]) -> None:
    """Keep these bytes in the transaction that is open; what is kept already is left alone."""
    packer = zstandard.ZstdCompressor(level=_LEVEL)
    for digest, content in contents.items():
        raw = bytes.fromhex(digest)
        if connection.execute("SELECT 1 FROM blobs WHERE hash = ?", (raw,)).fetchone() is None:
            values = (raw, len(content), packer.compress(content))
            connection.execute("INSERT INTO blobs (hash, size, packed) VALUES (?, ?, ?)", values)


def holds(connection: apsw.Connection, digest: ContentHash) -> bool:
    """Whether the bytes with this hash are kept."""
    return connection.execute("SELECT 1 FROM blobs WHERE hash = ?", (bytes.fromhex(digest),)).fetchone() is not None


def content(connection: apsw.Connection, digest: ContentHash) -> bytes | None:
    """Kept bytes by their hash, None where they are not kept. Raises LedgerUnavailableError where they are damaged."""
    row = connection.execute("SELECT size, packed FROM blobs WHERE hash = ?", (bytes.fromhex(digest),)).fetchone()
    if row is None:
        return None
    try:
        found = zstandard.ZstdDecompressor().decompress(row[1], max_output_size=max(row[0], 1))
    except zstandard.ZstdError as error:
        raise LedgerUnavailableError("the ledger is damaged: kept bytes cannot be unpacked") from error
    if ContentHash.of(found) != digest:
        raise LedgerUnavailableError("the ledger is damaged: kept bytes do not have the hash they are kept under")
    return found
