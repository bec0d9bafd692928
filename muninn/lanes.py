"""Threads for the calls, in lanes of their own: who waits in one keeps nobody waiting in another.

Reads, writes and scripts have lanes apart, so that a writer who waits for the ledger, or a script that computes for a
minute, never takes a reader's turn. In each lane one client gets a share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import anyio
from anyio import CapacityLimiter

Lane = Literal["read", "write", "script"]

AT_ONCE: Final[dict[Lane, int]] = {"read": 24, "write": 8, "script": 4}
"""How many calls run at once."""
SHARE: Final = 4
"""Reads and writes of one client that run at once."""
SCRIPT_SHARE: Final = 2
"""Scripts of one client that run at once."""
SCRIPT_WAIT_S: Final = 30.0
"""A script that has waited so long for its turn is refused."""


class NoTurnError(Exception):
    """A script waited too long for its turn."""


class Lanes:
    """The lanes of one gateway."""

    def __init__(self) -> None:
        self._limits = {lane: CapacityLimiter(total) for lane, total in AT_ONCE.items()}
        self._shares: dict[str | None, CapacityLimiter] = {}
        self._script_shares: dict[str | None, CapacityLimiter] = {}

    async def run(self, client: str | None, work: Callable[[], Any], lane: Lane) -> Any:
        """Run a client's work in a thread when its turn comes. Raises NoTurnError for a script whose turn did not come
        within ``SCRIPT_WAIT_S``."""
        # A client that asks for much at once waits for itself, not others for it.
        if lane == "script":
            share = self._script_shares.setdefault(client, CapacityLimiter(SCRIPT_SHARE))
            async with _turn(share, self._limits[lane]):
                return await anyio.to_thread.run_sync(work, limiter=CapacityLimiter(1))
        async with self._shares.setdefault(client, CapacityLimiter(SHARE)):
            return await anyio.to_thread.run_sync(work, limiter=self._limits[lane])


@asynccontextmanager
async def _turn(share: CapacityLimiter, lane: CapacityLimiter) -> AsyncIterator[None]:
    """Hold a place in both, the client's share first; waited for on the event loop, where waiting costs nothing."""
    me = object()
    held: list[CapacityLimiter] = []
    try:
        with anyio.move_on_after(SCRIPT_WAIT_S):
            for limit in (share, lane):
                await limit.acquire_on_behalf_of(me)
                held.append(limit)
        if len(held) < 2:
            raise NoTurnError
        yield
    finally:
        for limit in reversed(held):
            limit.release_on_behalf_of(me)
