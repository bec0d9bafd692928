"""What a set holds, as sorted keys with values; and how a set says it: only what differs from the set it builds on.

Keys begin with a letter::

    f PATH    a file: mode, time of change, size, SHA-256          d PATH    a folder: mode
    k HASH    bytes that the ledger keeps: size                    l ROW     rows of the ledger from this one on
    s         the statements that make the ledger's tables         x PATH    left out: the reason

FORMAT.md gives the values to the byte.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from muninn.model.content import ContentHash
from muninn.model.listing import Stamp

from .body import Reader, Sealed, Writer
from .errors import DamagedError

FILE, FOLDER, KEPT, LINES, SCHEMA, LEFT = b"f", b"d", b"k", b"l", b"s", b"x"
_FILE: Final = struct.Struct(">IqQ32s")
_FOLDER: Final = struct.Struct(">I")
_KEPT: Final = struct.Struct(">Q")
_ROW: Final = struct.Struct(">Q")
_LINES: Final = struct.Struct(">Q32sQ")
_SCHEMA: Final = struct.Struct(">I")
_SIZES: Final = struct.Struct(">HI")
_GONE: Final = 0xFFFF_FFFF
_HEADER: Final = struct.Struct(">I")
_MOST_HEADER: Final = 1 << 20
_MOST_VALUE: Final = 1 << 16

Row = tuple[bytes, bytes | None]
"""A key and its value; None where the key is gone."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file of a set."""

    path: bytes
    mode: int
    mtime_ns: int
    size: int
    hash: bytes


def file_row(path: bytes, mode: int, stamp: Stamp, digest: bytes) -> tuple[bytes, bytes]:
    """The key and value of a file."""
    return FILE + path, _FILE.pack(mode, stamp.mtime_ns, stamp.size, digest)


def read_file(key: bytes, value: bytes) -> FileRow:
    """A file from its key and value."""
    return FileRow(key[1:], *_FILE.unpack(value))


def folder_row(path: bytes, mode: int) -> tuple[bytes, bytes]:
    """The key and value of a folder."""
    return FOLDER + path, _FOLDER.pack(mode)


def read_folder(value: bytes) -> int:
    """The mode of a folder."""
    return int(_FOLDER.unpack(value)[0])


def kept_row(digest: ContentHash, size: int) -> tuple[bytes, bytes]:
    """The key and value of bytes that the ledger keeps."""
    return KEPT + bytes.fromhex(digest), _KEPT.pack(size)


def lines_row(first: int, last: int, digest: bytes, size: int) -> tuple[bytes, bytes]:
    """The key and value of the rows of the ledger from ``first`` to ``last``: their lines are a content."""
    return LINES + _ROW.pack(first), _LINES.pack(last, digest, size)


def schema_row(version: int, statements: str) -> tuple[bytes, bytes]:
    """The key and value of the ledger's schema: its number, and the statements that make its tables."""
    return SCHEMA, _SCHEMA.pack(version) + statements.encode()


def read_schema(value: bytes) -> tuple[int, str]:
    """The number of the schema, and its statements."""
    return int(_SCHEMA.unpack_from(value)[0]), value[_SCHEMA.size :].decode()


def read_lines(value: bytes) -> tuple[int, bytes]:
    """The last row, and the hash of the lines."""
    last, digest, _ = _LINES.unpack(value)
    return int(last), bytes(digest)


def content_of(key: bytes, value: bytes) -> tuple[bytes, int] | None:
    """The hash and size of the content that a row needs; None for one that needs none."""
    match key[:1]:
        case b"f":
            _, _, size, digest = _FILE.unpack(value)
        case b"k":
            (size,), digest = _KEPT.unpack(value), key[1:]
        case b"l":
            _, digest, size = _LINES.unpack(value)
        case _:
            return None
    return bytes(digest), int(size)


def shown(path: bytes) -> str:
    """A path as messages and JSON show it; bytes that are no UTF-8 are replaced."""
    return path.decode("utf-8", "replace")


def unsafe(path: bytes) -> str | None:
    """Why a path must not be written below a folder; None where it may be."""
    segments = path.split(b"/")
    if b"\0" in path:
        return "it holds a NUL"
    if path.startswith(b"/") or b"" in segments:
        return "it is absolute, or has an empty segment"
    if b".." in segments or b"." in segments:
        return "it leaves the folder, or names it"
    if os.sep != "/" and os.fsencode(os.sep) in path:
        return "it holds this system's separator"
    return None


# --- a set as an object -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Header:
    """What a set says of itself, beside its rows. ``at`` is RFC 3339 in UTC, ``base`` the id of the set it builds on.

    ``rows``, ``events`` and ``head`` (hex) are where the ledger's chain stood; ``checkpoint`` is that, signed.
    """

    id: str
    number: int
    at: str
    base: str | None
    files: int
    bytes: int
    rows: int
    events: int
    head: str
    checkpoint: str | None


def write(file: Path, key: bytes, header: Header, rows: Iterable[Row]) -> Sealed:
    """Seal a set: its header, and its rows in the order of their keys."""
    writer = Writer(file, key, f"sets/{header.id}")
    try:
        told = json.dumps(asdict(header), sort_keys=True, separators=(",", ":")).encode()
        writer.write(_HEADER.pack(len(told)) + told)
        for name, value in rows:
            writer.write(_SIZES.pack(len(name), _GONE if value is None else len(value)) + name + (value or b""))
        writer.close()
    except BaseException:
        writer.drop()
        raise
    return Sealed(writer.name, file, writer.digest, writer.size)


def read(opened: Reader) -> tuple[Header, Iterator[Row]]:
    """The header of a set, and its rows. Raises DamagedError where it is none."""
    (length,) = _HEADER.unpack(opened.exactly(_HEADER.size))
    if length > _MOST_HEADER:
        raise DamagedError(f"{opened.name}: it opens, but is no set")
    try:
        found: dict[str, Any] = json.loads(opened.exactly(length))
        header = Header(**found)
    except (ValueError, TypeError):
        raise DamagedError(f"{opened.name}: it opens, but its header cannot be read") from None
    return header, _rows(opened)


def _rows(opened: Reader) -> Iterator[Row]:
    before = b""
    while sizes := opened.read(_SIZES.size):
        if len(sizes) != _SIZES.size:
            raise DamagedError(f"{opened.name}: it opens, but ends inside of a row")
        length, width = _SIZES.unpack(sizes)
        key = opened.exactly(length)
        if key <= before or (width != _GONE and width > _MOST_VALUE):
            raise DamagedError(f"{opened.name}: it opens, but its rows are out of order")
        before = key
        yield key, None if width == _GONE else opened.exactly(width)
