"""From text to the terms the index knows: folded, stemmed, cut to five letters, whole and in parts.

A word has two forms, its stem and its first five letters behind ``~``; together they find what either misses. Words
under five letters have no second form: their first five letters are the word itself. The index holds the first form;
the second is asked of it as the beginning of terms, which halves the index and the time to build it. Runs of Chinese,
Japanese, Korean and the like become pairs of neighbouring characters. What looks like an identifier is kept whole as
well.

Every piece of text between blanks is worked out once and remembered; a note is then a matter of look-ups.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import languages
from .folding import fold as fold
from .stems import stemmer, stop_words

LONGEST: Final = 64
"""Letters of a word that count; what is longer is cut."""
PREFIX: Final = 5
ALL: Final = "~~"
"""A term that stands in every note, to see whether the index finds what it holds."""
_REMEMBERED: Final = 131_072

# Marks that belong to the letter before them and that Python does not count among the word characters.
MARKS: Final = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0903\u093a-\u094f\u0951-\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0acd\u0b01-\u0b4d\u0b82-\u0bcd\u0c00-\u0c4d\u0c81-\u0ccd\u0d00-\u0d4d\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a"  # noqa: E501
_RAW_WORD: Final = re.compile(rf"[\w{MARKS}]+")
_ASCII_WORD: Final = re.compile(r"\w+", re.ASCII)
_IDENTIFIER: Final = re.compile(r"(?<!\w)(?:\w++(?:[-.:@]\w++)++|[A-Za-z](?:\+\+|#)(?![\w+#]))")
_JOINER: Final = re.compile(r"[-.:@](?<=\w[-.:@])(?=\w)|[+#](?<=\w[+#])")
_TAIL: Final = re.compile(r"\w+\Z")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3100-\u318f\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
_HUMP: Final = re.compile(r"[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])")
_ASCII_GAPS: Final = bytes(code if chr(code).isalnum() or chr(code) in "_-.:@+#" else 32 for code in range(256))
_ASCII_NO_WORDS: Final = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
_COMMON_GAPS: Final = ",;!?()[]{}<>\"'`*|/=\u2018\u2019\u201c\u201d\u2013\u2014\u2026"
_ASIDE: Final = "\0"
"""Stands before and behind the terms of a chunk that are no words of the text; no term holds it."""


def phrase(terms: str) -> str:
    """Terms with blanks between them as FTS5 takes a phrase: in quotes, so that nothing in them is an operator.

    >>> phrase('say "or" near')
    '"say ""or"" near"'
    """
    return '"' + terms.replace('"', '""') + '"'


def raw_words(text: str) -> list[str]:
    """The words of a text as they stand there."""
    if text.isascii():
        return text.encode("ascii").translate(_ASCII_NO_WORDS).decode("ascii").split()  # a quarter of the time
    found: list[str] = _RAW_WORD.findall(text)
    return found


def pattern(text: str) -> re.Pattern[str]:
    """What a word is in a text; a simpler and quicker rule serves where all is ASCII."""
    return _ASCII_WORD if text.isascii() else _RAW_WORD


@dataclass(frozen=True, slots=True)
class Forms:
    """The terms of one raw word, ready to be joined: ``main`` in order, ``short`` the five-letter forms, ``more`` the
    rest (single characters, parts of a name in camel case). ``common`` is set for stop words."""

    main: str
    short: str
    more: str
    common: bool = False


class Tongue(dict[str, Forms]):
    """Looks up the forms of raw words in one language, and remembers the last ones it worked out."""

    def __init__(self, language: str = "english") -> None:
        super().__init__()
        self.language = language
        self._stop = stop_words(language)
        self._stem = stemmer(language)
        self._is_turkish = language == "turkish"
        self._told = _Chunks(self._tell)
        self._common = _Chunks(self._tell_common)

    def __missing__(self, raw: str) -> Forms:
        forms = self._work_out(raw)
        if len(raw) <= LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[raw] = forms
        return forms

    def forget(self) -> None:
        """Give back what was remembered; for after a whole build."""
        for known in (self, self._told, self._common):
            known.clear()

    def stem(self, word: str) -> str:
        """The stem of a word, folded. Words with digits, and very short ones, are their own stem.

        The stemmer sees the word with its accents, for its rules are written for them: of ``comió`` it takes the
        ending, of ``comio`` it does not.
        """
        folded = fold(word)
        if len(folded) < 3 or not folded.isalpha():
            return folded
        return fold(self._stem(self._lowered(word, folded))) or folded

    def _lowered(self, word: str, folded: str) -> str:
        if word.isascii() and not self._is_turkish:
            return folded
        if self._is_turkish:
            word = word.replace("I", "ı").replace("İ", "i")
        return unicodedata.normalize("NFC", word).lower()

    def column(self, text: str, with_common: bool = False) -> str:
        """The terms of a text, as the index is fed with them. Stop words are left out but where they are asked for.

        Of a word's two forms only the first is there: the second is asked for by the beginning of terms, and stands
        here only where the first does not begin with it.
        """
        chunks = _chunks(text)
        terms = " ".join(map(self._told.__getitem__, chunks))
        if _ASIDE in terms:
            # Names and parts of names stand behind all words, so that words stay neighbours.
            pieces = terms.split(_ASIDE)
            terms = " ".join(("".join(pieces[::2]), *pieces[1::2]))
        if with_common:
            terms = " ".join((terms, *filter(None, map(self._common.__getitem__, chunks))))
        return terms

    def _tell(self, chunk: str) -> str:
        if _is_plain(chunk):
            return self._tell_word(chunk.lower(), chunk)
        main: list[str] = []
        extra: list[str] = []
        for raw in raw_words(chunk):
            forms = self[raw]
            if forms.common:
                continue
            main.append(forms.main)
            extra += forms.more.split()
            for short in forms.short.split():
                if not _begins(forms.main, short[1:]):
                    extra.append(short[1:])
        extra += identifiers(chunk)
        return " ".join(main) + (f"{_ASIDE}{' '.join(extra)}{_ASIDE}" if extra else "")

    def _tell_word(self, folded: str, raw: str) -> str:
        """The same for one plain word, which most chunks are."""
        if folded in self._stop:
            return ""
        stem = self.stem(raw[:LONGEST])
        if len(folded) < PREFIX or stem.startswith(folded[:PREFIX]):
            return stem
        return f"{stem}{_ASIDE}{folded[:PREFIX]}{_ASIDE}"

    def _tell_common(self, chunk: str) -> str:
        if _is_plain(chunk):
            return self.stem(chunk) if chunk.lower() in self._stop else ""
        return " ".join(forms.main for raw in raw_words(chunk) if (forms := self[raw]).common)

    def _work_out(self, raw: str) -> Forms:
        if _is_plain(raw):
            folded = raw[:LONGEST].lower()
            common = raw.lower() in self._stop
            second = f"~{folded[:PREFIX]}" if len(folded) >= PREFIX and not common else ""
            return Forms(self.stem(raw[:LONGEST]), second, "", common)
        main: list[str] = []
        short: list[str] = []
        more: list[str] = []
        for part in raw.split("_"):
            if part.isascii() or not _UNSPACED.search(part):
                self._take(part, main, short)
            else:
                self._take_unspaced(part, main, short, more)
        if "_" in raw and len(main) > 1:
            more.append(fold(raw[:LONGEST]))
        elif len(main) == 1 and raw.isascii() and not (raw.islower() or raw.isupper()):
            humps = [hump for hump in _HUMP.sub(lambda found: found[0] + " ", raw).split() if hump]
            if len(humps) > 1:
                more += [self.stem(hump) for hump in humps]
        common = len(main) == 1 and not more and fold(raw) in self._stop
        return Forms(" ".join(main), "" if common else " ".join(short), " ".join(more), common)

    def _take(self, part: str, main: list[str], short: list[str]) -> None:
        word = fold(part[:LONGEST])
        if not word:
            return
        main.append(self.stem(part[:LONGEST]))
        if len(word) >= PREFIX:
            short.append("~" + word[:PREFIX])

    def _take_unspaced(self, part: str, main: list[str], short: list[str], more: list[str]) -> None:
        place = 0
        for run in _UNSPACED.finditer(part):
            self._take(part[place : run.start()], main, short)
            place = run.end()
            chars = fold(run[0])
            if len(chars) == 1:
                main.append(chars)
            else:
                main += [chars[n : n + 2] for n in range(len(chars) - 1)]
                more += chars
        self._take(part[place:], main, short)


class Lexicon:
    """The tongues of a vault: one where its language is set, else one for each language that is met."""

    def __init__(self, language: str = languages.AUTO) -> None:
        self._only = None if language == languages.AUTO else language
        self._tongues: dict[str, Tongue] = {}

    def tongue(self, language: str | None = None) -> Tongue:
        """The tongue of a language; where one is set for the vault, always that one."""
        name = self._only or language or languages.FALLBACK
        found = self._tongues.get(name)
        if found is None:
            found = self._tongues[name] = Tongue(name)
        return found

    def of_note(self, text: str, body: int) -> Tongue:
        """The tongue of a note whose body begins at ``body``."""
        return self.tongue(None if self._only else languages.of_note(text, body))

    def of_question(self, text: str) -> tuple[Tongue, ...]:
        """The tongues that a question may be in, likeliest first; at least one."""
        if self._only:
            return (self.tongue(),)
        return tuple(map(self.tongue, languages.of_question(text))) or (self.tongue(),)

    def column(self, text: str) -> str:
        """The terms of a text that stands alone, in its own language."""
        return self.of_note(text, 0).column(text)

    @property
    def is_set(self) -> bool:
        """Whether the vault's language is set, and none is looked for."""
        return self._only is not None

    def forget(self) -> None:
        """Give back what was remembered; for after a whole build."""
        for tongue in list(self._tongues.values()):
            tongue.forget()


class _Chunks(dict[str, str]):
    """The terms of each piece of text between blanks: most are one word, and most come again."""

    def __init__(self, work_out: Callable[[str], str]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, chunk: str) -> str:
        terms = self._work_out(chunk)
        if len(chunk) <= LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[chunk] = terms
        return terms


def _chunks(text: str) -> list[str]:
    """A text cut at blanks and at most of what stands between words; what may join the parts of a name is kept."""
    if text.isascii():
        # Ten times as quick as for text, and leaves no end of a line to look for.
        text = text.encode("ascii").translate(_ASCII_GAPS).decode("ascii").replace(". ", " ")
    else:
        for mark in _COMMON_GAPS:
            text = text.replace(mark, " ")
        text = text.replace(". ", " ").replace(".\n", " ")
    return text.replace(": ", " ").split()


def _is_plain(chunk: str) -> bool:
    """Whether a piece of text is one word of plain letters, as most are: small ones behind any first."""
    return chunk.isascii() and chunk.isalpha() and chunk[1:].islower()


def _begins(terms: str, short: str) -> bool:
    """Whether one of some terms begins with this."""
    return terms.startswith(short) or f" {short}" in terms


def identifiers(text: str) -> list[str]:
    """Names that are more than one word and hold a digit, a dot or the like: versions, ticket numbers, ``C++``.

    >>> identifiers("JWT-123 runs v2.1 of node.js, well-known C++")
    ['jwt-123', 'v2.1', 'node.js', 'c++']
    """
    found: list[str] = []
    end = 0
    for joiner in _JOINER.finditer(text):
        if joiner.start() < end:
            continue
        head = _TAIL.search(text, max(joiner.start() - LONGEST, end), joiner.start())
        name = _IDENTIFIER.match(text, head.start()) if head is not None else None
        if name is None:
            continue
        end = name.end()
        if len(name[0]) <= LONGEST and not name[0].replace("-", "").isalpha():
            found.append(fold(name[0]))
    return found


def is_unspaced(folded: str) -> bool:
    """Whether a word is written in a script that puts no spaces between words."""
    return _UNSPACED.search(folded) is not None
