"""Hear what a writer told before it ended, start again in its place, and check the model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from muninn import writing
from muninn.model.content import MISSING
from muninn.model.draft import WriteDraft
from muninn.model.errors import LedgerUnavailableError, VaultUnavailableError

from . import model
from .model import Finding, Places
from .said import Said, fresh_note
from .writer import door_of, path_of, send

_FIRST: Final = path_of("w0/0.md")


def hear(text: str, said: Said) -> None:
    """Take the lines of a writer; a last one that is cut was never told."""
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            return
        told = json.loads(line)
        if "try" in told:
            said.tried.add(told["try"])
        else:
            said.answered(told, told.pop("sent"))


def begin(folder: Path, said: Said) -> None:
    """Open the places once, with a first write, so that what is proved afterwards is a door in use."""
    door = door_of(folder)
    content = fresh_note("first").encode()
    said.answered(send(door, WriteDraft(_FIRST, _FIRST, content, MISSING)), said.attempt(content))
    door.ledger.close()
    door.index.close()


def start_again(folder: Path, said: Said) -> list[Finding]:
    """What a new gateway would do at its start, and whether all holds then."""
    try:
        door = door_of(folder)
    except (LedgerUnavailableError, VaultUnavailableError) as error:
        return [Finding("slow", f"no start: {error}")]
    try:
        left = writing.recover_all(door)
        found = [Finding("pending", f"{e.terms.path} is pending after a start") for e in left if e.state == "pending"]
    finally:
        door.ledger.close()
        door.index.close()
    return found + model.check(Places(folder / "vault", folder / "home", said))


def in_child(work: Callable[[], None]) -> int:
    """Run something in a fork; gives its exit status, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
