"""Days as people write them: in names of files, in frontmatter, in titles of journals. Pure."""

from __future__ import annotations

import datetime
import re
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_. ]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_YEAR_FIRST = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/._](\d{1,2})[-/._](\d{1,2})(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)(?!\d)")
_MONTH_FIRST = re.compile(r"(?<![a-z])([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?,? ((?:19|20)\d\d)(?!\d)")
_DAY_MONTH = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|\.)? ([a-z]{3})[a-z]*\.?,? ((?:19|20)\d\d)(?!\d)")


def in_name(stem: str) -> str | None:
    """The day that a file's name holds, ``YYYY-MM-DD``; None where it holds none.

    >>> in_name("2020_09_20"), in_name("20210315 retro"), in_name("plan-2021")
    ('2020-09-20', '2021-03-15', None)
    """
    for found in _NAMED.finditer(stem):
        day = _real(found[1], found[3], found[4])
        if day is not None:
            return day
    return None


def day_in(text: str) -> str | None:
    """The first day in a text, ``YYYY-MM-DD``: year first, day first with points, or a month by its English name.

    >>> day_in("2021/3/5 10:00"), day_in("5.3.2021"), day_in("Sep 20th, 2020"), day_in("5 March 2021"), day_in("soon")
    ('2021-03-05', '2021-03-05', '2020-09-20', '2021-03-05', None)
    """
    lowered = text.casefold()[:200]
    for pattern, order in ((_YEAR_FIRST, "ymd"), (_NAMED, "y-md"), (_DAY_FIRST, "dmy"), (_MONTH_FIRST, "mdy"),
                           (_DAY_MONTH, "dmy")):  # fmt: skip
        found = pattern.search(lowered)
        if found is None:
            continue
        parts = {name: found[number] for number, name in enumerate(order, 1)}
        month = parts["m"]
        if not month.isdigit():
            if month not in _MONTHS:
                continue
            month = str(_MONTHS.index(month) + 1)
        day = _real(parts["y"], month, parts["d"])
        if day is not None:
            return day
    return None


def _real(year: str, month: str, day: str) -> str | None:
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
