"""The one way down for a write, room by room.

``seeing`` takes one look, ``planning`` makes a plan of it and touches nothing (with ``archiving``, ``editing`` and
``pages``), ``committing`` keeps the plan, ``playing`` puts it into the vault and settles it. What the rest of the house
calls stands here.
"""

from .committing import Outcome, Replayed, commit, judge, recover, recover_all

__all__ = ["Outcome", "Replayed", "commit", "judge", "recover", "recover_all"]
