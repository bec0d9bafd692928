"""The vault's names and links without an index: every file is read for one question. Slow, and never out of date."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

from muninn.model.content import NotePath, same_name
from muninn.model.links import scan
from muninn.model.listing import Entry
from muninn.model.sight import File

from .fields import key_of, name_key, open_text
from .names import Written
from .settings import IndexSettings, Look, Walk


class FileNames:
    """``Names`` as a walk finds them. ``whole`` is False where time ran out before every note was read."""

    def __init__(self, walk: Walk, look: Look, sees: Callable[[str], bool], settings: IndexSettings) -> None:
        self.whole = True
        self._files: dict[str, list[str]] = defaultdict(list)
        self._aliased: dict[str, list[str]] = defaultdict(list)
        self._aliases: dict[str, list[str]] = defaultdict(list)
        self._links: dict[str, list[Written]] = defaultdict(list)
        notes = []
        for entry in walk():
            if isinstance(entry, Entry) and entry.kind != "folder" and sees(entry.path):
                self._files[name_key(entry.path.name)].append(entry.path)
                notes += [entry.path] if entry.kind == "note" else []
        until = time.monotonic() + settings.degraded_scan_s
        for path in notes:
            if time.monotonic() > until:
                self.whole = False
                break
            self._read(path, look, settings)

    def files(self, key: str) -> list[str]:
        """Paths of notes and attachments of this name."""
        return self._files.get(key, [])

    def aliased(self, key: str) -> list[str]:
        """Paths of notes that carry this alias."""
        return self._aliased.get(key, [])

    def aliases(self, path: str) -> list[str]:
        """The keys of a note's aliases."""
        return self._aliases.get(path, [])

    def pointing(self, key: str) -> list[Written]:
        """Links whose target ends in this name."""
        return self._links.get(key, [])

    def _read(self, path: NotePath, look: Look, settings: IndexSettings) -> None:
        try:
            sight = look(path)
        except OSError:
            return
        if not isinstance(sight, File):
            return
        note, text = open_text(path, sight.content, sight.hash, settings.folder_page)
        for alias in (*note.words("aliases"), *note.words("alias")):
            self._aliased[same_name(alias)].append(path)
            self._aliases[path].append(same_name(alias))
        for link in scan(text):
            self._links[key_of(link, path)].append(Written(path, link.line, link.kind, link.target))
