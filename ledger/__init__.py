"""The permanent record of what happened to the vault: events, kept bytes, plans and their ends.

Nothing is changed or deleted but what the operator purges; every row is chained to the one before it by its hash.
"""

from .lately import Deed
from .plans import Ending, Opening
from .records import Entry, Event, PlanState, Terms
from .store import Ledger
from .verify import Verdict, first_fault, verify

__all__ = [
    "Deed",
    "Ending",
    "Entry",
    "Event",
    "Ledger",
    "Opening",
    "PlanState",
    "Terms",
    "Verdict",
    "first_fault",
    "verify",
]
