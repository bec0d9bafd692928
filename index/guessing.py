"""What a word of a question may stand for where a shelf does not know it: a typing error, or a compound.

A word that the shelf does not hold, or in one note only, brings in up to three of its words at edit distance one. In
languages that write compounds as one word, an unknown compound is looked for by its two parts, and an unknown word as
the end of compounds.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol

import apsw

from .folding import fold
from .stems import stem_all
from .words import Tongue

_MOST_WORDS: Final = 8
"""Of one question that are looked at."""
_GUESSES: Final = 3
_SHORTEST: Final = 4
_COMPOUNDING: Final = frozenset({"danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish"})
_LINKS: Final = ("", "s", "es", "n", "en", "er", "e")
"""What stands between the parts of a compound in these languages."""
_SHORTEST_PART: Final = 4
_MOST_LOOKS: Final = 2
"""Words of one question that the whole list of words is read for."""
_MOST_WEIGHED: Final = 40
"""Terms that may stand in for one word and whose notes are looked at, for a client that does not see all."""
_MOST_ROWS: Final = 8_000
"""Notes that are looked at for one question of such a client."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Terms of the shelf that a word may stand for; ``mended`` where the word may be a typing error for them."""

    terms: tuple[str, ...]
    mended: bool


class Sight:
    """What of a shelf a client knows: terms count for it by the notes that it sees.

    Or a word that stands in hidden notes alone would be left unmended, and so be told from one that stands in none.
    """

    def __init__(self, connection: apsw.Connection, sees: Callable[[str], bool] | None) -> None:
        """``sees`` says of a path whether the client sees it; None where it sees all."""
        self._connection, self._sees = connection, sees
        self._left = _MOST_ROWS

    def holding(self, term: str, count: int) -> int:
        """In how many notes that the client sees a term stands, of ``count`` in all; above one it may be any number."""
        if self._sees is None or not count or self._left <= 0:
            return count
        sql = (
            "SELECT docs.path FROM (SELECT rowid AS row FROM terms WHERE terms MATCH ? LIMIT ?)"
            " JOIN docs ON docs.id = row"
        )
        quoted = '"' + term.replace('"', '""') + '"'
        seen = 0
        for (path,) in self._connection.execute(sql, (quoted, self._left)):
            self._left -= 1
            seen += self._sees(path)
            if seen > 1:
                break
        return seen

    def known(self, rows: Iterable[Any], most: int) -> list[Any]:
        """The first ``most`` terms with their counts that the client can know of."""
        weighed = rows if self._sees is None else islice(rows, _MOST_WEIGHED)
        return list(islice((row for row in weighed if self.holding(*row)), most))


class Asked(Protocol):
    """A word of a question."""

    @property
    def folded(self) -> str: ...
    @property
    def stems(self) -> tuple[str, ...]:
        """The terms that stand for the whole word; none where it has several parts."""


def guess(
    words: Sequence[Asked],
    tongues: Sequence[Tongue],
    connection: apsw.Connection,
    counts: dict[str, int],
    sees: Callable[[str], bool] | None = None,
) -> dict[int, Guess]:
    """For each such word, by its number, the shelf's terms that it may stand for. Adds their counts.

    ``sees`` says which notes count, None that all do.
    """
    found: dict[int, Guess] = {}
    sight = Sight(connection, sees)
    # The question's language comes first, and the shelf's commonest next.
    compounds = [tongue for tongue in tongues[:2] if tongue.language in _COMPOUNDING]
    looks = _MOST_LOOKS
    for number, word in enumerate(words):
        if len(found) == _MOST_WORDS:
            break
        if len(word.folded) < _SHORTEST or not word.folded.isalpha():
            continue
        holding = max((sight.holding(stem, counts.get(stem, 0)) for stem in word.stems), default=2)
        if holding > 1:
            continue
        rows = _near(word, tongues[0], connection, sight)
        mended = bool(rows)
        if not rows and not holding and compounds:
            rows = _parts(word.folded, compounds[0], connection, sight)
            if not rows and looks:
                looks -= 1
                rows = _endings(word.stems, connection, sight)
        if rows:
            counts.update(rows)
            found[number] = Guess(tuple(term for term, _ in rows), mended)
    return found


def _near(word: Asked, tongue: Tongue, connection: apsw.Connection, sight: Sight) -> list[Any]:
    """The shelf's commonest words at edit distance one. A typing error may hide the ending from the stemmer, so the
    word is mended before it is stemmed as well as after."""
    mended = neighbours(word.folded)
    near = neighbours(word.stems[0]) | {fold(stem) for stem in stem_all(tongue.language, list(mended))}
    return sight.known(_known(near - set(word.stems), connection), _GUESSES)


def _known(terms: Iterable[str], connection: apsw.Connection) -> list[Any]:
    sql = "SELECT term, notes FROM words WHERE term IN (SELECT value FROM json_each(?)) ORDER BY notes DESC, term"
    return connection.execute(sql, (json.dumps(sorted(terms)),)).fetchall()


def _parts(folded: str, tongue: Tongue, connection: apsw.Connection, sight: Sight) -> list[Any]:
    """The two words that a compound is made of, where the shelf knows both: of several ways the most even one."""
    ways: list[tuple[str, str]] = []
    for cut in range(_SHORTEST_PART, len(folded) - _SHORTEST_PART + 1):
        tail = tongue.stem(folded[cut:])
        heads = (folded[: cut - len(link)] for link in _LINKS if folded[:cut].endswith(link))
        ways += [(tongue.stem(head), tail) for head in heads if len(head) >= _SHORTEST_PART]
    rows = _known({part for way in ways for part in way}, connection)
    counts = dict(sight.known(rows, len(rows)))
    known = [way for way in ways if way[0] in counts and way[1] in counts]
    best = max(known, key=lambda way: min(map(len, way)), default=())
    return [(part, counts[part]) for part in best]


def _endings(stems: tuple[str, ...], connection: apsw.Connection, sight: Sight) -> list[Any]:
    """Compounds that end in the word. Reads the whole list of words, so only where nothing else was found."""
    if len(stems[0]) <= _SHORTEST_PART:
        return []
    sql = "SELECT term, notes FROM words WHERE substr(term, -length(?1)) = ?1 ORDER BY notes DESC, term LIMIT ?2"
    return sight.known(connection.execute(sql, (stems[0], _MOST_WEIGHED)).fetchall(), _GUESSES)


def neighbours(word: str) -> set[str]:
    """Every word one insertion, deletion, replacement or swap of neighbours away."""
    letters = string.ascii_lowercase if word.isascii() else string.ascii_lowercase + "".join(sorted(set(word)))
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    near = {head + tail[1:] for head, tail in cuts if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1}
    near |= {head + letter + tail[1:] for head, tail in cuts if tail for letter in letters}
    near |= {head + letter + tail for head, tail in cuts for letter in letters}
    return near - {word}
