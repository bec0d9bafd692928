"""Notes whose text may be nearly that of another one, found by its rarest words. A hint: the asker compares.

A text that is nearly the same holds the same rare words, so a few of them are enough, and they cost little however
large the vault is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import apsw

from muninn.model.content import NotePath

from .fields import RETIRED, WEIGHTS
from .words import Lexicon, phrase

_READ: Final = 2_000
"""Characters of the text whose words are looked at."""
_TERMS: Final = 8
_POSTINGS: Final = 2_000
"""Of all terms together; the rarest one may have so many alone, or the text says nothing of its own."""
_ROWS: Final = 50

_BEST: Final = (
    f"SELECT rowid AS row, bm25(terms, {', '.join(map(str, WEIGHTS))}) AS score FROM terms"
    f" WHERE terms MATCH ? AND NOT rowid & {RETIRED} ORDER BY score LIMIT {_ROWS}"
)


def alike(
    connection: apsw.Connection, lexicon: Lexicon, text: str, sees: Callable[[str], bool], want: int
) -> list[NotePath]:
    """Up to ``want`` notes that ``sees`` lets through and that hold most of the text's rarest words, likeliest first.

    Retired notes are left out.
    """
    terms = _rarest(connection, list(dict.fromkeys(lexicon.column(text[:_READ]).split())))
    if not terms:
        return []
    expression = " OR ".join(map(phrase, terms))
    sql = f"SELECT docs.path FROM ({_BEST}) JOIN docs ON docs.id = row ORDER BY score, docs.path"
    paths = (NotePath(path) for (path,) in connection.execute(sql, (expression,)))
    return list(islice((path for path in paths if sees(path)), want))


def _rarest(connection: apsw.Connection, terms: list[str]) -> list[str]:
    marks = ",".join("?" * len(terms))
    counts: list[Any] = connection.execute(f"SELECT notes, term FROM words WHERE term IN ({marks})", terms).fetchall()
    chosen: list[str] = []
    spent = 0
    for notes, term in sorted(counts)[:_TERMS]:
        spent += notes
        if spent > _POSTINGS:
            break
        chosen.append(term)
    return chosen
