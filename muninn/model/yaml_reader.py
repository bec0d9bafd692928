"""The YAML at the top of a note, read and never written.

Most of it is plain and read as such; the rest is built from libyaml's events, which keeps deep nesting and alias bombs
harmless: nothing is expanded and nothing recurses.
"""

from __future__ import annotations

import functools
from typing import Final

from . import plain_yaml
from .frontmatter import MAX_BYTES, Flaw, Frontmatter, hidden

_REMEMBERED_CHARACTERS: Final = 4096
"""A longer block is read anew each time, so that what is remembered stays within a few megabytes."""


def read(text: str, first_line: int) -> Frontmatter:
    """Read the YAML between the fences. Never raises: what is wrong comes back as flaws.

    ``first_line`` is the number of the file's line on which ``text`` begins.
    """
    if len(text) <= _REMEMBERED_CHARACTERS:
        return _remembered(text, first_line)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        return Frontmatter(None, (Flaw("size", f"frontmatter is {size} bytes; at most {MAX_BYTES} are allowed"),))
    return _read(text, first_line)


def _read(text: str, first_line: int) -> Frontmatter:
    found = plain_yaml.read(text, first_line)
    if found is not None:
        return found
    # YAML's parser is a good part of what a command would import, and most frontmatter can do without it.
    from .yaml_events import build

    return build(text, first_line, tuple(hidden(text, first_line)))


# One write reads the same frontmatter for its verdict, for the folder's page and for the index, and an agent reads a
# note before it writes it. The result is frozen all through, so that it may be shared.
_remembered = functools.lru_cache(maxsize=1024)(_read)
