"""Where and what: a path inside the vault, the hash of exact bytes, and the two together.

A ``NotePath`` or a ``ContentHash`` can only be had from its parser, so holding one is the proof
that it was checked. Nothing here touches a file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, Self

MAX_SEGMENT_BYTES: Final = 255
MAX_PATH_BYTES: Final = 1000

_HASH = re.compile(r"[0-9a-f]{64}\Z")
# Characters that turn the reading direction round: they make one path look like another.
_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
_NOT_IN_NEW_NAMES = frozenset(':*?"<>|#^[]')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\..*)?\Z", re.IGNORECASE)
_CONFLICT_COPY = re.compile(r"\(.*conflicted copy.*\)|\.sync-conflict-", re.IGNORECASE)


class ContentHash(str):
    """Lower-case hex SHA-256 of the exact bytes of a file. Nothing is normalised before hashing."""

    __slots__ = ()

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The hash of these bytes."""
        return cls(hashlib.sha256(content).hexdigest())

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The hash written as 64 lower-case hex digits, or None if it is anything else."""
        return cls(text) if _HASH.match(text) else None


class Missing(Enum):
    """What stands in place of a hash where there is no file."""

    MISSING = "missing"

    def __str__(self) -> str:
        return self.value


MISSING: Final = Missing.MISSING
Basis = ContentHash | Literal[Missing.MISSING]
"""What a path holds: exact bytes by their hash, or nothing."""


def basis(text: str) -> Basis | None:
    """Read a basis as clients write it: 64 lower-case hex digits or ``missing``; None if neither."""
    return MISSING if text == MISSING.value else ContentHash.parse(text)


@dataclass(frozen=True, slots=True)
class BadPath:
    """Why a text is no path of the vault. ``expected`` says what would be one."""

    text: str
    why: str


class NotePath(str):
    """A checked path: relative to the vault, ``/`` between segments, Unicode form NFC."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> NotePath | BadPath:
        """Check a path for every use. Reading accepts either Unicode form.

        Refused: absolute, empty, ``.`` and ``..``, backslash, control and direction characters,
        a segment that begins with a dot or has a space at either end, and over-long names.
        """
        if not text:
            return BadPath(text, "it is empty")
        if text.startswith("/") or text.endswith("/") or "//" in text:
            return BadPath(text, "it begins or ends with a slash, or has an empty segment")
        if "\\" in text:
            return BadPath(text, "it holds a backslash; segments are divided by /")
        odd = _odd_character(text)
        if odd is not None:
            return BadPath(text, f"it holds the character U+{ord(odd):04X}")
        path = text if text.isascii() else unicodedata.normalize("NFC", text)
        if len(path.encode()) > MAX_PATH_BYTES or len(text.encode()) > MAX_PATH_BYTES:
            return BadPath(text[:80] + "…", f"it is longer than {MAX_PATH_BYTES} bytes")
        for segment in path.split("/"):
            why = _bad_segment(segment)
            if why is not None:
                return BadPath(text, why)
        return cls(path)

    @classmethod
    def below(cls, folder: str, name: str) -> NotePath | BadPath:
        """The path of a name in a folder that is a checked path already (or ``""``): only the name is looked at."""
        full = f"{folder}/{name}" if folder else name
        plain = name.isascii() and name.isprintable() and not {"/", "\\"} & set(name) and name.strip(" ") == name
        if (
            plain
            and name
            and not name.startswith(".")
            and len(name) <= MAX_SEGMENT_BYTES
            and len(full) * 4 <= MAX_PATH_BYTES
        ):
            return cls(full)
        return cls.parse(full)

    @property
    def folder(self) -> str:
        """The folder the path lies in, ``""`` for the root."""
        return self.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The last segment."""
        return self.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name of a note without ``.md``."""
        return self.name.removesuffix(".md")

    @property
    def is_note(self) -> bool:
        """Whether the name ends in ``.md``; other files are attachments."""
        return self.endswith(".md")

    @property
    def is_temporary(self) -> bool:
        """Whether the name, or a folder's on the way, is that of something half-written: no part of the vault."""
        return any(map(is_temporary, self.split("/")))

    @property
    def is_conflict_copy(self) -> bool:
        """Whether a sync tool made this file because two machines wrote at once."""
        return _CONFLICT_COPY.search(self.name) is not None

    @property
    def folders(self) -> tuple[str, ...]:
        """Every folder on the way, outermost first: ``a/b/c.md`` gives ``a`` and ``a/b``."""
        parts = self.split("/")[:-1]
        return tuple("/".join(parts[: n + 1]) for n in range(len(parts)))


def is_temporary(name: str) -> bool:
    """Whether a file name is one that editors and Muninn itself use while they write."""
    return name.endswith(".tmp") or name.startswith("~$")


def same_name(text: str) -> str:
    """The key under which two spellings of one name fall together: NFC, case folded, NFC again."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def new_name_faults(typed: str) -> tuple[str, ...]:
    """Why a path, as the client typed it, may not name a *new* note; empty where it may."""
    faults = []
    if not unicodedata.is_normalized("NFC", typed):
        faults.append("it is not in Unicode form NFC")
    if not typed.endswith(".md"):
        faults.append("it does not end in .md")
    bad = sorted(_NOT_IN_NEW_NAMES.intersection(typed))
    if bad:
        faults.append("it holds " + " ".join(bad))
    devices = [segment for segment in typed.split("/") if _DEVICE.match(segment)]
    if devices:
        faults.append(f"{devices[0]!r} is a device name on Windows")
    if any(map(is_temporary, typed.split("/"))):
        faults.append("it is the name of a temporary file")
    return tuple(faults)


def _bad_segment(segment: str) -> str | None:
    if segment.startswith("."):
        return "a segment begins with a dot"
    if segment != segment.strip(" "):
        return "a segment begins or ends with a space"
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        return f"a segment is longer than {MAX_SEGMENT_BYTES} bytes"
    return None


def _odd_character(text: str) -> str | None:
    if text.isascii() and text.isprintable():
        return None
    for char in text:
        if char in _DIRECTION or unicodedata.category(char) in _FORBIDDEN_CATEGORIES:
            return char
    return None


@dataclass(frozen=True, slots=True)
class Revision:
    """A path at exact bytes: what a read returns, a claim is bound to and a citation points at."""

    path: NotePath
    hash: ContentHash
