"""Text that may go to a model: only what public notes hold, and only by way of one door.

A ``PublicText`` cannot be made but by ``public_text``, which asks whether the note's path is private and has no text
for one that is. So a model, a vector or an endpoint that takes ``PublicText`` cannot be handed a private note by
mistake, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from muninn.model.content import NotePath

_DOOR: Final = object()


class PublicText:
    """A piece of a public note, title included. Its making elsewhere is an error."""

    __slots__ = ("text",)

    def __init__(self, text: str, door: object = None) -> None:
        if door is not _DOOR:
            raise TypeError("a PublicText is made by public_text alone, which looks at the note's path")
        self.text: Final = text

    def __repr__(self) -> str:
        return f"PublicText({len(self.text)} characters)"


def public_text(path: NotePath, text: str, is_private: Callable[[str], bool]) -> PublicText | None:
    """A text of the note at this path, or None where the path is private. The path alone decides."""
    return None if is_private(path) else PublicText(text, _DOOR)
