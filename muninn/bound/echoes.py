"""Claims by their words: held statements that a question asks for, and notes that repeat one which is held no more.

A repeated sentence is named, never changed: who reads the warning looks whether it is still true there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from index import Filters
from index.question import MOST_CHARACTERS, Question, Word
from index.words import PREFIX
from muninn import cursors
from muninn.door import Door
from muninn.model import note as notes
from muninn.model.bound import ClaimsAnswer
from muninn.model.claim import Abstained, Claim, Held
from muninn.model.content import Basis, NotePath
from muninn.model.errors import IndexBrokenError, LedgerUnavailableError, VaultUnavailableError
from muninn.model.refusal import Refusal, Warn
from muninn.model.rights import Rights
from muninn.model.sight import File

from . import claims, sentences

MOST_SCANNED: Final = 10_000
"""Newest claims that a question is compared with."""
MOST_COMPARED: Final = 2_000_000
"""Of their statements together; statements of ordinary length do not come to so much."""
_MOST_CHECKED: Final = 300
"""Matching claims whose sources are looked at for one page."""
_CLAIMS: Final = 5
_CANDIDATES: Final = 8
_MOST_BYTES: Final = 256 * 1024
_BUDGET_S: Final = 0.25


def matching(door: Door, rights: Rights, query: str, cursor: str | None) -> ClaimsAnswer | Refusal:
    """Held claims whose statements have words of the question, the best first. Of the others nothing is told."""
    position = cursors.read_number("claims", {"query": query}, cursor) if cursor is not None else 0
    if isinstance(position, Refusal):
        return position
    question = door.index.read(query[:MOST_CHARACTERS])
    ranked = _ranked(door, question, list(_scanned(door, rights)) if question.words else [])
    sources = claims.Sources(door)
    held: list[Held | Abstained] = []
    at = position
    for claim in ranked[position : position + _MOST_CHECKED]:
        if len(held) == claims.PAGE or sources.ended:
            break
        at += 1
        standing = sources.stand(claim)
        if isinstance(standing, Held):
            held.append(standing)
    return claims.answered(held, cursors.make("claims", {"query": query}, at) if at < len(ranked) else None)


def _scanned(door: Door, rights: Rights) -> Iterator[Claim]:
    """The newest claims, as many as are compared."""
    left = MOST_COMPARED
    for claim in islice(claims.visible(door, rights), MOST_SCANNED):
        left -= len(claim.statement)
        if left < 0:
            return
        yield claim


def _ranked(door: Door, question: Question, found: list[Claim]) -> list[Claim]:
    """Those with a word of the question: rare words weigh more, and of equals the newest comes first."""
    statements = (claim.statement for claim in found)
    if question.common:
        terms = [sentences.every_word(statement) for statement in statements]
    else:
        lexicon = door.index.lexicon
        terms = [sentences.words(statement, lexicon.of_note(statement, 0)) for statement in statements]
    begins = [frozenset(term[:PREFIX] for term in own) for own in terms]
    holders = [_holding(word, terms, begins) for word in question.words]
    scores: dict[int, float] = {}
    for numbers in holders:
        weight = math.log(1 + len(found) / len(numbers)) if numbers else 0.0
        for number in numbers:
            scores[number] = scores.get(number, 0.0) + weight
    return [found[number] for number in sorted(scores, key=lambda number: (-scores[number], -found[number].seq))]


def _holding(word: Word, terms: list[frozenset[str]], begins: list[frozenset[str]]) -> list[int]:
    """The numbers of the statements that hold a word, by their terms and how these begin."""
    main, short = frozenset(word.main), frozenset(one[1:] for one in word.short)
    return [
        number
        for number, own in enumerate(terms)
        if main <= own or word.folded in own or (short and short <= begins[number])
    ]


def of_source(door: Door, rights: Rights, path: NotePath, before: Basis) -> tuple[Warn, ...]:
    """The warning after a source has changed: notes that carry nearly what was claimed of its former bytes."""
    with suppress(LedgerUnavailableError):
        ended = [claim for claim in door.ledger.claims.of_path(path, limit=50) if claim.source.hash == before]
        return _warned(door, rights, ended[:_CLAIMS], f"claims on {path} abstain now")
    return ()


def of_claim(door: Door, rights: Rights, claim: Claim) -> tuple[Warn, ...]:
    """The warning after a retraction: notes that carry nearly the same sentence."""
    return _warned(door, rights, [claim], f"the claim {claim.id} was retracted")


def _warned(door: Door, rights: Rights, ended: list[Claim], what: str) -> tuple[Warn, ...]:
    if not ended or "read" not in rights.scopes:
        return ()
    found: dict[NotePath, None] = {}
    with suppress(IndexBrokenError, VaultUnavailableError):
        found = dict.fromkeys(_repeating(door, rights, ended))
    if not found:
        return ()
    named = ", ".join(found)
    message = f"{what}, and nearly the same sentence stands in {named}: look whether it still holds there"
    return (Warn("possible_duplicate", message, tuple(found)),)


def _repeating(door: Door, rights: Rights, ended: list[Claim]) -> Iterator[NotePath]:
    """Notes with a sentence that is nearly a statement. The index finds candidates, their text decides."""
    until = time.monotonic() + _BUDGET_S
    for claim in ended:
        question = door.index.read(claim.statement)
        if not question.words:
            continue
        answers = door.index.ask(question, Filters(), rights.sees, _CANDIDATES, private=rights.sees_private)
        for path in (row.path for answer in answers for row in answer.rows[:_CANDIDATES]):
            if time.monotonic() > until:
                return
            if path != claim.source.path and _carries(door, path, claim.statement):
                yield path


def _carries(door: Door, path: NotePath, statement: str) -> bool:
    with suppress(OSError):
        sight = door.vault.look_within(path, _MOST_BYTES)
        if isinstance(sight, File):
            note = notes.parse(path, sight.content, sight.hash)
            tongue = door.index.lexicon.of_note(note.text or "", note.body_start)
            said = sentences.words(statement, tongue)
            told = (sentences.words(one.text, tongue) for one in sentences.of(note))
            return any(sentences.near(said, words) for words in told)
    return False
