"""Warnings that ride along with a write and never block it: search first, a possible duplicate, broken links.

They are given after the verdict and outside the write lock, for dry runs as well. Where the index cannot answer there
is no advice; nothing here raises, and nothing is written. Only what the client may see is named: a link to a note that
it may not see is broken, as one to a note that is not there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from index.alike import alike
from index.fields import name_key
from index.names import Names, Written, resolve
from muninn.door import Door
from muninn.model import note as notes
from muninn.model.change import Kind, Plan
from muninn.model.content import MISSING, NotePath, same_name
from muninn.model.errors import IndexBrokenError, VaultUnavailableError
from muninn.model.links import scan
from muninn.model.note import Note
from muninn.model.page import blank_block
from muninn.model.refusal import Warn
from muninn.model.rights import Rights
from muninn.model.sight import File

COMPARED: Final = 5
"""Candidates whose text is read."""
_BUDGET_S: Final = 0.02
"""After this time no further candidate is read."""
_WORDS: Final = 400
_CHARACTERS: Final = 4_000
"""Of each text; a note that is nearly the same is so from its beginning."""
_RUN: Final = 3
_FEWEST: Final = 18
_SAME_RUNS: Final = 0.75
_SAME_WORDS: Final = 0.6
LINKS_CHECKED: Final = 200
_LINKS_NAMED: Final = 20
_TARGET: Final = 200

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")


def on_plan(door: Door, rights: Rights, plan: Plan) -> tuple[Warn, ...]:
    """The advice on a write or an edit that was judged well. None for a client without the scope ``read``: it could
    not follow it, and is told nothing of other notes."""
    content = None if plan.after is MISSING else plan.contents.get(plan.after)
    if content is None or plan.kind not in (Kind.CREATE, Kind.OVERWRITE) or "read" not in rights.scopes:
        return ()
    note = notes.parse(plan.path, content, plan.after if plan.after is not MISSING else None)
    given: list[Warn] = []
    if plan.kind is Kind.CREATE:
        given += _search_first(door, rights)
        given += _possible_duplicate(door, rights, note)
    given += _broken_links(door, rights, note)
    return tuple(given)


def _search_first(door: Door, rights: Rights) -> Iterator[Warn]:
    if not door.searches.lately(rights.client):
        minutes = round(door.searches.window_s / 60)
        message = f"no search by this client in the last {minutes} minutes: search first, the note may be there already"
        yield Warn("search_first", message)


# --- duplicates -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Likeness:
    """The beginning of a note as it is compared: its name, its title, the words of its body, and runs of three."""

    stem: str
    title: str
    words: frozenset[str]
    runs: frozenset[tuple[str, ...]]


def likeness(note: Note) -> Likeness:
    """What of a note is compared: its title and the first 400 words of its body, without case."""
    words = _WORD.findall(note.body[:_CHARACTERS].casefold())[:_WORDS]
    runs = frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))
    return Likeness(note.path.stem, note.title.casefold(), frozenset(words), runs)


def near_equal(one: Likeness, other: Likeness) -> bool:
    """Whether two notes say nearly the same: three quarters of their runs of three words are the same ones, or, under
    the same title, three fifths of their words. Texts of a line or two are told apart by their titles alone. Notes of
    a series (days, versions), whose names and titles differ in numbers only, are never near: one template made them."""
    if one.title == other.title:
        return _share(one.words, other.words) >= _SAME_WORDS
    if _is_series(one.stem, other.stem) and _is_series(one.title, other.title):
        return False
    return min(len(one.runs), len(other.runs)) >= _FEWEST and _share(one.runs, other.runs) >= _SAME_RUNS


def _is_series(one: str, other: str) -> bool:
    """Whether two names differ in their numbers only."""
    return one != other and _DIGITS.sub("0", one) == _DIGITS.sub("0", other)


def _share(one: frozenset[_T], other: frozenset[_T]) -> float:
    """Jaccard's index: what two sets have in common, of all they hold."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _possible_duplicate(door: Door, rights: Rights, note: Note) -> Iterator[Warn]:
    if door.contract.private.cover(note.path) or door.contract.is_page(note.path.name):
        return
    found = tuple(_near(door, rights, note))
    if found:
        message = (
            f"this is nearly what {', '.join(found)} {'says' if len(found) == 1 else 'say'} already; "
            "read it, and edit it in place of keeping two"
        )
        yield Warn("possible_duplicate", message, found)


def _near(door: Door, rights: Rights, note: Note) -> Iterator[NotePath]:
    until = time.monotonic() + _BUDGET_S

    def may_be(path: str) -> bool:
        page = door.contract.is_page(path.rpartition("/")[2])
        return path != note.path and not page and rights.sees(path)

    with suppress(IndexBrokenError, VaultUnavailableError):
        with door.index.public() as shelf:
            paths = alike(shelf, door.index.lexicon, f"{note.title}\n{note.body[:_CHARACTERS]}", may_be, COMPARED)
        new = likeness(note) if paths else None
        for path in paths:
            if new is None or time.monotonic() > until:
                return
            with suppress(OSError):
                sight = door.vault.look(path)
                if isinstance(sight, File) and near_equal(new, likeness(notes.parse(path, sight.content, sight.hash))):
                    yield path


# --- links ------------------------------------------------------------------------------------------


class _WithNote:
    """The vault's names with those of a note that is not there yet: its links to itself are not broken."""

    def __init__(self, names: Names, note: Note) -> None:
        self._names, self._path = names, str(note.path)
        self._key = name_key(note.path.name)
        self._aliases = {same_name(alias) for alias in (*note.words("aliases"), *note.words("alias"))}

    def files(self, key: str) -> list[str]:
        """Paths of this name."""
        found = list(self._names.files(key))
        return [*found, self._path] if key == self._key and self._path not in found else found

    def aliased(self, key: str) -> list[str]:
        """Paths of notes that carry this alias."""
        return [*self._names.aliased(key), *([self._path] if key in self._aliases else [])]

    def aliases(self, path: str) -> Iterable[str]:
        """The keys of a note's aliases."""
        return self._names.aliases(path)

    def pointing(self, key: str) -> Iterable[Written]:
        """Links whose target ends in this name."""
        return self._names.pointing(key)


def _broken_links(door: Door, rights: Rights, note: Note) -> Iterator[Warn]:
    text = note.text or ""
    if door.contract.is_page(note.path.name):
        text = blank_block(text)
    forms: dict[tuple[str, str], int] = {}
    cut = ""
    for link in scan(text):
        if len(forms) == LINKS_CHECKED and (link.target, link.kind) not in forms:
            cut = f"; only the first {LINKS_CHECKED} targets were looked for"
            break
        forms.setdefault((link.target, link.kind), link.line)
    broken = _broken(door, rights, note, forms) if forms else {}
    if broken:
        shown = dict(list(broken.items())[:_LINKS_NAMED])
        told = ", ".join(f"{target[:_TARGET]} (line {line})" for target, line in shown.items())
        more = f" and {len(broken) - len(shown)} more" if len(broken) > len(shown) else ""
        message = f"links that lead to nothing you can see: {told}{more}{cut}"
        yield Warn("broken_links", message, tuple(target[:_TARGET] for target in shown))


def _broken(door: Door, rights: Rights, note: Note, forms: dict[tuple[str, str], int]) -> dict[str, int]:
    """Targets that resolve to nothing for this client, with the line of the first link to each."""
    broken: dict[str, int] = {}
    with suppress(IndexBrokenError), door.index.names(private=rights.sees_private) as known:
        names = _WithNote(known, note)
        for (target, kind), line in forms.items():
            if resolve(names, target, kind, note.path, rights.sees) is None:
                broken.setdefault(target, line)
    return broken
