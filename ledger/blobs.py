"""Preserved bytes, each kept once under its hash.

A revision that changes little of the one before it is packed with that one as prefix, so that it costs about what has
changed. What another is packed against is always packed whole itself: nothing is further than one step away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import apsw
import zstandard

from muninn.model.content import ContentHash

from .file import LedgerDamagedError

_DESCRIPTOR: Final = 4
_UNUSED_BIT: Final = 0b0001_0000
"""A decoder ignores this bit of a frame's header (RFC 8878, 3.1.1.1.1.3). We never set it: set, it is damage."""
_LEVEL: Final = 3
"""zstandard's default: about 70 MB/s at the ratio of zlib."""
_AGAINST: Final = b"\x01"
"""Begins what is packed against other bytes: their hash follows, then a frame. A frame alone begins otherwise."""
_HEAD: Final = len(_AGAINST) + 32
_WORTH: Final = 4
"""Packed against others is what then has less than one in so many of its bytes; the rest is packed whole."""


def keep(
    connection: apsw.Connection,
    contents: Mapping[ContentHash, bytes],
    earlier: Mapping[ContentHash, ContentHash] | None = None,
) -> None:
    """Keep these bytes in the transaction that is open; what is kept already is left alone.

    ``earlier`` names for some of them the revision before, which they are packed against where that is worth it.
    """
    bases = earlier or {}
    for digest in sorted(contents, key=bases.__contains__):
        if holds(connection, digest):
            continue
        content = contents[digest]
        packed = _against(connection, content, bases[digest]) if digest in bases else None
        _put(connection, digest, len(content), packed or zstandard.ZstdCompressor(level=_LEVEL).compress(content))


def holds(connection: apsw.Connection, digest: ContentHash) -> bool:
    """Whether the bytes with this hash are kept."""
    return connection.execute("SELECT 1 FROM blobs WHERE hash = ?", (bytes.fromhex(digest),)).fetchone() is not None


def content(connection: apsw.Connection, digest: ContentHash) -> bytes | None:
    """Kept bytes by their hash, None where they are not kept. Raises LedgerDamagedError where they are damaged."""
    row = _row(connection, bytes.fromhex(digest))
    if row is None:
        return None
    found = unpacked(*row, base_of(connection, row[1]))
    if found is None:
        raise LedgerDamagedError("the ledger is damaged: kept bytes cannot be unpacked")
    if ContentHash.of(found) != digest:
        raise LedgerDamagedError("the ledger is damaged: kept bytes do not have the hash they are kept under")
    return found


def base_of(connection: apsw.Connection, packed: Any) -> bytes | None:
    """The bytes that others are packed against; None where these are packed whole, or those cannot be had."""
    named = _base_named(packed)
    row = None if named is None else _row(connection, named)
    return None if row is None or _base_named(row[1]) is not None else unpacked(*row)


def unpacked(size: Any, packed: Any, base: bytes | None = None) -> bytes | None:
    """The bytes of a row, None where they cannot be unpacked to that size, or not without their ``base``.

    Both sizes are compared before anything is unpacked: a damaged one never asks for more memory than there is.
    """
    if not isinstance(packed, bytes):
        return None
    against = _base_named(packed) is not None
    if against and base is None:
        return None
    frame = packed[_HEAD:] if against else packed
    prefix = _prefix(base) if against and base is not None else None
    try:
        if zstandard.frame_content_size(frame) != size or frame[_DESCRIPTOR] & _UNUSED_BIT:
            return None
        found = zstandard.ZstdDecompressor(dict_data=prefix).decompress(frame, max_output_size=max(size, 1))
    except zstandard.ZstdError:
        return None
    return found if len(found) == size else None


def stand_alone(connection: apsw.Connection, digest: ContentHash) -> None:
    """Pack whole what is packed against these bytes, so that they can go. Needs deletion to be allowed."""
    mark = _AGAINST + bytes.fromhex(digest)
    for raw in list(_packed_against(connection, mark)):
        found = content(connection, ContentHash(raw.hex()))
        if found is None:
            raise LedgerDamagedError("the ledger is damaged: kept bytes are gone")
        connection.execute("DELETE FROM blobs WHERE hash = ?", (raw,))
        _put(connection, ContentHash(raw.hex()), len(found), zstandard.ZstdCompressor(level=_LEVEL).compress(found))


def _packed_against(connection: apsw.Connection, mark: bytes) -> Iterator[bytes]:
    for row in connection.execute("SELECT hash FROM blobs WHERE substr(packed, 1, ?) = ?", (_HEAD, mark)):
        yield row[0]


def _against(connection: apsw.Connection, new: bytes, earlier: ContentHash) -> bytes | None:
    """These bytes packed against the earlier revision, or against what that one is packed against; None where that
    is not worth it."""
    named = bytes.fromhex(earlier)
    row = _row(connection, named)
    if row is None or not new:
        return None
    named = _base_named(row[1]) or named
    base = base_of(connection, row[1]) if named != bytes.fromhex(earlier) else unpacked(*row)
    if not base:
        return None
    frame = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_prefix(base)).compress(new)
    packed = _AGAINST + named + frame
    return packed if len(packed) * _WORTH < len(new) else None


def _base_named(packed: Any) -> bytes | None:
    """The hash of the bytes that these are packed against."""
    return packed[1:_HEAD] if isinstance(packed, bytes) and packed[:1] == _AGAINST and len(packed) > _HEAD else None


def _prefix(base: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _row(connection: apsw.Connection, raw: bytes) -> tuple[Any, Any] | None:
    return connection.execute("SELECT size, packed FROM blobs WHERE hash = ?", (raw,)).fetchone()


def _put(connection: apsw.Connection, digest: ContentHash, size: int, packed: bytes) -> None:
    connection.execute("INSERT INTO blobs (hash, size, packed) VALUES (?, ?, ?)", (bytes.fromhex(digest), size, packed))
