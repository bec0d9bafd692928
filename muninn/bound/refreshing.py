"""What to look at again where a source has changed: its changed lines, and the sentences that share words with them.

A worklist for whoever keeps the summary. No model: words are compared, so that a sentence that says it in other words
is not found, and one that is named may well be right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from index.words import Lexicon, Tongue
from muninn import diffs
from muninn.door import Door
from muninn.model import note as notes
from muninn.model.bound import BecauseRow, SentenceRow
from muninn.model.content import ContentHash, NotePath
from muninn.model.note import Note
from muninn.model.rights import Rights
from muninn.model.summary import Because, Registration

from . import sentences
from .sentences import Sentence
from .tracing import Budget

MOST_SENTENCES: Final = 10
"""Of one summary for one source, those that share the most words."""
_SHOWN: Final = 300
"""Characters of a sentence that are shown."""
_MOST_DIFF: Final = 4 * 1024
_MOST_TEXT: Final = 48 * 1024
"""Bytes of diffs and sentences in one answer; reasons after that come without."""
_MOST_CLAIMS: Final = 100
_MOST_WORDS: Final = 1024 * 1024
"""Characters of changed lines whose words are looked for: a note's, where it is gone."""
BUDGET_S: Final = 2.0
"""CPU time after which the reasons of an answer come without details: reading 128 sources of a mebibyte each would take
a hundred times as long."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed in a source. ``diff`` is None where there is nothing to compare: it is gone, or its former bytes
    are not kept any more. ``lines`` are the changed lines as a text, all of its lines where it is gone."""

    diff: str | None
    lines: str


def difference(door: Door, reason: Because, content: bytes | None, most: int = diffs.MAX_BYTES) -> Difference:
    """The changed lines of a source alone, from the bytes of the registration to ``content``, its present ones."""
    expected = ContentHash.parse(reason.expected or "")
    before = None if expected is None else door.ledger.content(expected)
    if before is None:
        return Difference(None, "")
    if content is None:
        return Difference(None, before.decode(errors="replace"))
    diff = diffs.unified(before, content, reason.path, context=0, most=most)
    lines = (line[1:] for line in diff.split("\n")[2:] if line[:1] in ("+", "-"))
    return Difference(diff, "\n".join(lines))


@dataclass(frozen=True, slots=True)
class Said:
    """A note's sentences with their words, and the tongue that these were read in."""

    tongue: Tongue
    sentences: tuple[tuple[Sentence, frozenset[str]], ...]


def said(note: Note, lexicon: Lexicon) -> Said:
    """What a note says, sentence by sentence, to be compared with any number of changes."""
    tongue = lexicon.of_note(note.text or "", note.body_start)
    return Said(tongue, tuple((one, sentences.words(one.text, tongue)) for one in sentences.of(note)))


def about(summary: Said, lines: str) -> tuple[SentenceRow, ...]:
    """The sentences of a note that share the most telling words with these lines, in the order they stand in it."""
    words = sentences.words(lines, summary.tongue, _MOST_WORDS)
    shared = [(len(words & own), one) for one, own in summary.sentences]
    found = sorted((row for row in shared if row[0]), key=lambda row: -row[0])[:MOST_SENTENCES]
    in_order = sorted((one for _, one in found), key=lambda one: one.line)
    return tuple(SentenceRow(one.line, one.text[:_SHOWN]) for one in in_order)


def abstaining(door: Door, path: NotePath, found: str | None) -> tuple[str, ...]:
    """Ids of claims on a source that are bound to other bytes than it holds."""
    claims = door.ledger.claims.of_path(path, limit=_MOST_CLAIMS)
    return tuple(claim.id for claim in claims if claim.source.hash != found)


class Look:
    """One answer's look at details: what was read within its budget, and how much text it may still carry."""

    def __init__(self, door: Door, rights: Rights, budget: Budget) -> None:
        self.door, self.rights, self._budget = door, rights, budget
        self._left = _MOST_TEXT
        self._until = time.thread_time() + BUDGET_S
        self._said: tuple[NotePath, Said] | None = None

    def detailed(self, registration: Registration, reason: Because) -> BecauseRow:
        """A reason with what to look at again, where a source changed and the answer has room."""
        if reason.why not in ("changed", "missing", "archived") or reason.path == registration.summary.path:
            return BecauseRow(reason.path, reason.why, reason.expected, reason.found)
        claims = abstaining(self.door, reason.path, reason.found)
        if self._left <= 0 or time.thread_time() >= self._until:
            return BecauseRow(reason.path, reason.why, reason.expected, reason.found, None, (), claims)
        content = self._budget.content(reason.path)
        found = difference(self.door, reason, content, min(_MOST_DIFF, self._left + 100))
        rows = about(self._said_by(registration.summary.path), found.lines)
        self._left -= len((found.diff or "").encode()) + sum(len(row.text.encode()) for row in rows)
        return BecauseRow(reason.path, reason.why, reason.expected, reason.found, found.diff, rows, claims)

    def _said_by(self, path: NotePath) -> Said:
        """What a summary says. The last one is remembered: reasons come summary by summary."""
        if self._said is None or self._said[0] != path:
            note = notes.parse(path, self._budget.content(path) or b"")
            self._said = (path, said(note, self.door.index.lexicon))
        return self._said[1]
