"""Files that are written whole: never half there. Those of the home are their owner's alone to read."""

from __future__ import annotations

import os
from pathlib import Path


def put(file: Path, text: str) -> None:
    """Put a text into a file of the home, for its owner alone. Makes the folder where there is none.

    Raises OSError; then the file holds what it held.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(file, text.encode(), 0o600)


def replace(file: Path, content: bytes, mode: int) -> None:
    """Put bytes in place of what a file held, in one rename, once they are on disk.

    Nobody else sees them before they have their mode, nor are they led elsewhere by a link that somebody laid out.
    Raises OSError; then the file holds what it held.
    """
    fresh = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    # What a crash left under the same number: in a container each start has it.
    fresh.unlink(missing_ok=True)
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as written:
            os.fchmod(descriptor, mode)
            written.write(content)
            written.flush()
            os.fsync(descriptor)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
