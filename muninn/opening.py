"""Open what the settings name: the ledger, the vault, the index, and together a door.

Used by the gateway and by the commands that look at or write beside one; imports nothing of HTTP or MCP.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress

from ledger import Ledger, checkpoint
from muninn.door import Door
from muninn.indexes import index_of, vault_root
from muninn.model.errors import LedgerUnavailableError
from muninn.settings import Places, Settings
from muninn.thinking import models_of
from muninn.vault import MARK, Vault, adopt

log = logging.getLogger("muninn.opening")


def for_serving(settings: Settings) -> Door:
    """Open everything for a gateway: a new vault gets its id, a new home becomes that vault's.

    A ledger that cannot be read is no reason not to serve: reads go on and writes say why they stop. Raises
    VaultUnavailableError for a root that is not this home's vault, SettingsError where no vault is named, or where
    the ledger's key is no key or not private.
    """
    root = vault_root(settings.places)
    make_home(settings.places)
    ledger = _glanced_at(settings.places)
    expected: str | None = None
    with suppress(LedgerUnavailableError):
        expected = ledger.vault_id
    was_served = (root / MARK).exists()
    vault = adopt(root, expected)
    with suppress(LedgerUnavailableError):
        if expected is None and vault.id is not None:
            ledger.belong_to(vault.id)
            if was_served:
                log.warning("this home has a new ledger, but the vault was served before: its history is elsewhere")
        ledger.name_key(checkpoint.public_of(checkpoint.open_key(settings.places.ledger_key)))
    models = models_of(settings)
    return Door(settings.places.home, vault, ledger, index_of(settings), settings.contract(), models=models)


def _glanced_at(places: Places) -> Ledger:
    """The ledger, looked over. Where a key was made there was a ledger with rows: one without them was emptied."""
    expected = places.ledger_key.exists() and places.ledger.exists()
    ledger = Ledger(places.ledger)
    note = ledger.glance(expected=expected)
    if note is not None:
        log.warning(note)
    if ledger.fault is not None:
        log.error("the ledger is broken: writes stop, reads go on; run muninn ledger verify: %s", ledger.fault)
    return ledger


def beside(settings: Settings) -> Door:
    """Open what is there for a command: nothing is made but the index's own files."""
    root = vault_root(settings.places)
    ledger = Ledger(settings.places.ledger)
    expected = ledger.vault_id if settings.places.ledger.exists() else None
    vault = adopt(root, expected) if expected is not None else Vault(root, None)
    return Door(settings.places.home, vault, ledger, index_of(settings), settings.contract())


def make_home(places: Places) -> None:
    """The home, readable by its owner alone."""
    places.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chmod(places.home, 0o700)
