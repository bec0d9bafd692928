"""Renames that the kernel does in one step: exchange two names, or rename only where nothing is.

Linux: renameat2 (flags from linux/fs.h); macOS: renameatx_np (flags from sys/stdio.h). Elsewhere, and on
file systems without them, ``supported`` is False and the caller checks first and renames then.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import Final

_LINUX_NOREPLACE: Final = 1
_LINUX_EXCHANGE: Final = 2
_MACOS_SWAP: Final = 2
_MACOS_EXCL: Final = 4

_Call = Callable[[int, bytes, int, bytes, int], int]


@functools.cache
def _call() -> tuple[_Call, int, int] | None:
    """The system's function with its flags for (exchange, no-replace), None where there is none."""
    name, exchange, exclusive = {
        "linux": ("renameat2", _LINUX_EXCHANGE, _LINUX_NOREPLACE),
        "darwin": ("renameatx_np", _MACOS_SWAP, _MACOS_EXCL),
    }.get(sys.platform, ("", 0, 0))
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return function, exchange, exclusive


def supported(folder: int) -> bool:
    """Whether this platform and the file system of this folder can exchange two names."""
    if _call() is None:
        return False
    try:
        _rename(folder, ".muninn-no-such-name", ".muninn-no-such-name-2", exchange=True)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange two names of a folder. False where the platform cannot; raises OSError for any other failure."""
    return _try(folder, one, other, exchange=True)


def rename_into_nothing(folder: int, name: str, new: str) -> None:
    """Rename where nothing of the new name is. Raises FileExistsError where something is."""
    if _try(folder, name, new, exchange=False):
        return
    # A hard link is refused where the name exists, on every file system that has them.
    os.link(name, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(name, dir_fd=folder)


def _try(folder: int, one: str, other: str, *, exchange: bool) -> bool:
    if _call() is None:
        return False
    try:
        _rename(folder, one, other, exchange=exchange)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
            return False
        raise
    return True


def _rename(folder: int, one: str, other: str, *, exchange: bool) -> None:
    found = _call()
    if found is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    function, swap_flag, exclusive_flag = found
    flag = swap_flag if exchange else exclusive_flag
    if function(folder, os.fsencode(one), folder, os.fsencode(other), flag) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
