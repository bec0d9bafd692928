"""What a running door is made of. Readers and writers get it as one value and take what they need from it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from index import Index
from index.models import NO_MODELS, Models
from ledger import Ledger
from muninn.contract import Contract
from muninn.model.content import NotePath
from muninn.turns import Line
from muninn.vault import Aside, Vault
from sandbox import Engine


@dataclass(slots=True)
class Coverage:
    """How much of the vault could be brought back after an outside edit: the notes whose bytes are kept."""

    bare: set[NotePath] = field(default_factory=set)
    """Notes whose present bytes are not kept."""
    counted: bool = False

    def share(self, notes: int, sees: Callable[[str], bool]) -> float:
        """The share of covered notes among the ``notes`` that somebody sees, 0 before they have been counted."""
        if not self.counted:
            return 0.0
        bare = sum(map(sees, self.bare.copy()))
        return 1.0 if notes == 0 else round(max(0.0, 1 - bare / notes), 4)


@dataclass(frozen=True, slots=True)
class Held:
    """A replaced file under its temp name, and when its time is over (seconds of the monotonic clock)."""

    path: NotePath
    aside: Aside
    due: float


@dataclass(slots=True)
class Holding:
    """Replaced files that are held for ``seconds``, oldest first; with 0 nothing is held."""

    seconds: float = 0.0
    waiting: deque[Held] = field(default_factory=deque)

    def add(self, path: NotePath, aside: Aside) -> None:
        """Hold a file from now on."""
        self.waiting.append(Held(path, aside, time.monotonic() + self.seconds))


@dataclass(slots=True)
class Searches:
    """When each client last searched, in seconds of ``clock``. Kept in memory alone: a start forgets it."""

    clock: Callable[[], float] = time.monotonic
    window_s: float = 30 * 60
    last: dict[str | None, float] = field(default_factory=dict)

    def note(self, client: str | None) -> None:
        """This client searches now."""
        self.last[client] = self.clock()

    def lately(self, client: str | None) -> bool:
        """Whether this client has searched within the window."""
        at = self.last.get(client)
        return at is not None and self.clock() - at <= self.window_s


def today() -> str:
    """The day that dates a folder's page, ``YYYY-MM-DD`` in UTC."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class Door:
    """One vault with its ledger, its index and its contract."""

    home: Path
    vault: Vault
    ledger: Ledger
    index: Index
    contract: Contract
    today: Callable[[], str] = today
    coverage: Coverage = field(default_factory=Coverage)
    held: Holding = field(default_factory=Holding)
    searches: Searches = field(default_factory=Searches)
    models: Models = NO_MODELS
    line: Line[Any] = field(default_factory=Line)
    """Where writes wait for their turn."""
    scripts: Engine = field(default_factory=Engine)
