"""Links: what a note points to, what points to it, and what leads nowhere, for one client.

A file the client may not see is not there: links to it are broken, and its own links are no backlinks. The asked note's
links are read from the file as it stands now; other notes' links come from the index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from index import Index, Look, Walk
from index.names import Names, Reached, backlinks, resolve
from index.namescan import FileNames
from muninn.model.answer import Backlink, Broken, Outgoing, Totals
from muninn.model.content import NotePath
from muninn.model.errors import IndexBrokenError
from muninn.model.links import Link, scan
from muninn.model.page import blank_block
from muninn.model.rights import Rights
from muninn.model.sight import File


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A target as written that several files fit: the one that is taken, and the others."""

    target: str
    taken: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinksPage:
    """Up to a page of each list. ``next_offset`` is None where all of them end here; ``ambiguous`` are targets of this
    page's outgoing links that several files fit; ``degraded`` says that the files were read in place of the index,
    ``whole`` that all of them could be."""

    outgoing: tuple[Outgoing, ...]
    backlinks: tuple[Backlink, ...]
    broken: tuple[Broken, ...]
    totals: Totals
    next_offset: int | None
    ambiguous: tuple[Ambiguous, ...] = ()
    degraded: bool = False
    whole: bool = True


def links(
    index: Index, look: Look, walk: Walk, rights: Rights, path: NotePath, offset: int = 0, page: int = 100
) -> LinksPage | None:
    """The links of a note or attachment, each list from ``offset`` on; None where the file is not there.

    Raises OSError where the file cannot be read, VaultUnavailableError where the vault is not there. Where the index
    cannot answer the files do, and the index is repaired.
    """
    sight = look(path) if rights.sees(path) else None
    if not isinstance(sight, File):
        return None
    written = _written(sight, index.settings.folder_page)
    try:
        with index.names(private=rights.sees_private) as names:
            return _page(names, written, path, rights, offset, page)
    except IndexBrokenError:
        found = FileNames(walk, look, rights.sees, index.settings)
        index.mend(walk, look)
        return replace(_page(found, written, path, rights, offset, page), degraded=True, whole=found.whole)


def _page(names: Names, written: list[Link], path: NotePath, rights: Rights, offset: int, page: int) -> LinksPage:
    outgoing: list[Outgoing] = []
    broken: list[Broken] = []
    found: dict[tuple[str, str], Reached | None] = {}
    for link in written:
        form = (link.target, link.kind)
        if form not in found:
            found[form] = resolve(names, link.target, link.kind, path, rights.sees)
        reached = found[form]
        if reached is None:
            broken.append(Broken(link.target, link.line))
        else:
            outgoing.append(Outgoing(link.target, reached.path, link.line, link.kind))
    back = {(link.source, link.line) for link in backlinks(names, path, rights.sees)}
    pointing = [Backlink(source, line) for source, line in sorted(back)]
    end = offset + page
    rest = max(len(outgoing), len(pointing), len(broken)) > end
    shown = tuple(outgoing[offset:end])
    return LinksPage(
        outgoing=shown,
        backlinks=tuple(pointing[offset:end]),
        broken=tuple(broken[offset:end]),
        totals=Totals(len(outgoing), len(pointing), len(broken)),
        next_offset=end if rest else None,
        ambiguous=tuple(dict.fromkeys(_ambiguous(shown, found))),
    )


def _ambiguous(shown: tuple[Outgoing, ...], found: dict[tuple[str, str], Reached | None]) -> Iterator[Ambiguous]:
    for target, kind in dict.fromkeys((link.target, link.kind) for link in shown):
        reached = found[(target, kind)]
        if reached is not None and reached.others:
            yield Ambiguous(target, reached.path, reached.others)


def _written(sight: File, folder_page: str | None) -> list[Link]:
    """The links as they stand in the file; a folder page's managed lines are none."""
    if not sight.path.is_note:
        return []
    text = sight.content.decode("utf-8", "replace")
    if folder_page is not None and sight.path.name.lower() == folder_page.lower():
        text = blank_block(text)
    return list(scan(text))
