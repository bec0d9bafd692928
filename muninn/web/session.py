"""Sessions of the console: a client's token, shown once, becomes an id that ends by itself.

A session names a client by the digest of its token and holds no rights: these are read from the Register at every
request, so a client that is revoked, rotated or expired is out at the next one. Ids are kept as their SHA-256 and in
memory alone: a restart logs everybody out, and no file or dump of one holds what would let a stranger in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from muninn.clients import Client, Register

IDLE_S: Final = 30 * 60.0
WHOLE_S: Final = 12 * 60 * 60.0
MOST: Final = 256
MOST_OF_ONE: Final = 16
"""Sessions of one client; the one longest unused makes room."""

TRIES: Final = 10.0
TRY_EVERY_S: Final = 6.0
"""Ten wrong tokens at once from one address, then one in six seconds."""
ALL_TRIES: Final = 100.0
ALL_EVERY_S: Final = 0.6
_MOST_PEERS: Final = 1024


@dataclass(slots=True)
class Session:
    """One login. ``csrf`` goes into every form of its pages; times are seconds of a monotonic clock."""

    digest: str
    client: str
    csrf: str
    made: float
    seen: float


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody logged in: the session, and the client as the Register has it now."""

    session: Session
    client: Client


@dataclass(slots=True)
class Sessions:
    """Who is logged in."""

    register: Register
    clock: Callable[[], float] = time.monotonic
    _open: dict[str, Session] = field(default_factory=dict, repr=False)

    def begin(self, token: bytes) -> str | None:
        """The id of a new session for the client this token belongs to; None for a wrong or expired token."""
        client = self.register.find(token, datetime.now(UTC))
        if client is None:
            return None
        now = self.clock()
        self._make_room(client.digest, now)
        session_id = secrets.token_urlsafe(32)
        self._open[_kept(session_id)] = Session(client.digest, client.name, secrets.token_urlsafe(32), now, now)
        return session_id

    def admit(self, session_id: str) -> Admitted | None:
        """The session of this id, used now; None where there is none, or where its client is no more the same."""
        # Found by a hash of what was sent: how far a wrong id agrees with a right one shows in no time.
        key = _kept(session_id)
        session = self._open.get(key)
        if session is None:
            return None
        now = self.clock()
        client = None if _is_over(session, now) else self.register.named_by(session.digest, datetime.now(UTC))
        if client is None or client.name != session.client:
            self._open.pop(key, None)
            return None
        session.seen = now
        return Admitted(session, client)

    def end(self, session_id: str) -> None:
        """Log out. An id that is none is passed over."""
        self._open.pop(_kept(session_id), None)

    def _make_room(self, digest: str, now: float) -> None:
        for key in [key for key, session in self._open.items() if _is_over(session, now)]:
            del self._open[key]
        own = [key for key, session in self._open.items() if session.digest == digest]
        full = own if len(own) >= MOST_OF_ONE else list(self._open) if len(self._open) >= MOST else []
        if full:
            del self._open[min(full, key=lambda key: self._open[key].seen)]


def _is_over(session: Session, now: float) -> bool:
    return now - session.seen > IDLE_S or now - session.made > WHOLE_S


def _kept(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogateescape")).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing of either."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class _Debt:
    """Wrong tokens that still count, at a time."""

    count: float
    at: float

    def now(self, now: float, every_s: float) -> float:
        return max(0.0, self.count - (now - self.at) / every_s)


@dataclass(slots=True)
class Tries:
    """Wrong tokens, counted for each address and for all together. Right ones cost nothing."""

    clock: Callable[[], float] = time.monotonic
    _peers: dict[str, _Debt] = field(default_factory=dict)
    _all: _Debt = field(default_factory=lambda: _Debt(0.0, 0.0))

    def wait_s(self, peer: str | None) -> float:
        """How long this address must wait before it may try again; 0 where it may now. None: an unknown address, for
        which the count of all together stands."""
        now = self.clock()
        own = self._peers.get(peer) if peer is not None else None
        mine = 0.0 if own is None else own.now(now, TRY_EVERY_S) - (TRIES - 1)
        everybody = self._all.now(now, ALL_EVERY_S) - (ALL_TRIES - 1)
        return max(0.0, mine * TRY_EVERY_S, everybody * ALL_EVERY_S)

    def failed(self, peer: str | None) -> None:
        """A wrong token came from this address."""
        now = self.clock()
        self._all = _Debt(self._all.now(now, ALL_EVERY_S) + 1, now)
        if peer is None:
            return
        if peer not in self._peers and len(self._peers) >= _MOST_PEERS:
            # Whoever has waited longest owes least; where many addresses try, the count of all together holds.
            del self._peers[min(self._peers, key=lambda name: self._peers[name].at)]
        own = self._peers.get(peer, _Debt(0.0, now))
        self._peers[peer] = _Debt(own.now(now, TRY_EVERY_S) + 1, now)
