"""A parsed view over the exact bytes of a note, which it keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from . import yaml_reader
from .content import ContentHash, NotePath, Revision
from .frontmatter import Flaw, Frontmatter, Node, Scalar, Sequence

_OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSE = re.compile(r"\n---[ \t]*(?:\r?\n|\Z)")
_HEADING_1 = re.compile(r"^# ([^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it stands on disk. ``text`` is None where the bytes are not UTF-8."""

    path: NotePath
    raw: bytes = field(repr=False)
    hash: ContentHash
    text: str | None = field(repr=False)
    frontmatter: Frontmatter | None = field(repr=False)
    body_start: int
    """Where the body begins in ``text``."""

    @property
    def revision(self) -> Revision:
        return Revision(self.path, self.hash)

    @property
    def body(self) -> str:
        """The text after the frontmatter, ``""`` where the bytes are not UTF-8."""
        return "" if self.text is None else self.text[self.body_start :]

    @property
    def body_line(self) -> int:
        """The file's line on which the body begins (1-based)."""
        return 1 if self.text is None else self.text.count("\n", 0, self.body_start) + 1

    @property
    def values(self) -> dict[str, Any] | None:
        """The frontmatter as JSON values; None where it is absent, unparsable or uses anchors."""
        return None if self.frontmatter is None else self.frontmatter.values

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """What was wrong with the frontmatter."""
        return () if self.frontmatter is None else self.frontmatter.flaws

    @property
    def title(self) -> str:
        """The frontmatter's title, else the first heading of the first level, else the file's name."""
        return self.word("title") or self._heading() or _name_as_title(self.path)

    def word(self, key: str) -> str | None:
        """A top-level value that is a non-blank string, as one line; None for anything else."""
        node = self.node(key)
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
            return " ".join(node.value.split())
        return None

    def words(self, key: str) -> tuple[str, ...]:
        """The strings of a top-level list; a single string counts as a list of one."""
        node = self.node(key)
        items = node.items if isinstance(node, Sequence) else (node,)
        return tuple(item.typed for item in items if isinstance(item, Scalar) and item.typed.strip())

    def node(self, key: str) -> Node | None:
        """The frontmatter's value under a key, None where there is none that can be used."""
        if self.frontmatter is None or self.frontmatter.root is None:
            return None
        return self.frontmatter.root.get(key)

    def _heading(self) -> str | None:
        found = _HEADING_1.search(self.text, self.body_start) if self.text is not None else None
        return " ".join(found[1].rstrip("\r").rstrip(" #").split()) or None if found else None


def parse(path: NotePath, raw: bytes, digest: ContentHash | None = None) -> Note:
    """Read a note. Never fails: bytes that are not UTF-8 give a note without text.

    ``digest`` spares a second hashing where the caller has the hash of ``raw`` already.
    """
    digest = digest or ContentHash.of(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Note(path, raw, digest, None, None, 0)
    opening = _OPEN.match(text)
    closing = _CLOSE.search(text, opening.end() - 1) if opening else None
    if opening is None or closing is None:
        return Note(path, raw, digest, text, None, 1 if text.startswith("\ufeff") else 0)
    block = text[opening.end() : closing.start() + 1]
    return Note(path, raw, digest, text, yaml_reader.read(block, first_line=2), closing.end())


def _name_as_title(path: NotePath) -> str:
    """The file's name, with its folder where the name alone says nothing."""
    if path.stem.lower() in ("index", "readme") and path.folder:
        return f"{path.folder.rpartition('/')[2]}/{path.stem}"
    return path.stem
