"""The index as the settings name it. Apart from ``opening``, because a search needs no ledger and no door."""

from __future__ import annotations

import os
from pathlib import Path

from index import Index, IndexSettings
from muninn.model.errors import SettingsError, VaultUnavailableError
from muninn.model.rights import Globs
from muninn.settings import Places, Settings


def index_of(settings: Settings) -> Index:
    """The index in the cache folder."""
    settings.places.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Index(settings.places.cache, settings.private.cover, chosen(settings))


def chosen(settings: Settings) -> IndexSettings:
    """What of the settings concerns the index."""
    return IndexSettings(
        retired=frozenset(word.casefold() for word in settings.values["retired"]),
        language=settings.values["language"].lower(),
        logs=Globs(tuple(settings.values["logs"])),
        folder_page=settings.values["folder_index"] or None,
        origin="\n".join([str(vault_root(settings.places).resolve()), *settings.private.patterns]),
    )


def vault_root(places: Places) -> Path:
    """The vault's folder. Raises SettingsError where none is named, VaultUnavailableError where none is there."""
    if places.vault is None:
        raise SettingsError("no vault is named: give --vault DIR, set MUNINN_VAULT, or write vault = … in muninn.toml")
    if not os.path.isdir(places.vault):
        raise VaultUnavailableError(
            f"expected the vault, a folder of notes, at {places.vault}; there is none that can be opened: "
            "look at --vault or MUNINN_VAULT (with make: VAULT=DIR), or whether it is mounted"
        )
    return places.vault
