"""The token that a bridge shows: from a file that its owner alone can read, or from the environment."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from muninn.model.errors import SettingsError, reason

VARIABLE: Final = "MUNINN_TOKEN"
_MOST: Final = 4096


@dataclass(frozen=True, slots=True)
class TokenSource:
    """Where a token is. A file is read again when it is asked for, so that a rotated token counts without a restart."""

    file: Path | None = None
    given: str | None = field(default=None, repr=False)

    def read(self) -> str:
        """The token. Raises SettingsError where the file is missing, open to others, or holds none."""
        if self.file is None:
            return _checked(self.given or "", VARIABLE)
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as opened:
                seen = os.fstat(descriptor)
                if not stat.S_ISREG(seen.st_mode):
                    raise SettingsError(f"{self.file} is no regular file; expected one that holds a token")
                if seen.st_mode & 0o077:
                    raise SettingsError(f"{self.file} can be read by others; run: chmod 600 {self.file}")
                found = opened.read(_MOST)
        except OSError as error:
            raise SettingsError(f"the token file {self.file} cannot be read: {reason(error)}") from error
        return _checked(found.decode("latin-1").strip(), str(self.file))

    def __str__(self) -> str:
        return str(self.file) if self.file else f"the environment's {VARIABLE}"


def _checked(token: str, source: str) -> str:
    if not token or not (token.isascii() and token.isprintable()) or " " in token:
        raise SettingsError(f"{source}: expected a token, printable ASCII without a space, as `client add` printed it")
    return token
