"""What a client may see and change, decided on the path alone.

Every reader and writer takes a ``Rights``; there is no way to ask without one.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from .content import same_name

SCOPES: Final = ("read", "write", "archive", "code", "private", "metrics")
DEFAULT_SCOPES: Final = frozenset({"read", "write", "archive", "code"})


@functools.lru_cache(maxsize=4096)
def _pattern(glob: str) -> re.Pattern[str]:
    glob = same_name(glob).lstrip("/")
    if glob in ("**", "**/"):
        return re.compile(r"(?s:.*)")
    whole_folder = glob.endswith(("/", "/**"))
    glob = glob.removesuffix("**").rstrip("/") if whole_folder else glob
    if not glob:
        return re.compile(r"(?!)")
    parts = []
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", glob):
        parts.append({"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece) or re.escape(piece))
    below = "(?:/.*)?" if whole_folder or not re.search(r"[*?]", glob) else ""
    return re.compile("(?s:" + "".join(parts) + below + r")\Z")


@dataclass(frozen=True, slots=True)
class Globs:
    """Patterns over paths: ``*`` and ``?`` stay inside a segment, ``**`` crosses folders; ``name``, ``name/`` and
    ``name/**`` cover the folder and everything below. Compared in NFC and case folded."""

    patterns: tuple[str, ...]

    def cover(self, path: str) -> bool:
        """Whether one of the patterns matches the whole path."""
        key = same_name(path)
        return any(_pattern(glob).match(key) for glob in self.patterns)


EVERYTHING: Final = Globs(("**",))
NOTHING_PRIVATE: Final = Globs(())


@dataclass(frozen=True, slots=True)
class Rights:
    """What one client may do. ``private_paths`` says which paths need the scope ``private``."""

    client: str | None
    scopes: frozenset[str]
    read: Globs = EVERYTHING
    write: Globs = EVERYTHING
    private_paths: Globs = NOTHING_PRIVATE

    def sees(self, path: str) -> bool:
        """Whether reading tools may show this path, its existence included."""
        return self.read.cover(path) and not self._hidden(path)

    def changes(self, path: str) -> bool:
        """Whether writing tools may touch this path. Who may not see a path may not change it."""
        return self.write.cover(path) and self.sees(path)

    @property
    def sees_everything(self) -> bool:
        """Whether the globs leave nothing out; private notes are another matter."""
        return "**" in self.read.patterns

    def is_private(self, path: str) -> bool:
        """Whether the path lies under the owner's private globs, whoever asks."""
        return self.private_paths.cover(path)

    @property
    def sees_private(self) -> bool:
        return "private" in self.scopes

    def _hidden(self, path: str) -> bool:
        return not self.sees_private and self.is_private(path)
