"""The only hand on the files of the vault: look, walk, apply, and the locks.

Every path is opened component by component, relative to a folder's descriptor and without following
links, so that no link below the root is read or written through, not even one swapped in after a check.
"""

from .apply import Applied, Drifted, Placed
from .lock import GatewayLock, Lease, is_served, read_lease, write_lock
from .root import MARK, Vault, adopt, mark_of
from .temps import Aside

__all__ = [
    "MARK",
    "Applied",
    "Aside",
    "Drifted",
    "GatewayLock",
    "Lease",
    "Placed",
    "Vault",
    "adopt",
    "is_served",
    "mark_of",
    "read_lease",
    "write_lock",
]
