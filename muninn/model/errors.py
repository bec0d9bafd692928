"""The tree of things that break. A refusal the caller can act on is a value (``change.Refusal``), not one of these.

MuninnError
├── VaultUnavailableError    the vault's root is missing, unreadable, suddenly empty or another vault's
├── LedgerUnavailableError   the ledger cannot be read or cannot commit
│   └── LedgerInDoubtError   a commit failed while it was made durable
├── IndexBrokenError         the index cannot answer; a scan of the files must
└── SettingsError            a flag, an environment variable or a file of settings is wrong
"""

from __future__ import annotations

import os


class MuninnError(Exception):
    """Something broke. The text is for the person at the machine and may name nothing internal to clients."""


class VaultUnavailableError(MuninnError):
    """The vault's root is missing, unreadable, suddenly empty or another vault's."""


class LedgerUnavailableError(MuninnError):
    """The ledger cannot be read or cannot commit. Writes stop; reads go on."""


class LedgerInDoubtError(LedgerUnavailableError):
    """A commit failed while it was made durable: whether it was kept shows only when the ledger is opened again."""


class IndexBrokenError(MuninnError):
    """The index cannot answer. Nothing is lost: it is made again from the vault."""


class SettingsError(MuninnError):
    """A flag, an environment variable or a file of settings is wrong; the text says which and what is expected."""


def reason(error: OSError) -> str:
    """What the system says of an error, without the path that the error may name.

    >>> reason(PermissionError(13, "Permission denied", "/home/somebody"))
    'Permission denied'
    """
    return os.strerror(error.errno) if error.errno else "I/O error"
