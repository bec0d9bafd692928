"""A process of its own that writes through a door, tells each answer as a line, and may be killed or let down at any
system call: ``python -P -m tests.proofs.writer FOLDER WRITES [--die-on-refusal] [--crowd]``.

Each line is JSON: first ``{"try": hash}``, then the answer as a gateway would give it, with the hash that was ``sent``.
A crowd is eight clients in threads, each with notes of its own in the same two folders.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muninn import opening, settings, writing
from muninn.door import Door
from muninn.model.change import Receipt
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.draft import Append, ArchiveDraft, Draft, EditDraft, WriteDraft
from muninn.model.refusal import Refusal
from muninn.model.rights import SCOPES, Rights
from muninn.model.sight import File

from .said import fresh_note


def door_of(folder: Path) -> Door:
    """A door on ``vault``, ``home`` and ``cache`` below a folder."""
    places = (str(folder / name) for name in ("vault", "home", "cache"))
    return opening.for_serving(settings.load({}, *places))


def path_of(text: str) -> NotePath:
    """A path that is one."""
    found = NotePath.parse(text)
    assert isinstance(found, NotePath), found
    return found


def rights(client: str = "a") -> Rights:
    """The rights of a client that may do all."""
    return Rights(client, frozenset(SCOPES))


def send(door: Door, draft: Draft, client: str = "a") -> dict[str, Any]:
    """Commit a draft; the outcome in the words of a gateway's answer."""
    try:
        outcome = writing.commit(door, rights(client), draft, None)
    except Exception as error:  # what a gateway turns into a refusal of its own
        return {"error": {"code": type(error).__name__, "message": str(error)}}
    match outcome:
        case Receipt(plan, event):
            sides = {"path": plan.path, "hash": str(plan.after), "previous_hash": str(plan.before)}
            return sides | {"state": "committed", "event": event}
        case Refusal(code, message):
            return {"error": {"code": code.value, "message": message}}
        case _:
            return {"state": "pending", "pending_id": getattr(outcome, "id", "")}


def present(door: Door, path: NotePath) -> Basis:
    """What a path holds now."""
    sight = door.vault.look(path)
    return sight.hash if isinstance(sight, File) else MISSING


def drafts(number: int, tell: Callable[[bytes], None], who: str = "") -> Callable[[Door], Draft]:
    """The n-th of a fixed row of drafts over two folders: create, overwrite, edit, archive, create again."""
    path = path_of(f"w{number // 5 % 2}/{who}{number // 10}.md")

    def made(door: Door) -> Draft:
        now = present(door, path)
        if number % 5 == 3 and now is not MISSING:
            return ArchiveDraft(path, now, "obsolete", None)
        sight = door.vault.look(path)
        if number % 5 == 2 and isinstance(sight, File):
            more = fresh_note("more").rpartition("---\n")[2]
            tell(sight.content + more.encode())
            return EditDraft(path, (Append(more),), sight.hash)
        content = fresh_note(f"writer {number}").encode()
        tell(content)
        return WriteDraft(path, path, content, now)

    return made


def main() -> None:
    """Write, and tell."""
    folder, writes, dies = Path(sys.argv[1]), int(sys.argv[2]), "--die-on-refusal" in sys.argv
    door = door_of(folder)
    who = [f"{client}-" for client in "abcdefgh"] if "--crowd" in sys.argv else [""]
    threads = [threading.Thread(target=_write, args=(door, writes, one, dies)) for one in who]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    door.ledger.close()
    door.index.close()


def _write(door: Door, writes: int, who: str, dies: bool) -> None:
    for number in range(writes):
        sent: list[str] = []

        def tell(content: bytes, sent: list[str] = sent) -> None:
            sent.append(ContentHash.of(content))
            _say({"try": sent[0]})

        try:
            draft = drafts(number, tell, who)(door)
        except Exception:
            continue
        answer = send(door, draft)
        _say(answer | {"sent": sent[0] if sent else None})
        if dies and "error" in answer:
            os._exit(70)


def _say(line: dict[str, Any]) -> None:
    os.write(1, (json.dumps(line) + "\n").encode())


if __name__ == "__main__":
    main()
