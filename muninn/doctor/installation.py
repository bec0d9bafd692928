"""The installation that is looked at: its settings, and what several checks need of it, found once and kept.

Nothing of it is opened for writing, and nothing is made.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw

from index.glimpse import Glimpse, glimpse
from ledger.glance import Standing, standing
from muninn.indexes import chosen
from muninn.model.errors import LedgerUnavailableError, MuninnError, SettingsError, VaultUnavailableError
from muninn.model.listing import Entry, Fault
from muninn.settings import Settings
from muninn.vault import Vault, is_served

from . import still

Progress = Callable[[int, int | None], None]
Stage = Callable[[str], AbstractContextManager[Progress]]
BROKEN: Final = (MuninnError, OSError, apsw.Error, UnicodeError)
"""What bad bytes, missing files and refused rights raise."""
SETTLED_S: Final = 60.0
"""What is younger than this may be a write, or a scan, that is still at work beside us."""
_TOLD_EVERY: Final = 500
_NO_VAULT: Final = "the vault is not there, or not this home's: see vault"


class LackingError(Exception):
    """What a check needs is not there, and another check says why; the text says what."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the person asked for. ``wrong`` is why the settings could not be read as they are; ``backup`` tells how the
    backup stands."""

    full: bool
    checkpoint: Path | None
    tls_key: Path | None
    wrong: str | None
    backup: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Survey:
    """One walk over the vault: what is in it, and what no client reaches."""

    entries: tuple[Entry, ...]
    faults: tuple[Fault, ...]

    @property
    def notes(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.kind == "note")

    @property
    def folders(self) -> set[str]:
        """Every folder that can be entered, the root as ``""``."""
        closed = {fault.path for fault in self.faults}
        return {"", *(str(entry.path) for entry in self.entries if entry.kind == "folder")} - closed


class Installation:
    """One vault, home and cache. Each part is looked at when it is first asked for."""

    def __init__(self, settings: Settings, asked: Asked, stage: Stage) -> None:
        self.settings: Final = settings
        self.places: Final = settings.places
        self.asked: Final = asked
        self.stage: Final = stage

    @functools.cached_property
    def standing(self) -> Standing | None:
        """What the ledger says of itself; None where there is none yet. Raises LedgerUnavailableError, apsw.Error."""
        places = self.places
        if not places.ledger.exists():
            if places.ledger_key.exists():
                raise LedgerUnavailableError(f"there is no {places.ledger.name} in the home, though its key is there")
            return None
        with self.stage("ledger"):
            return still.steady(places.ledger, lambda reader: standing(reader, expected=places.ledger_key.exists()))

    @property
    def book(self) -> Standing:
        """The same, for a check that needs a ledger."""
        try:
            found = self.standing
        except BROKEN:
            raise LackingError("the ledger cannot be read: see ledger") from None
        if found is None:
            raise LackingError("there is no ledger yet; it is made when the gateway first starts")
        return found

    @functools.cached_property
    def root(self) -> Path:
        """The vault's folder, as far as one is named and there."""
        if self.places.vault is None or not self.places.vault.is_dir():
            raise LackingError(_NO_VAULT)
        return self.places.vault

    @functools.cached_property
    def vault(self) -> Vault:
        """The vault, if it is the one that the ledger belongs to."""
        try:
            found = self.standing
        except BROKEN:
            found = None
        vault = Vault(self.root, None if found is None else found.vault_id)
        try:
            with vault.opened():
                return vault
        except VaultUnavailableError:
            raise LackingError(_NO_VAULT) from None

    @functools.cached_property
    def survey(self) -> Survey:
        """Everything in the vault, by one walk."""
        entries: list[Entry] = []
        faults: list[Fault] = []
        try:
            with self.stage("walk") as progress:
                for number, told in enumerate(self.vault.walk()):
                    if isinstance(told, Entry):
                        entries.append(told)
                    else:
                        faults.append(told)
                    if number % _TOLD_EVERY == 0:
                        progress(number, None)
        except VaultUnavailableError:
            raise LackingError(_NO_VAULT) from None
        return Survey(tuple(entries), tuple(faults))

    @functools.cached_property
    def shelves(self) -> tuple[Glimpse | None, Glimpse | None]:
        """The index of public notes and that of private ones; None for one that is not there or still being made.

        Raises IndexBrokenError.
        """
        files = (self.places.cache / "index.db", self.places.cache / "index-private.db")
        try:
            own = chosen(self.settings)
        except (SettingsError, VaultUnavailableError):
            raise LackingError(_NO_VAULT) from None
        with self.stage("index"):
            found = [
                still.steady(file, lambda reader: glimpse(reader, own)) if file.exists() else None for file in files
            ]
        return found[0], found[1]

    @functools.cached_property
    def served(self) -> bool:
        """Whether a gateway holds the vault now."""
        try:
            return is_served(self.root)
        except OSError:
            raise LackingError(_NO_VAULT) from None

    def is_young(self, path: str) -> bool:
        """Whether a gateway that runs may not have come to a change of this path yet, or is at work on it."""
        if not self.served:
            return False
        for place in (self.root / path, (self.root / path).parent):
            try:
                seen = place.lstat()
            except OSError:
                continue
            if time.time() - max(seen.st_mtime, seen.st_ctime) < SETTLED_S:
                return True
        return False
