"""What a draft is judged against: one look at the vault, as the plans that go before it will leave it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

from muninn.door import Door
from muninn.model import note as notes
from muninn.model.change import Plan, Request
from muninn.model.content import MISSING, ContentHash, NotePath, same_name
from muninn.model.draft import ArchiveDraft, Draft, RestoreDraft, View, WriteDraft
from muninn.model.listing import Entry
from muninn.model.note import Note
from muninn.model.sight import Absent, File, Sight

from .pages import page_of


@dataclass(slots=True)
class Ahead:
    """The plans that go before a draft in the same turn, and what they will leave.

    Of two drafts that meet, the second is judged after the first has ended. They share a folder's page all the same:
    the second is judged against the page as the first will leave it.
    """

    pages: dict[NotePath, File] = field(default_factory=dict)
    """Folder pages as they will be."""
    paths: set[NotePath] = field(default_factory=set)
    """All that will change."""
    _spelled: dict[str, str] = field(default_factory=dict)
    """These paths and every folder on their way, by the key under which two spellings of one name fall together."""
    _closed: set[str] = field(default_factory=set)
    """Folders without a page: one that is made lists the notes that are there when it is judged."""
    _requests: set[tuple[str | None, str]] = field(default_factory=set)

    def meets(self, draft: Draft, page: NotePath | None, client: str | None, request: Request | None) -> bool:
        """Whether a draft must be judged after these plans have ended: the verdict may hang on how they end."""
        if request is not None and (client, request.id) in self._requests:
            return True
        if same_name(draft.path) in self._spelled or draft.path.folder in self._closed:
            return True
        if page is not None and page in self.paths and page not in self.pages:
            return True
        return any(self._spelled.get(same_name(way), way) != way or way in self.paths for way in draft.path.folders)

    def add(self, plan: Plan, view: View, client: str | None, request: Request | None) -> None:
        """One more plan goes before the drafts to come; ``view`` is what it was judged against."""
        if request is not None:
            self._requests.add((client, request.id))
        for change in plan.changes:
            self.paths.add(change.path)
            self._spelled |= {same_name(name): name for name in (*change.path.folders, change.path)}
        if plan.changes and isinstance(view.page, Absent):
            self._closed.add(plan.path.folder)
        for change in plan.changes[1:]:
            if isinstance(view.page, File) and isinstance(change.after, ContentHash):
                content = plan.contents[change.after]
                self.pages[change.path] = replace(view.page, content=content, hash=change.after)


def see(door: Door, draft: Draft, ahead: Ahead) -> View:
    """One look at everything the draft concerns."""
    creates = isinstance(draft, RestoreDraft) or (isinstance(draft, WriteDraft) and draft.expected is MISSING)
    note = door.vault.look(draft.path, twins=creates)
    target = page_of(draft.path, door.contract)
    if target is None:
        return View(note)
    if target in ahead.pages:
        return View(note, ahead.pages[target])
    page = door.vault.look(target)
    if isinstance(page, Absent) and not isinstance(draft, ArchiveDraft):
        page = door.vault.look(target, twins=True)
        return View(note, page, _siblings(door, draft.path, target))
    return View(note, page)


def _siblings(door: Door, path: NotePath, page: NotePath) -> tuple[Note, ...]:
    """The folder's other notes, for a page that has to be made; private ones only on a private page."""
    private = door.contract.private
    found = []
    for entry in door.vault.walk(path.folder, depth=1):
        if not isinstance(entry, Entry) or entry.kind != "note" or entry.path in (path, page):
            continue
        if door.contract.is_page(entry.path.name) or (private.cover(entry.path) and not private.cover(page)):
            continue
        found.append(_note_at(door, entry.path))
    return tuple(found)


def _note_at(door: Door, path: NotePath) -> Note:
    """A note as it is; one that cannot be read is known by its name alone."""
    sight: Sight | None = None
    with suppress(OSError):
        sight = door.vault.look(path)
    return notes.parse(path, sight.content, sight.hash) if isinstance(sight, File) else notes.parse(path, b"")
