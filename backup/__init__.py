"""Proven backups: vault and ledger sealed, pushed to a private git repository, fetched back, restored and compared.

Nothing here changes the vault or the ledger, and nothing ever flows back into them.
"""

from .keeping import Policy
from .looking import Restored, Verified, key_text, known_head, restore, status, verify
from .places import Places, read_state
from .running import Ran, Wish, noted, run
from .setting_up import SetUp, hidden, set_up

__all__ = [
    "Places",
    "Policy",
    "Ran",
    "Restored",
    "SetUp",
    "Verified",
    "Wish",
    "hidden",
    "key_text",
    "known_head",
    "noted",
    "read_state",
    "restore",
    "run",
    "set_up",
    "status",
    "verify",
]
