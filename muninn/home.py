"""Files of the home that are written whole: their owner's alone to read, and never half there."""

from __future__ import annotations

import os
from pathlib import Path


def put(file: Path, text: str) -> None:
    """Put a text in place of what a file held, in one rename, once it is on disk.

    Makes the folder where there is none. Raises OSError; then the file holds what it held.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
