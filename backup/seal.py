"""Sealed objects: chunks of AES-256-GCM under a key of their own, bound to their place. FORMAT.md says it to the byte.

Nobody without the key can read an object, or make one that opens. One that was changed, cut, lengthened or put in the
place of another does not open. This is the only room of the backup that ``cryptography`` is in.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .errors import DamagedError, KeyFaultError

MAGIC: Final = b"MUNINN\x00\x01"
"""The last byte is the version of the format."""
KEY_BYTES: Final = 32
CHUNK: Final = 65_536
TAG: Final = 16
_FINGERPRINT: Final = 16
_SALT: Final = 16
HEADER: Final = len(MAGIC) + _FINGERPRINT + _SALT


class Writable(Protocol):
    """Where sealed bytes go."""

    def write(self, data: bytes, /) -> int: ...


Read = Callable[[int], bytes]
"""Gives at most so many bytes, none at the end."""


def fingerprint(key: bytes) -> bytes:
    """What a key is known by, 16 bytes; the key cannot be found from it."""
    return _derived(key, None, b"muninn backup 1 fingerprint", _FINGERPRINT)


def _derived(key: bytes, salt: bytes | None, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(key)


def _cipher(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(_derived(key, salt, b"muninn backup 1 object", KEY_BYTES))


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _bound_to(header: bytes, name: str, number: int, last: bool) -> bytes:
    """The associated data of a chunk: the object's header and name, and the chunk's position."""
    place = name.encode("ascii")
    return header + struct.pack(">H", len(place)) + place + struct.pack(">QB", number, last)


class Sealer:
    """Seals what is written to it into ``out``, chunk by chunk, as the object ``name``."""

    def __init__(self, out: Writable, key: bytes, name: str) -> None:
        salt = os.urandom(_SALT)
        self._header = MAGIC + fingerprint(key) + salt
        self._cipher = _cipher(key, salt)
        self._out, self._name = out, name
        self._held = bytearray()
        self._number = 0
        self._hash = hashlib.sha256()
        self.size = 0
        self._put(self._header)

    def write(self, data: bytes) -> int:
        """Take bytes; whole chunks go out. The last one waits, since it must say that it is the last."""
        self._held += data
        while len(self._held) > CHUNK:
            self._seal(bytes(self._held[:CHUNK]), last=False)
            del self._held[:CHUNK]
        return len(data)

    def close(self) -> str:
        """Seal the last chunk. Gives the SHA-256 (hex) of the sealed object."""
        self._seal(bytes(self._held), last=True)
        self._held.clear()
        return self._hash.hexdigest()

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        bound = _bound_to(self._header, self._name, self._number, last)
        self._put(self._cipher.encrypt(_nonce(self._number, last), chunk, bound))
        self._number += 1

    def _put(self, data: bytes) -> None:
        self._out.write(data)
        self._hash.update(data)
        self.size += len(data)


class Opener:
    """Opens a sealed object as it is read. Nothing is given out that was not authenticated.

    That the object is whole is known only once ``read`` has given no more bytes.
    """

    def __init__(self, source: Read, key: bytes, name: str) -> None:
        """Reads the header. Raises DamagedError for what is no object, KeyFaultError for one of another key."""
        self._source, self._name = source, name
        self._hash = hashlib.sha256()
        self._header = self._take(HEADER)
        if len(self._header) < HEADER or self._header[: len(MAGIC)] != MAGIC:
            raise DamagedError(f"{name}: it is no sealed object of this format")
        if self._header[len(MAGIC) : len(MAGIC) + _FINGERPRINT] != fingerprint(key):
            raise KeyFaultError(f"{name}: it was sealed with another key")
        self._cipher = _cipher(key, self._header[-_SALT:])
        self._number = 0
        self._ahead = self._take(CHUNK + TAG)
        self._open = bytearray()
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes of what was sealed, b"" at the end. Raises DamagedError that names the object."""
        while not self._ended and (size < 0 or len(self._open) < size):
            self._next()
        given = bytes(self._open) if size < 0 else bytes(self._open[:size])
        del self._open[: len(given)]
        return given

    def rest(self) -> str:
        """Open all that is left, and give the SHA-256 (hex) of the sealed object."""
        while not self._ended:
            self._next()
            self._open.clear()
        return self._hash.hexdigest()

    def _next(self) -> None:
        sealed, self._ahead = self._ahead, self._take(CHUNK + TAG)
        last = not self._ahead
        try:
            bound = _bound_to(self._header, self._name, self._number, last)
            self._open += self._cipher.decrypt(_nonce(self._number, last), sealed, bound)
        except InvalidTag:
            raise DamagedError(
                f"{self._name}: part {self._number + 1} of it does not open: it was changed, cut off, or put in "
                "another's place"
            ) from None
        self._number += 1
        self._ended = last

    def _take(self, size: int) -> bytes:
        pieces = []
        while size and (piece := self._source(size)):
            pieces.append(piece)
            size -= len(piece)
        data = b"".join(pieces)
        self._hash.update(data)
        return data
