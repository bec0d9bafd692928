"""The contract as one versioned object, made from the rules that enforce it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from muninn.model import frontmatter
from muninn.model.note import Note
from muninn.model.rights import Globs

from . import rules as rule_values
from .rules import MAX_NOTE_BYTES, Finding, OwnerRules, Rule

BUILT_IN_VERSION: Final = 1
DEFAULT_PRIVATE: Final = ("private/",)
DEFAULT_PAGE: Final = "index.md"


@dataclass(frozen=True, slots=True)
class Contract:
    """Rules, limits and names that every client can ask for and every write is judged by."""

    version: str
    digest: str
    rules: tuple[Rule, ...]
    folder_page: str | None
    private: Globs
    exempt: Globs

    def publish(self) -> dict[str, Any]:
        """The object that the tool ``contract`` and the resource ``muninn://contract`` give."""
        return {"version": self.version, "digest": self.digest} | _body(
            self.rules, self.folder_page, self.private, self.exempt
        )

    def judge(self, note: Note) -> tuple[Finding, ...]:
        """Every fault of a note that is about to be written, all at once; empty where it may land.

        Private notes and the owner's exempt folders need only be text within the size limit.
        """
        if self.private.cover(note.path) or self.exempt.cover(note.path):
            return ()
        return tuple(finding for rule in self.rules for finding in rule.check(note))

    def is_page(self, name: str) -> bool:
        """Whether a file name is that of a folder's page."""
        return self.folder_page is not None and name.lower() == self.folder_page.lower()


def build(
    owner: OwnerRules | None = None,
    folder_page: str | None = DEFAULT_PAGE,
    private: Iterable[str] = DEFAULT_PRIVATE,
) -> Contract:
    """The contract with the owner's rules. Its version is the built-in number, and ``N+`` and 8 hex digits of the
    digest as soon as anything published differs from the built-in contract."""
    owner = owner or OwnerRules()
    rules = rule_values.build(owner)
    private_globs, exempt = Globs(tuple(private)), Globs(owner.exempt)
    digest = _digest(_body(rules, folder_page, private_globs, exempt))
    built_in = _digest(_body(rule_values.build(OwnerRules()), DEFAULT_PAGE, Globs(DEFAULT_PRIVATE), Globs(())))
    version = str(BUILT_IN_VERSION) if digest == built_in else f"{BUILT_IN_VERSION}+{digest[:8]}"
    return Contract(version, digest, rules, folder_page, private_globs, exempt)


def _body(rules: tuple[Rule, ...], folder_page: str | None, private: Globs, exempt: Globs) -> dict[str, Any]:
    published = [
        {"id": rule.id, "blocks": rule.blocks, "says": rule.says, "good": rule.good, "bad": rule.bad} for rule in rules
    ]
    limits = {
        "note_bytes": MAX_NOTE_BYTES,
        "frontmatter_bytes": frontmatter.MAX_BYTES,
        "frontmatter_depth": frontmatter.MAX_DEPTH,
        "number_digits": frontmatter.MAX_DIGITS,
        "exempt": list(exempt.patterns),
    }
    return {"rules": published, "limits": limits, "folder_index": folder_page, "private": list(private.patterns)}


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
