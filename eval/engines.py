"""The engines that are compared, one row of the table each.

``ENGINES`` is the seam: an engine is made from the vault and its index, and answers one question at a time. One that
cannot work here (no model is configured) is made as None and has no row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from index import Index
from index.models import NO_MODELS, Models
from muninn import searching
from muninn.model.listing import Entry
from muninn.model.rights import Globs, Rights
from muninn.model.sight import File
from muninn.questions import DEPTH, Answer, Engine, of_found
from muninn.vault import Vault

__all__ = ["ENGINES", "PRIVATE", "Answer", "Engine", "Maker", "search"]

PRIVATE: Final = Globs(("private/",))
OWNER: Final = Rights(None, frozenset({"read", "private"}), private_paths=PRIVATE)
"""Who asks where no door does: the owner, who sees everything."""


Maker = Callable[[Vault, Index], Engine | None]


def substring(vault: Vault, index: Index) -> Engine:
    """What a plain search in files finds: notes that hold the whole question, by how often."""
    texts: dict[str, str] = {}
    for entry in vault.walk():
        if isinstance(entry, Entry) and entry.kind == "note":
            sight = vault.look(entry.path)
            if isinstance(sight, File):
                texts[entry.path] = sight.content.decode(errors="replace").lower()

    def ask(text: str) -> Answer:
        counted = [(body.count(text.lower()), path) for path, body in texts.items()]
        found = sorted(((-count, path) for count, path in counted if count))
        return Answer(tuple(path for _, path in found[:DEPTH]), None)

    return ask


def bm25(vault: Vault, index: Index) -> Engine:
    """The lexical search, as ``search`` answers where no model is configured."""
    return search(vault, index, NO_MODELS)


def search(vault: Vault, index: Index, models: Models) -> Engine:
    """What ``search`` answers with these models."""

    def ask(text: str) -> Answer:
        asked = searching.Asked(text, limit=DEPTH)
        return of_found(searching.search(index, vault.look, vault.walk, OWNER, asked, models))

    return ask


ENGINES: Final[dict[str, Maker]] = {"substring": substring, "bm25": bm25}
"""In the order of the table. ``bm25`` is the one the baseline is kept of."""
