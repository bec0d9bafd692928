"""A made-up vault, the same for the same number: what the measures are taken on.

Notes as people keep them: folders of some 150, a middle length of 1.3 KB, real function words between words of a Zipf
distribution, frontmatter that meets the contract, wikilinks, headings, lists, and 12 % daily logs.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SPOKEN: Final = """
    the of and to a in that is was for it with as on be at by this had not are but from or have an they which one
    you were all her she there would their we him been has when who will no more if out so up said what its about than
    into them can only other time new some could these two may first then do any like my now over such our man me even
    most made after also did many off before must well back through years where much your way down should because long
    each just those people how too good very make world still see own work here get between both being under never
"""
FUNCTION_WORDS: Final = tuple(_SPOKEN.split())
PLENTY: Final = 150
"""Notes in a folder."""
WRITES: Final = "bench-writes"
"""The folder of the notes that the measures change."""
LOG_SHARE: Final = 0.12
_MIDDLE_BYTES: Final = 1_300
_SPREAD: Final = 0.84
_VOCABULARY: Final = 24_000
_ONSETS: Final = (*"bcdfghklmnpstvwz", "br", "dr", "gl", "pr", "st", "tr")
_CORES: Final = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS: Final = ("", "", "n", "r", "l", "s", "t", "nd", "rk", "m")
_KINDS: Final = ("note", "decision", "meeting", "project", "reference", "runbook")
_STATUSES: Final = ("active", "active", "active", "draft", "done", "superseded")
_FIRST_DAY: Final = datetime.date(1994, 1, 1)


class Tongue:
    """A made-up vocabulary of Zipf frequencies, and sentences of it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = ["".join(parts) for parts in itertools.product(_ONSETS, _CORES, _ENDS)]
        made: dict[str, None] = {}
        while len(made) < _VOCABULARY:
            word = "".join(self.random.choices(syllables, k=self.random.choice((1, 2, 2, 3))))
            if word not in FUNCTION_WORDS and len(word) > 2:
                made[word] = None
        self.words = tuple(made)
        self._weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(made))))
        spoken = [1 / (rank + 1.5) for rank in range(len(FUNCTION_WORDS))]
        self._spoken = list(itertools.accumulate(spoken))

    def content(self, count: int) -> list[str]:
        """Words that mean something."""
        return self.random.choices(self.words, cum_weights=self._weights, k=count)

    def sentence(self) -> str:
        """Some 6 to 20 words, nearly half of them function words."""
        length = self.random.randint(6, 20)
        common = self.random.choices(FUNCTION_WORDS, cum_weights=self._spoken, k=length)
        telling = self.content(length)
        words = [telling[at] if self.random.random() < 0.55 else common[at] for at in range(length)]
        return " ".join(words).capitalize() + "."

    def phrase(self, least: int, most: int) -> str:
        """A few telling words, as a title or a heading."""
        return " ".join(self.content(self.random.randint(least, most))).capitalize()


def lay(root: Path, notes: int, seed: int = 7) -> None:
    """Fill a folder with ``notes`` notes, those of ``WRITES`` among them."""
    tongue = Tongue(seed)
    names: list[str] = []
    logs = round(notes * LOG_SHARE)
    for folder, path in itertools.chain(_note_places(tongue, notes - logs), _log_places(logs)):
        text = note(tongue, path.removesuffix(".md"), names, log=folder.startswith("journal"))
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / path).write_text(text, encoding="utf-8")
        names.append(path.removesuffix(".md"))


def note(tongue: Tongue, name: str, names: list[str], *, log: bool = False, title: str | None = None) -> str:
    """A note's text; it meets the contract."""
    pick = tongue.random
    day = _FIRST_DAY + datetime.timedelta(days=pick.randint(9_000, 11_900))
    tags = sorted({*tongue.words[: 40 : pick.randint(9, 14)][:2], *tongue.content(2)})[:5]
    head = [
        "---",
        f"title: {title or (name if log else tongue.phrase(2, 6))}",
        f"type: {'daily' if log else pick.choice(_KINDS)}",
        f"status: {pick.choice(_STATUSES)}",
        f"tags: [{', '.join(tags)}]",
        f"date: {name if log else day.isoformat()}",
        *([f"owner: {tongue.phrase(1, 2)}"] if pick.random() < 0.5 else []),
        "---",
        "",
    ]
    wanted = min(_MIDDLE_BYTES * math.exp(pick.gauss(0, _SPREAD)), 60_000)
    lines, size = head, sum(map(len, head))
    while size < wanted:
        line = _paragraph(tongue, names)
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines) + "\n"


def _paragraph(tongue: Tongue, names: list[str]) -> str:
    pick = tongue.random
    chance = pick.random()
    if chance < 0.12:
        return f"\n## {tongue.phrase(1, 4)}\n"
    if chance < 0.3:
        return f"- {tongue.sentence()}"
    text = " ".join(tongue.sentence() for _ in range(pick.randint(1, 4)))
    if names and pick.random() < 0.35:
        text += f" See [[{pick.choice(names)}]]."
    return text + "\n"


def _note_places(tongue: Tongue, count: int) -> Iterator[tuple[str, str]]:
    """Folder and file name of each note that is no log; the last folder is ``WRITES``."""
    spare = min(40, count)
    for number in range(count - spare):
        folder = number // PLENTY
        first = ("areas", "projects", "reference", "people")[folder % 4]
        yield f"{first}/{tongue.words[3_000 + folder]}", f"{'-'.join(tongue.content(2))}-{number}.md"
    for number in range(spare):
        yield WRITES, f"{tongue.words[50 + number]}-{number}.md"


def _log_places(count: int) -> Iterator[tuple[str, str]]:
    for number in range(count):
        day = _FIRST_DAY + datetime.timedelta(days=number)
        yield f"journal/{number // PLENTY}", f"{day.isoformat()}.md"
