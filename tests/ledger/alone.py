"""One plan kept and ended by itself, as a write is that finds nobody in the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ledger import Ending, Entry, Ledger, Opening, Terms
from ledger.plans import Ended
from muninn.model.change import Change
from muninn.model.content import ContentHash, NotePath


def open_entry(book: Ledger, terms: Terms, changes: Sequence[Change], contents: Mapping[ContentHash, bytes]) -> Entry:
    """Keep one plan."""
    return book.open_together([Opening(terms, changes, contents)])[0]


def settle(
    book: Ledger,
    entry: Entry,
    state: Ended,
    landed: Sequence[NotePath],
    *,
    at_start: bool = False,
    found: Mapping[ContentHash, bytes] | None = None,
) -> str | None:
    """End one plan; the id of its event, None where nothing landed."""
    return book.settle_together([Ending(entry, state, landed, at_start, found or {})])[0]
