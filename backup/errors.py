"""What can break in a backup. All of it ends the command as not ok, with a text that says what to do next.

MuninnError
└── BackupError             the run, the check or the restore is not ok
    ├── KeyFaultError       the key is not there, wrong, short, or can be read by others
    ├── DamagedError        something sealed is not what was sealed: changed, cut, moved, of another key
    └── RemoteError         git or the remote repository did not do what was asked
"""

from __future__ import annotations

from muninn.model.errors import MuninnError


class BackupError(MuninnError):
    """The run, the check or the restore is not ok."""


class KeyFaultError(BackupError):
    """The key is not there, wrong, short, or can be read by others."""


class DamagedError(BackupError):
    """Something sealed is not what was sealed."""


class RemoteError(BackupError):
    """Git or the remote repository did not do what was asked."""
