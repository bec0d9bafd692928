"""Words without case and accents, so that one that was typed without them is found as well."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_FOLDED_AWAY: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u0652]")
_SINGLE_LETTERS: Final = str.maketrans("ıİIøØłŁđĐ", "iiioolldd")


def fold(word: str) -> str:
    """A word without case and accents; the dotted and the dotless i of Turkish fall together.

    >>> fold("Ünïcode"), fold("ISPARTA") == fold("ısparta")
    ('unicode', True)
    """
    if word.isascii():
        return word.lower()
    bare = _FOLDED_AWAY.sub("", unicodedata.normalize("NFKD", word.translate(_SINGLE_LETTERS)))
    return unicodedata.normalize("NFC", bare.casefold())
