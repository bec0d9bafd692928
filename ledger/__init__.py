"""The permanent record of what happened to the vault: events, kept bytes, plans and their ends.

Nothing is changed or deleted but what the operator purges; every row is chained to the one before it by its hash.
"""

from .records import Entry, Event, PlanState, Terms
from .store import Ledger
from .verify import Verdict, first_fault, verify

__all__ = ["Entry", "Event", "Ledger", "PlanState", "Terms", "Verdict", "first_fault", "verify"]
