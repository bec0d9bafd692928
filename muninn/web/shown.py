"""What a person was shown before saying yes: the digest that a form carries, and the texts of both sides.

A plan that is made again and has another digest is another plan: nothing of it is carried out before it was shown.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

from muninn.door import Door
from muninn.model.content import MISSING, Basis


@dataclass(frozen=True, slots=True)
class Sides:
    """The bytes before and after; None where there is no file, or where they are not kept."""

    before: bytes | None = field(default=None, repr=False)
    after: bytes | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        return len(self.before or b"") + len(self.after or b"")


def digest(*shown: Any) -> str:
    """The SHA-256 of what was shown, in hex. Takes what JSON can hold."""
    return hashlib.sha256(json.dumps(shown, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def is_what_was_shown(carried: str, plan_digest: str) -> bool:
    """Whether a form carries the digest of this plan."""
    return hmac.compare_digest(carried.encode("utf-8", "surrogatepass"), plan_digest.encode())


def content_of(door: Door, basis: Basis) -> bytes | None:
    """Kept bytes by their hash; None for no file."""
    return None if basis is MISSING else door.ledger.content(basis)
