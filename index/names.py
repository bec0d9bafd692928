"""Which file a written link leads to, as Obsidian finds it, and which written links lead to a file.

A link names a file by its last segment; of all files of that name those fit whose path ends in what was written. Where
several fit, the path that was written whole goes first, then files in or below the note's own folder, then the others;
among these the shortest path, then the alphabet. Whatever the client may not see is not among the files, so a link to
it leads nowhere, or to the next best one.

Source: Obsidian, "Internal links" and "Aliases" (https://help.obsidian.md/links); for names that several files bear,
what the app does: probes of Obsidian 1.13.6 by its command line, and descriptions of its ``getLinkpathDest``, agree on
the order above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from muninn.model.content import same_name

from .fields import last_segment, name_key, unquote

_FOLDER_PAGES: Final = ("index", "readme")


@dataclass(frozen=True, slots=True)
class Written:
    """A link as the index keeps it, with the note it stands in."""

    source: str
    line: int
    kind: str
    target: str


class Names(Protocol):
    """What is known of the vault's names. Keys are those of ``name_key``."""

    def files(self, key: str) -> Iterable[str]:
        """Paths of notes and attachments of this name."""

    def aliased(self, key: str) -> Iterable[str]:
        """Paths of notes that carry this alias."""

    def aliases(self, path: str) -> Iterable[str]:
        """The keys of a note's aliases."""

    def pointing(self, key: str) -> Iterable[Written]:
        """Links whose target ends in this name."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a written link leads, and the other files that its name would fit as well, in the order of preference."""

    path: str
    others: tuple[str, ...] = ()


def resolve(names: Names, target: str, kind: str, source: str, sees: Callable[[str], bool]) -> Reached | None:
    """The file a written link leads to; None where there is no such file for this client."""
    folder = source.rpartition("/")[0]
    if kind == "wikilink" or (kind == "embed" and "%" not in target):
        found = _by_wikilink(names, target, folder, sees)
        return found if found is not None or kind == "wikilink" else _by_address(names, target, folder, sees)
    return _by_address(names, target, folder, sees) or _by_wikilink(names, unquote(target), folder, sees)


def backlinks(names: Names, path: str, sees: Callable[[str], bool]) -> Iterator[Written]:
    """Every link in another visible note, or in this one, that leads to a file; in no set order."""
    folder, _, name = path.rpartition("/")
    keys = {name_key(name), same_name(name), *names.aliases(path)}
    if name_key(name) in _FOLDER_PAGES:
        keys.add(name_key(folder.rpartition("/")[2]))
    leads: dict[tuple[str, str, str], bool] = {}
    for key in keys:
        for link in names.pointing(key):
            if not sees(link.source):
                continue
            place = (link.target, link.kind, link.source.rpartition("/")[0])
            if place not in leads:
                reached = resolve(names, link.target, link.kind, link.source, sees)
                leads[place] = reached is not None and reached.path == path
            if leads[place]:
                yield link


def _by_wikilink(names: Names, target: str, folder: str, sees: Callable[[str], bool]) -> Reached | None:
    """By the end of the path; then, for a bare name, by alias."""
    if target.startswith(("./", "../")) or target in (".", ".."):
        return _exact(names, _joined(folder, target), sees)
    wanted = same_name(target.strip("/"))
    suffix = wanted.removesuffix(".md")
    key = name_key(last_segment(target, "", "wikilink"))
    fits = [path for path in names.files(key) if _ends_in(same_name(path), wanted, suffix) and sees(path)]
    whole = next((path for path in sorted(fits) if same_name(path) in (wanted, suffix + ".md")), None)
    if target.startswith("/") or (whole is not None and "/" in target):
        return None if whole is None else Reached(whole)
    fits = fits or [path for path in names.aliased(same_name(target)) if sees(path)]
    ranked = sorted(fits, key=lambda path: (path != whole, *_rank(path, folder)))
    return Reached(ranked[0], tuple(ranked[1:])) if ranked else None


def _ends_in(path: str, wanted: str, suffix: str) -> bool:
    """Whether a path (folded) is what was written or ends in it, with or without ``.md``."""
    return any(path == form or path.endswith("/" + form) for form in (wanted, suffix + ".md"))


def _rank(path: str, folder: str) -> tuple[bool, int, str]:
    """In or below the note's folder first; everything is below the root."""
    near = not folder or path.startswith(folder + "/")
    return not near, len(path), path


def _by_address(names: Names, target: str, folder: str, sees: Callable[[str], bool]) -> Reached | None:
    """A Markdown address: from the note's own folder, then from the root."""
    target = unquote(target).partition("?")[0]
    places = [target.strip("/")] if target.startswith("/") else [_joined(folder, target), target]
    for place in dict.fromkeys(places):
        if place is not None:
            found = _exact(names, place, sees)
            if found is not None:
                return found
    return None


def _exact(names: Names, place: str | None, sees: Callable[[str], bool]) -> Reached | None:
    """The file at a path, ``.md`` left out or not; for a folder, its page."""
    if place is None:
        return None
    folded = same_name(place.strip("/"))
    for form in (folded, folded + ".md"):
        for path in sorted(names.files(name_key(form.rpartition("/")[2]))):
            if same_name(path) == form and sees(path):
                return Reached(path)
    for page in _FOLDER_PAGES:
        inside = f"{folded}/{page}.md" if folded else f"{page}.md"
        for path in sorted(names.files(page)):
            if same_name(path) == inside and sees(path):
                return Reached(path)
    return None


def _joined(folder: str, target: str) -> str | None:
    """The path that steps from a folder lead to; None where they leave the vault."""
    steps = folder.split("/") if folder else []
    for segment in target.split("/"):
        if segment == "..":
            if not steps:
                return None
            steps.pop()
        elif segment not in ("", "."):
            steps.append(segment)
    return "/".join(steps)
