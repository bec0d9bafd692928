"""Times as a person writes them on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from muninn.model.errors import SettingsError

_AGO: Final = re.compile(r"(\d+)(m|h|d)\Z")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def now() -> str:
    """This moment, as rows of the ledger tell it."""
    return _shown(datetime.now(UTC))


def moment(text: str, flag: str) -> str:
    """RFC 3339, a date, or ``30m``, ``2h``, ``3d`` ago, as rows of the ledger tell it (RFC 3339 in UTC).

    Raises SettingsError, which names the flag, for anything else.

    >>> moment("2026-05-04", "--since")
    '2026-05-04T00:00:00.000Z'
    """
    ago = _AGO.match(text)
    try:
        if ago:
            return _shown(datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
        found = datetime.fromisoformat(text)
        return _shown(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise SettingsError(f"{flag} {text!r} is no time: RFC 3339, a date, or 30m, 2h, 3d") from None


def _shown(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
