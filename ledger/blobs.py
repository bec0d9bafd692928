"""Preserved bytes, each kept once under its hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import apsw
import zstandard

from muninn.model.content import ContentHash

from .file import LedgerDamagedError

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
    """Kept bytes by their hash, None where they are not kept. Raises LedgerDamagedError where they are damaged."""
    row = connection.execute("SELECT size, packed FROM blobs WHERE hash = ?", (bytes.fromhex(digest),)).fetchone()
    if row is None:
        return None
    found = unpacked(*row)
    if found is None:
        raise LedgerDamagedError("the ledger is damaged: kept bytes cannot be unpacked")
    if ContentHash.of(found) != digest:
        raise LedgerDamagedError("the ledger is damaged: kept bytes do not have the hash they are kept under")
    return found


def unpacked(size: Any, packed: Any) -> bytes | None:
    """The bytes of a row, None where they cannot be unpacked to that size.

    Both sizes are compared before anything is unpacked: a damaged one never asks for more memory than there is.
    """
    try:
        if not isinstance(packed, bytes) or zstandard.frame_content_size(packed) != size:
            return None
        found = zstandard.ZstdDecompressor().decompress(packed, max_output_size=max(size, 1))
    except zstandard.ZstdError:
        return None
    return found if len(found) == size else None
