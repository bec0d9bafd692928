"""What clients tried and what they were told: the outside view that vault and ledger are compared with."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muninn.model.content import ContentHash

_number = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Ack:
    """An answer ``committed``: from now on the door owes these bytes. ``event`` is None where it was not told."""

    path: str
    before: str
    after: str
    event: str | None


@dataclass(slots=True)
class Said:
    """All attempts and answers of one proof. Every attempt has bytes of its own, so that bytes name the attempt."""

    tried: set[str] = field(default_factory=set)
    """Hashes of whole contents that anybody tried to put into the vault."""
    outside: set[str] = field(default_factory=set)
    """Those of them that came around the door."""
    acks: list[Ack] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Hashes that were refused, with the code: they must never appear."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def attempt(self, content: bytes, *, outside: bool = False) -> str:
        """Note a content before it is sent; gives its hash."""
        digest = ContentHash.of(content)
        with self.lock:
            self.tried.add(digest)
            if outside:
                self.outside.add(digest)
        return digest

    def answered(self, answer: Mapping[str, Any] | None, sent: str | None = None) -> None:
        """Note what a writing call came to; None where no answer arrived, so that nothing was promised."""
        if answer is None:
            return
        with self.lock:
            if "error" in answer:
                if sent is not None:
                    self.refused[sent] = answer["error"]["code"]
            elif answer["state"] == "committed":
                self.acks.append(Ack(answer["path"], answer["previous_hash"], answer["hash"], answer["event"]))


def fresh_note(about: str, size: int = 0) -> str:
    """A note that meets the contract, different from every other; its first sentence differs, too."""
    number = next(_number)
    head = f"---\ntitle: {about}\ntype: note\nstatus: active\ntags: [proof, trial]\ndate: 2026-05-04\n---\n"
    body = f"Attempt {number} at {about}.\n"
    return head + body + "x" * max(0, size - len(head) - len(body))
