"""The index: derived from the vault, disposable, and never more than a hint about where to look.

Every hit is read again from the vault before it is shown; nothing here is a source of text.
"""

from .asking import Candidate, Candidates, Filters
from .catalogue import Index, IndexState
from .keeping import keep_fresh, watch
from .scan import Sweep
from .settings import IndexSettings, Look, Walk

__all__ = [
    "Candidate",
    "Candidates",
    "Filters",
    "Index",
    "IndexSettings",
    "IndexState",
    "Look",
    "Sweep",
    "Walk",
    "keep_fresh",
    "watch",
]
