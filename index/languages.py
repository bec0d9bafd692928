"""Which language a text is in: a vote of its stop words and of the letters that few languages have.

Each stop word gives one vote, shared among the languages that have it; a letter that belongs to one language gives a
whole one. A text that gives no clear answer is of no known language. A note may say its own in the frontmatter, under
``lang``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Final

from .folding import fold
from .stems import languages, stop_words

AUTO: Final = "auto"
FALLBACK: Final = "english"
"""For a text that does not show its language. It is the commonest one, and its stemmer changes others' words least."""
MOST_AT_ONCE: Final = 4
"""Languages that a question is read in, beside its own."""

_SAMPLE: Final = 1_200
"""Characters at a text's beginning that are looked at: some 180 words, about half of them stop words."""
_GLANCE: Final = 400
"""Characters that are enough where the vote is very clear."""
_CLEAR: Final = 1.5
_LEAD: Final = 1.2
_CLOSE: Final = 1.5
_MOST_CLOSE: Final = 3
_LETTER_VOTES: Final = 3
_WORD: Final = re.compile(r"\w+")
_SAID: Final = re.compile(r"^lang(?:uage)?[ \t]*:[ \t]*[\"']?([^\W\d_]{2,20})", re.MULTILINE | re.IGNORECASE)
_NO_VOTE: Final = frozenset({"com"})
"""Stands in every text with addresses; single letters stand everywhere, too."""
_CODES: Final = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nb": "norwegian", "nl": "dutch", "nn": "norwegian", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_LETTERS: Final = {
    "ğ": "turkish", "ı": "turkish", "İ": "turkish", "ş": "turkish", "ñ": "spanish", "¿": "spanish", "¡": "spanish",
    "ß": "german", "ã": "portuguese", "õ": "portuguese", "ő": "hungarian", "ű": "hungarian", "ă": "romanian",
    "ț": "romanian", "ș": "romanian", "œ": "french", "ë": "dutch",
}  # fmt: skip
_RARE_LETTER: Final = re.compile(f"[{''.join(_LETTERS)}]")
_CYRILLIC: Final = re.compile("[\u0400-\u04ff]{3}")


def of_note(text: str, body: int) -> str | None:
    """The language of a note whose body begins at ``body``: as its frontmatter says, else by vote; None for unclear."""
    if body:
        said = _SAID.search(text, 0, body)
        if said is not None:
            name = said[1].casefold()
            name = _CODES.get(name[:2], name) if len(name) == 2 else name
            if name in languages():
                return name
    return of_text(text[body : body + _SAMPLE])


def of_text(text: str) -> str | None:
    """The language of a text by its first 1,200 characters, None where that is not clear.

    >>> of_text("the pressure of the boiler is too low and the tap is open")
    'english'
    >>> of_text("La presión de la caldera está demasiado baja y hay que abrir la llave")
    'spanish'
    """
    sample = text[:_SAMPLE]
    if sample.count(" the ") > 2:
        return "english"
    for piece in (sample[:_GLANCE], sample):
        votes = _votes(piece)
        if votes and _is_clear(votes, _CLEAR if piece is sample else 2 * _CLEAR):
            return votes[0][0]
    return None


def of_question(text: str) -> tuple[str, ...]:
    """The languages that a question may be in, likeliest first; more than one where the vote is close. Empty where it
    holds no word that tells."""
    votes = _votes(text)
    return tuple(language for language, count in votes if count * _CLOSE >= votes[0][1])[:_MOST_CLOSE]


def _is_clear(votes: list[tuple[str, float]], least: float) -> bool:
    most, second = votes[0][1], votes[1][1] if len(votes) > 1 else 0.0
    return most >= least and most >= second * _LEAD


def _votes(text: str) -> list[tuple[str, float]]:
    """Languages with the votes of a text, most first."""
    counts: dict[str, float] = {}
    ballot = _ballot()
    for word in _WORD.findall(text.lower()):
        shares = ballot.get(word if word.isascii() else fold(word))
        if shares is not None:
            for language in shares:
                counts[language] = counts.get(language, 0.0) + 1.0 / len(shares)
    if not text.isascii():
        _count_letters(text, counts)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0] != FALLBACK, item[0]))


def _count_letters(text: str, counts: dict[str, float]) -> None:
    for letter in _RARE_LETTER.findall(text)[: 4 * _LETTER_VOTES]:
        language = _LETTERS[letter]
        counts[language] = counts.get(language, 0.0) + 1.0
    if _CYRILLIC.search(text):
        counts["russian"] = counts.get("russian", 0.0) + _LETTER_VOTES


@functools.cache
def _ballot() -> dict[str, tuple[str, ...]]:
    """For each stop word the languages that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for language in languages():
        for word in stop_words(language) - _NO_VOTE:
            if len(word) > 1:
                found[word] = (*found.get(word, ()), language)
    return found


def marker(language: str) -> str:
    """The term that stands in every note of a language, so that the index can tell how many there are."""
    return f"~~{language}"


def markers() -> Iterable[tuple[str, str]]:
    """Every marker with its language."""
    return ((marker(language), language) for language in languages())
