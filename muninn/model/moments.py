"""Times as a person writes them, and as everything here tells them: RFC 3339 in UTC, ended by ``Z``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_AGO: Final = re.compile(r"([0-9]+)(m|h|d)\Z")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def now() -> str:
    """This moment, with milliseconds, as rows of the ledger tell it."""
    return rfc3339(datetime.now(UTC))


def rfc3339(time: datetime, timespec: str = "milliseconds") -> str:
    """A time that knows its zone, in UTC, as far as ``timespec`` goes (a name that ``datetime.isoformat`` takes).

    >>> rfc3339(datetime.fromisoformat("2026-05-04T12:00:00+02:00"), "seconds")
    '2026-05-04T10:00:00Z'
    """
    return time.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def moment(text: str) -> str | None:
    """RFC 3339, a date, or ``30m``, ``2h``, ``3d`` ago, as rows of the ledger tell it (RFC 3339 in UTC); None for
    anything else. A time without a zone is one of UTC.

    >>> moment("2026-05-04"), moment("2026-05-04T12:00:00+02:00"), moment("soon")
    ('2026-05-04T00:00:00.000Z', '2026-05-04T10:00:00.000Z', None)
    """
    ago = _AGO.match(text)
    try:
        if ago:
            return rfc3339(datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
        found = datetime.fromisoformat(text)
        return rfc3339(found if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
