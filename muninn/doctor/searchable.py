"""Checks of the index: that its files hold together, and that they say what the notes say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from index.glimpse import Glimpse
from muninn import weights
from muninn.model.content import NotePath
from muninn.model.listing import Entry
from muninn.model.sight import File

from .check import Finding, Named, fault, ok, skipped
from .installation import BROKEN, Installation, LackingError

_SCAN: Final = "run `muninn index scan`, or start the gateway; until then answers come late or from the files"
_TOLD_EVERY: Final = 500


def index(installation: Installation) -> Finding:
    """Both files: their form, their pages, their lists of words."""
    cache = installation.places.cache
    if cache.exists() and not (cache.is_dir() and os.access(cache, os.R_OK | os.W_OK | os.X_OK)):
        return fault(f"the cache is no folder that can be written: {cache}", "look at --cache and its rights")
    there = [name for name in ("index.db", "index-private.db") if (cache / name).exists()]
    if not there:
        return skipped(f"there is no index in {cache} yet; the first scan makes it")
    if len(there) == 1:
        return fault(f"of the two files of the index only {there[0]} is in {cache}", _SCAN)
    shelves = installation.shelves
    if None in shelves:
        return skipped("the index is being made: its first scan has not ended")
    found = [shelf for shelf in shelves if shelf is not None]
    counted = " and ".join(str(len(shelf.notes)) for shelf in found)
    if not all(shelf.whole for shelf in found):
        return skipped(f"it opens, but its pages were not looked at to the end: {counted} notes take too long")
    return ok(f"public and private index hold together: {counted} notes")


def models(installation: Installation) -> Finding:
    """Each model that was added: whether its files are the ones that were added, and can be run."""
    places = installation.places
    added = weights.records(places.home).values()
    if not added:
        return skipped("none was added; searches go by words: docs/how-to/use-a-model.md")
    wrong = [Named(one.name, why) for one in added if (why := weights.check(places, one) or _lacking(one)) is not None]
    if wrong:
        return fault(f"models that cannot be used: {len(wrong)}", "searches go on without; see below what to do", wrong)
    return ok("whole, and what runs it is installed: " + ", ".join(f"{one.kind} {one.name}" for one in added))


def _lacking(record: weights.Record) -> str | None:
    extra = weights.missing_extra(record)
    return None if extra is None else f"what runs it is not installed: the extra {extra}"


def rows(installation: Installation) -> Finding:
    """Every note against its row: missing, behind, left over, or on the wrong side of what is private."""
    public, private = _both(installation)
    is_private = installation.settings.private.cover
    strays = [path for path in public.notes if is_private(path)]
    if strays:
        what = f"private notes in the public index: {len(strays)}"
        return fault(what, "run `muninn index rebuild` now: who may not see them could find them", strays)
    known = {**public.notes, **private.notes}
    found = {str(entry.path) for entry in installation.survey.entries if entry.kind in ("note", "elsewhere")}
    behind = [Named(path, "not in the index") for path in _missing(installation, public, private)]
    behind += [Named(path, "changed since it was read") for path in _stale(installation, public, private)]
    gone = (path for path in known if path not in found and not installation.is_young(path))
    behind += [Named(path, "in the index alone") for path in gone if _is_gone(installation, path)]
    if behind:
        return fault(f"the index lags behind the files: {len(behind)}", _SCAN, behind)
    return ok(f"{len(known)} rows say what the files say")


def _both(installation: Installation) -> tuple[Glimpse, Glimpse]:
    try:
        public, private = installation.shelves
    except BROKEN:
        raise LackingError("the index cannot be read: see index") from None
    if public is None or private is None:
        raise LackingError("there is no whole index yet: see index")
    return public, private


def _missing(installation: Installation, public: Glimpse, private: Glimpse) -> Iterator[str]:
    for entry in installation.survey.notes:
        shelf = private if installation.settings.private.cover(entry.path) else public
        if entry.path in shelf.notes or installation.is_young(entry.path):
            continue
        if isinstance(_looked(installation, entry), File):
            yield entry.path


def _stale(installation: Installation, public: Glimpse, private: Glimpse) -> Iterator[str]:
    notes = installation.survey.notes
    with installation.stage("compare") as progress:
        for number, entry in enumerate(notes):
            if number % _TOLD_EVERY == 0:
                progress(number, len(notes))
            row = public.notes.get(entry.path) or private.notes.get(entry.path)
            if row is None or (entry.stamp is not None and row.stamp == entry.stamp.number):
                continue
            sight = _looked(installation, entry)
            if isinstance(sight, File) and sight.hash != row.hash and not installation.is_young(entry.path):
                yield entry.path


def _looked(installation: Installation, entry: Entry) -> object:
    """What a note holds; None where it cannot be read, which is told by ``notes``."""
    try:
        return installation.vault.look(entry.path)
    except OSError:
        return None


def _is_gone(installation: Installation, path: str) -> bool:
    """Whether a path that the walk did not meet is really none: it may be named otherwise in form."""
    checked = NotePath.parse(path)
    if not isinstance(checked, NotePath):
        return True
    try:
        return not isinstance(installation.vault.look(checked), File)
    except OSError:
        return False
