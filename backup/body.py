"""What lies inside a sealed object: a zstandard frame, and a skippable one that brings it to a common length."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import IO, Any, Final, Self, cast

import zstandard

from . import seal
from .errors import DamagedError

_LEVEL: Final = 3
"""zstandard's default: about 70 MB/s."""
_SMALLEST: Final = 4096
_SKIPPABLE: Final = struct.Struct("<II")
_SKIPPABLE_MAGIC: Final = 0x184D2A50
_BLOCK: Final = 1 << 18
_MOST_WINDOW: Final = 1 << 27


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed object that waits in a file: its name in the repository, SHA-256 (hex) and size of the sealed bytes."""

    name: str
    file: Path
    sha256: str
    size: int


def new_id() -> str:
    """A name for an object: 16 hex digits that say nothing."""
    return token_hex(8)


def padded(length: int) -> int:
    """The length that a body of ``length`` bytes is brought to: 4096, or the next that has few leading bits (Padmé).

    A body of 20,000 bytes becomes one of 20,480: the length tells no more than its first five bits.

    >>> [padded(n) for n in (0, 4096, 4097, 20_000, 1_000_000)]
    [4096, 4096, 4352, 20480, 1015808]
    """
    if length <= _SMALLEST:
        return _SMALLEST
    exponent = length.bit_length() - 1
    free = exponent - exponent.bit_length()
    step = 1 << free
    return (length + step - 1) // step * step


class Writer:
    """Compresses, pads and seals what is written into a new file, as the object ``name``."""

    def __init__(self, file: Path, key: bytes, name: str) -> None:
        self._out = file.open("xb")
        self._sealer = seal.Sealer(self._out, key, name)
        self._packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
        self._length = 0
        self.name = name
        self.file = file
        self.digest = ""

    def write(self, data: bytes) -> None:
        """Take bytes."""
        self._put(self._packer.compress(data))

    @property
    def size(self) -> int:
        """The sealed bytes so far; some wait inside."""
        return self._sealer.size

    def close(self) -> None:
        """End the frame, pad, seal; ``digest`` is the SHA-256 (hex) of the sealed object from then on."""
        try:
            self._put(self._packer.flush())
            before = self._length + _SKIPPABLE.size
            left = padded(before) - before
            self._put(_SKIPPABLE.pack(_SKIPPABLE_MAGIC, left))
            while left:
                zeros = bytes(min(left, seal.CHUNK))
                self._sealer.write(zeros)
                left -= len(zeros)
            self.digest = self._sealer.close()
        finally:
            self._out.close()

    def drop(self) -> None:
        """Close the file as it is: nobody wants it any more."""
        self._out.close()

    def _put(self, data: bytes) -> None:
        self._length += len(data)
        if data:
            self._sealer.write(data)


class Reader:
    """Opens and unpacks a sealed object as it is read. ``with`` closes it; ``ended`` proves that it is whole."""

    def __init__(self, source: Callable[[int], bytes], key: bytes, name: str) -> None:
        self.name = name
        self._opener = seal.Opener(source, key, name)
        self._stream: Any = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).stream_reader(
            cast(IO[bytes], self._opener), read_across_frames=True, closefd=False
        )
        self._held, self._at = b"", 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, fewer only at the end."""
        while len(self._held) - self._at < size and (block := self._block()):
            # What was taken goes only now, so that small reads move nothing.
            self._held = self._held[self._at :] + block
            self._at = 0
        data = self._held[self._at : self._at + size]
        self._at += len(data)
        return data

    def _block(self) -> bytes:
        try:
            block: bytes = self._stream.read(_BLOCK)
        except zstandard.ZstdError as error:
            raise DamagedError(f"{self.name}: it opens, but cannot be unpacked") from error
        return block

    def exactly(self, size: int) -> bytes:
        """Exactly so many bytes. Raises DamagedError where there are fewer."""
        data = self.read(size)
        if len(data) != size:
            raise DamagedError(f"{self.name}: it opens, but ends too early")
        return data

    def ended(self) -> str:
        """See that nothing follows, open the padding too, and give the SHA-256 (hex) of the sealed object."""
        if self.read(1):
            raise DamagedError(f"{self.name}: it opens, but more follows than belongs to it")
        return self._opener.rest()
