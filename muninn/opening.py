"""Open what the settings name: the ledger, the vault, the index, and together a door.

Used by the gateway and by the commands that look at or write beside one; imports nothing of HTTP or MCP.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from index import Index, IndexSettings
from ledger import Ledger
from muninn.door import Door
from muninn.model.errors import LedgerUnavailableError, SettingsError, VaultUnavailableError
from muninn.model.rights import Globs
from muninn.settings import Places, Settings
from muninn.vault import MARK, Vault, adopt

log = logging.getLogger("muninn.opening")


def for_serving(settings: Settings) -> Door:
    """Open everything for a gateway: a new vault gets its id, a new home becomes that vault's.

    A ledger that cannot be read is no reason not to serve: reads go on and writes say why they stop. Raises
    VaultUnavailableError for a root that is not this home's vault, SettingsError where no vault is named.
    """
    root = vault_root(settings.places)
    make_home(settings.places)
    ledger = Ledger(settings.places.ledger)
    try:
        expected = ledger.vault_id
        was_served = (root / MARK).exists()
        vault = adopt(root, expected)
        if expected is None and vault.id is not None:
            ledger.belong_to(vault.id)
            if was_served:
                log.warning("this home has a new ledger, but the vault was served before: its history is elsewhere")
    except LedgerUnavailableError:
        vault = adopt(root, None)
    return Door(settings.places.home, vault, ledger, index_of(settings), settings.contract())


def beside(settings: Settings) -> Door:
    """Open what is there for a command: nothing is made but the index's own files."""
    root = vault_root(settings.places)
    if not root.is_dir():
        raise VaultUnavailableError(f"the vault's root is missing or no folder: {root}")
    ledger = Ledger(settings.places.ledger)
    expected = ledger.vault_id if settings.places.ledger.exists() else None
    vault = adopt(root, expected) if expected is not None else Vault(root, None)
    return Door(settings.places.home, vault, ledger, index_of(settings), settings.contract())


def index_of(settings: Settings) -> Index:
    """The index in the cache folder."""
    settings.places.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    chosen = IndexSettings(
        retired=frozenset(settings.values["retired"]),
        logs=Globs(tuple(settings.values["logs"])),
        folder_page=settings.values["folder_index"] or None,
        origin="\n".join([str(vault_root(settings.places).resolve()), *settings.private.patterns]),
    )
    return Index(settings.places.cache, settings.private.cover, chosen)


def vault_root(places: Places) -> Path:
    """The vault's folder. Raises SettingsError where none is named."""
    if places.vault is None:
        raise SettingsError("no vault is named: give --vault DIR, set MUNINN_VAULT, or write vault = … in muninn.toml")
    return places.vault


def make_home(places: Places) -> None:
    """The home, readable by its owner alone."""
    places.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chmod(places.home, 0o700)
