"""Times as a person writes them on the command line."""

from __future__ import annotations

from muninn.model import moments
from muninn.model.errors import SettingsError
from muninn.model.moments import now

__all__ = ["moment", "now"]


def moment(text: str, flag: str) -> str:
    """RFC 3339, a date, or ``30m``, ``2h``, ``3d`` ago, as rows of the ledger tell it (RFC 3339 in UTC).

    Raises SettingsError, which names the flag, for anything else.

    >>> moment("2026-05-04", "--since")
    '2026-05-04T00:00:00.000Z'
    """
    found = moments.moment(text)
    if found is None:
        raise SettingsError(f"{flag} {text!r} is no time: RFC 3339, a date, or 30m, 2h, 3d")
    return found
