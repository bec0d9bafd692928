"""What the owner may set about the index, and the two hands it is given on the vault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, overload

from muninn.model.content import NotePath
from muninn.model.listing import Entry, Fault, Known, Same
from muninn.model.rights import Globs
from muninn.model.sight import Sight

from .languages import AUTO

NO_LOGS: Final = Globs(())


class Walk(Protocol):
    """Every name of the vault, folder by folder. Raises VaultUnavailableError where the root is not there.

    With ``known`` a walk may leave out what is as known, if it ends the folder with a ``Same``.
    """

    @overload
    def __call__(self, *, known: None = None) -> Iterator[Entry | Fault]: ...
    @overload
    def __call__(self, *, known: Known) -> Iterator[Entry | Fault | Same]: ...


Look = Callable[[NotePath], Sight]
"""One file. Raises OSError where it cannot be read, VaultUnavailableError where the root is not there."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """``retired`` are statuses left out of answers; ``logs`` are paths that count half beside dated file names.

    ``folder_page`` is the name of the folders' index pages, whose managed block is not searched; None is off.
    ``origin`` says which vault, cut how, an index file is of: one of another origin is made anew.
    """

    retired: frozenset[str] = frozenset({"superseded", "archived", "retracted"})
    logs: Globs = NO_LOGS
    folder_page: str | None = "index.md"
    origin: str = ""
    language: str = AUTO
    """Of all notes; ``auto`` finds out each note's."""
    scan_every_s: float = 20.0
    watch: bool = True
    degraded_scan_s: float = 5.0
    busy_wait_s: float = 1.5
    rehash_every_s: float = 86_400.0
