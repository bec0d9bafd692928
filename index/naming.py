"""Notes that a short question names: by title, by file name, by an alias. They are looked up, not ranked.

Compared word by word without case and accents, so ``surge threshold`` names ``Surge threshold`` and
``surge-threshold.md`` alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import apsw

from muninn.model.content import same_name

from .folding import fold
from .question import Word
from .words import phrase, raw_words

MOST_WORDS: Final = 4
"""A longer question is no name."""
_MOST_ROWS: Final = 200
_MOST_WAYS: Final = 8
_ROOM: Final = 24
"""Characters that a title may be longer than the words of the question together."""


def named(connection: apsw.Connection, typed: Sequence[str], words: Sequence[Word]) -> list[str]:
    """The paths of the notes that these words name; ``words`` are those of them that count, with the shelf's stems."""
    if not 0 < len(typed) <= MOST_WORDS:
        return []
    keys = list(dict.fromkeys(joint.join(map(same_name, typed)) for joint in (" ", "-", "_", "")))
    marks = ",".join("?" * len(keys))
    sql = (
        f"SELECT path FROM docs WHERE name IN ({marks}) UNION"
        f" SELECT path FROM aliases JOIN docs ON docs.id = source WHERE aliases.name IN ({marks})"
    )
    found = [path for (path,) in connection.execute(sql, (*keys, *keys))]
    return list(dict.fromkeys([*sorted(found), *_titled(connection, typed, words)]))


def _titled(connection: apsw.Connection, typed: Sequence[str], words: Sequence[Word]) -> list[str]:
    ways = itertools.islice(itertools.product(*(word.stems or (" ".join(word.main),) for word in words)), _MOST_WAYS)
    begins = " OR ".join("^ " + phrase(" ".join(way)) for way in ways)
    sql = (
        "SELECT path, title FROM (SELECT rowid AS row FROM terms WHERE terms MATCH ?) JOIN docs ON docs.id = row"
        f" WHERE length(title) <= ? LIMIT {_MOST_ROWS}"
    )
    room = sum(map(len, typed)) + _ROOM
    wanted = [fold(word) for word in typed]
    rows = connection.execute(sql, (f"title : ({begins})", room))
    return sorted(path for path, title in rows if [fold(word) for word in raw_words(title)] == wanted)
