"""The frame in which words of a note travel: a line of JSON for each note, between two marks that no note can write.

Whoever can write a note can try to speak to every agent that is shown it. So a quotation carries no control, direction
or invisible character, is short, and cannot end its own line, its own string or the frame: ``<`` and ``>`` never stand
in it, and the marks carry a number that was drawn for this one answer.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_SELECTORS: Final = (
    range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810),
    range(0x034F, 0x0350), range(0x115F, 0x1161), range(0x17B4, 0x17B6), range(0x2800, 0x2801), range(0x3164, 0x3165),
    range(0xFFA0, 0xFFA1),
)  # fmt: skip
"""Variation selectors, joiners, fillers and blanks that are letters or marks by their category: they are seen by no
reader, and a text can be hidden in a row of them. All but the blank of Braille are Default_Ignorable_Code_Point
(Unicode, DerivedCoreProperties)."""

_LONGEST_PATH: Final = 200


def clean(text: str, most: int) -> str:
    """A text on one line, without anything that a reader would not see, at most ``most`` characters.

    >>> clean("one\\n\\x1b[31mtwo\\u202e", 80)
    'one [31mtwo'
    """
    seen = "".join(one if _is_seen(one) else " " for one in text[: 4 * most])
    folded = " ".join(seen.split())
    return folded if len(folded) <= most else folded[: most - 1].rstrip() + "…"


def is_plain(path: str) -> bool:
    """Whether a path may stand in the frame as it is: changed or cut it would name nothing."""
    return len(path) <= _LONGEST_PATH and all(map(_is_seen, path))


def _is_seen(one: str) -> bool:
    return unicodedata.category(one) not in _HIDDEN and not any(ord(one) in hidden for hidden in _SELECTORS)


def framed(mark: str, rows: Iterable[Mapping[str, object]], most_bytes: int) -> str:
    """As many rows as fit into ``most_bytes``, a line of JSON each, between the marks; ``""`` where there is none."""
    number = os.urandom(4).hex()
    opened, closed = f"<{mark}-{number}>", f"</{mark}-{number}>"
    lines, left = [], most_bytes - len(opened) - len(closed) - 2
    for row in rows:
        line = json.dumps(row, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join([opened, *lines, closed]) if lines else ""
