"""File systems of one's own: a small one in memory, and one in a file whose power can be cut. Root is needed."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SHUTDOWN: Final = 0x8004587D
_NO_LOG_FLUSH: Final = 2


class CannotMountError(Exception):
    """Mounting is not permitted here, or the tools for it are not installed."""


@contextmanager
def in_memory(folder: Path, options: str) -> Iterator[Path]:
    """A tmpfs with these options (``size=1m,nr_inodes=40``) for the length of a block."""
    folder.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", options, "muninn-proof", str(folder))
    try:
        yield folder
    finally:
        _run("umount", "-l", str(folder))


def read_only(folder: Path, on: bool) -> None:
    """Remount a file system of ours."""
    _run("mount", "-o", f"remount,{'ro' if on else 'rw'}", str(folder))


class Disk:
    """An ext4 in a file, mounted until its power is cut."""

    def __init__(self, image: Path, folder: Path) -> None:
        """Make it. Raises CannotMountError."""
        self.folder = folder
        self._image = image
        folder.mkdir(parents=True, exist_ok=True)
        with image.open("wb") as file:
            file.truncate(48 * 1024 * 1024)
        _run("mkfs.ext4", "-q", "-F", str(image))
        self.plug_in()

    def plug_in(self) -> None:
        """Mount it; the file system repairs itself from its journal."""
        _run("mount", "-o", "loop", str(self._image), str(self.folder))

    def cut_power(self) -> None:
        """From now on nothing reaches the disk, not even the journal that is not written yet."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def pull_out(self) -> None:
        """Unmount it."""
        _run("umount", str(self.folder))


def exchange(folder: int, one: str, other: str) -> None:
    """Exchange two names, without the product's code."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(folder, os.fsencode(one), folder, os.fsencode(other), 2) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except FileNotFoundError as error:
        raise CannotMountError(f"{command[0]} is not here") from error
    except subprocess.CalledProcessError as error:
        raise CannotMountError(f"{command[0]} says: {error.stderr.strip()[-120:]}") from error
