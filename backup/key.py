"""The key of the backup: 32 random bytes in ``home/backup/key``, as text that a person can write down.

The text is base32 (RFC 4648) of the key and three bytes of check, in seven groups of eight letters and digits: one
wrong letter is noticed before anything is sealed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from .errors import KeyFaultError
from .seal import KEY_BYTES, fingerprint

_CHECK: Final = 3
_GROUP: Final = 8


def new() -> bytes:
    """A new key."""
    return os.urandom(KEY_BYTES)


def text(key: bytes) -> str:
    """The key as it is kept and printed."""
    plain = base64.b32encode(key + _check(key)).decode("ascii")
    return "-".join(plain[start : start + _GROUP] for start in range(0, len(plain), _GROUP))


def parse(written: str) -> bytes:
    """The key from its text; dashes, spaces and case do not count. Raises KeyFaultError."""
    plain = "".join(written.split()).replace("-", "").upper()
    expected = "expected 56 letters and digits in seven groups, as `muninn backup init` printed them"
    try:
        whole = base64.b32decode(plain.encode("ascii"))
    except (binascii.Error, ValueError):
        raise KeyFaultError(f"this is no backup key: {expected}; {len(plain)} characters were found") from None
    key, check = whole[:KEY_BYTES], whole[KEY_BYTES:]
    if len(whole) != KEY_BYTES + _CHECK:
        raise KeyFaultError(f"the backup key is too short or too long: {expected}; {len(plain)} were found")
    if check != _check(key):
        raise KeyFaultError(f"the backup key has a wrong letter or digit in it: {expected}")
    return key


def known_by(key: bytes) -> str:
    """The key's fingerprint in hex."""
    return fingerprint(key).hex()


def read(file: Path) -> bytes:
    """The key in the home. Raises KeyFaultError where it is not there, no key, or can be read by others."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise KeyFaultError(
            f"there is no backup key at {file}: make one with `muninn backup init --remote URL`, or bring the one "
            "you wrote down back with `muninn backup init --remote URL --key-stdin`"
        ) from None
    except OSError as error:
        raise KeyFaultError(f"the backup key cannot be read ({error.strerror}): {file}") from error
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise KeyFaultError(f"the backup key is no regular file: {file}")
        if stat.S_IMODE(seen.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            raise KeyFaultError(
                f"the backup key can be read by others (mode {stat.S_IMODE(seen.st_mode):04o}); put it right with: "
                f"chmod 600 {file}"
            )
        written = os.read(descriptor, 1000)
    finally:
        os.close(descriptor)
    return parse(written.decode("latin-1"))


def keep(file: Path, key: bytes) -> None:
    """Put a key into the home, readable by its owner alone, whole or not at all; never over another one."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as made:
        made.write(text(key) + "\n")
        made.flush()
        os.fsync(made.fileno())
    try:
        os.link(draft, file)
    except FileExistsError:
        raise KeyFaultError(f"there is a backup key already: {file}") from None
    finally:
        draft.unlink()


def _check(key: bytes) -> bytes:
    return hashlib.sha256(b"muninn backup 1 key" + key).digest()[:_CHECK]
