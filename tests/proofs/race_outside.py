"""A writer through the door against an editor around it, in tight interleavings: what the editor wrote is never lost.

Each write through the door is met by one version of the outsider, at a random instant of it. That version can only be
taken away by the door, so it must be on disk or kept afterwards. For editors who write in place this holds within
the two seconds that a replaced file is held (``muninn.holding``); what happened outside of that is counted.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from muninn import external, holding, writing
from muninn.door import Door
from muninn.model import seams
from muninn.model.content import MISSING
from muninn.model.draft import ArchiveDraft, Draft, WriteDraft

from . import model, records
from .model import Finding
from .said import Said, fresh_note
from .table import Row
from .writer import door_of, path_of, present, send

_NOTE: Final = path_of("race/n.md")
_HELD_FOR_SURE_S: Final = 1.5


@dataclass(frozen=True, slots=True)
class Meeting:
    """One write through the door, and the outsider's version that met it."""

    began: float
    ended: float
    state: str
    outside: dict[str, Any]

    @property
    def overlapped(self) -> bool:
        """Whether the version was put in place while the door was writing."""
        return (
            bool(self.outside["hash"]) and self.began <= self.outside["ended"] and self.outside["began"] <= self.ended
        )


class Outsider:
    """The other process."""

    def __init__(self, manner: str, folder: Path, seed: int) -> None:
        root = str(Path(__file__).parents[2])
        command = [sys.executable, "-P", "-m", "tests.proofs.outsider", manner, str(folder), "n.md", str(seed)]
        environment = os.environ | {"PYTHONPATH": root}
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def go(self, longest: float) -> None:
        """Let it put its next version in place, after at most so many seconds."""
        self._pipe(self._process.stdin).write(f"{longest:.6f}\n".encode())
        self._pipe(self._process.stdin).flush()

    def told(self) -> dict[str, Any]:
        """What it did."""
        found: dict[str, Any] = json.loads(self._pipe(self._process.stdout).readline())
        return found

    def end(self) -> None:
        self._pipe(self._process.stdin).close()
        self._process.wait(timeout=20)
        self._pipe(self._process.stdout).close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


def prove(folder: Path, meetings: int, manner: str, seed: int = 1, seconds: float = 1e9) -> Row:
    """Meet ``meetings`` times, or for so many seconds."""
    row = Row(f"door against {manner}")
    (folder / "vault/race").mkdir(parents=True)
    door, said = door_of(folder), Said()
    door.held.seconds = holding.HOLD_S
    stop = threading.Event()
    releasing = threading.Thread(target=holding.keep_releasing, args=(door, stop))
    releasing.start()
    outsider = Outsider(manner, folder / "vault/race", seed)
    met: list[Meeting] = []
    chance, deadline, longest = random.Random(seed), time.monotonic() + seconds, 0.005
    try:
        while len(met) < meetings and time.monotonic() < deadline:
            # In place, many should come after the answer, into the file that is held: that is what is promised.
            met.append(_meet(door, said, outsider, chance, longest * (1 if manner in ("rename", "swap") else 4)))
            longest = min(0.05, 0.9 * longest + 0.1 * (met[-1].ended - met[-1].began))
    finally:
        seams.arm(None)
        outsider.end()
        stop.set()
        releasing.join()
    places = model.Places(folder / "vault", folder / "home", said, pages=False)
    row.take(_lost(places, met, manner, row))
    if manner in ("rename", "swap"):
        row.take(model.check(places))
    door.ledger.close()
    door.index.close()
    row.rounds, row.acknowledged = len(met), len(said.acks)
    return row


def _meet(door: Door, said: Said, outsider: Outsider, chance: random.Random, longest: float) -> Meeting:
    now = present(door, _NOTE)
    content = fresh_note("door").encode()
    draft: Draft = WriteDraft(_NOTE, _NOTE, content, now)
    if now is not MISSING and chance.random() < 0.25:
        draft = ArchiveDraft(_NOTE, now, "obsolete", None)
    sent = said.attempt(content) if isinstance(draft, WriteDraft) else None
    close = chance.random() < 0.5
    ordered = False

    def at_the_exchange(point: str, path: str | None) -> None:
        # The tightest meeting of all: both go for the name at the same instant.
        nonlocal ordered
        if point == "vault.exchange" and path == _NOTE and not ordered:
            ordered = True
            outsider.go(0.0005)

    seams.arm(at_the_exchange if close else None)
    if not close:
        ordered = True
        outsider.go(longest)
    began = time.monotonic()
    answer = send(door, draft)
    ended = time.monotonic()
    seams.arm(None)
    if not ordered:
        outsider.go(0.0)
    outside = outsider.told()
    if outside["hash"]:
        said.attempt(outside["text"].encode(), outside=True)
    said.answered(answer, sent)
    if answer.get("state") == "pending":
        writing.recover(door, "a", answer["pending_id"])
    # As a scan would: what is on disk now is known, so that the outsider's next version cannot be what loses it.
    external.record(door, [_NOTE])
    return Meeting(began, ended, answer.get("state") or answer["error"]["code"], outside)


def _lost(places: model.Places, met: list[Meeting], manner: str, row: Row) -> list[Finding]:
    """The outsider's versions that are neither on disk nor kept."""
    kept, present_now = records.read(places.home / "ledger.db").kept, set(model.on_disk(places.vault).values())
    versions = [meeting for meeting in met if meeting.outside["hash"]]
    gone = [one for one in versions if one.outside["hash"] not in kept and one.outside["hash"] not in present_now]
    states: dict[str, int] = {}
    for one in met:
        states[one.state] = states.get(one.state, 0) + 1
    overlapped = sum(one.overlapped for one in met)
    row.notes.append(f"{overlapped} of {len(met)} writes were overlapped; {len(gone)} versions lost; answers {states}")
    owed = gone if manner in ("rename", "swap") else [one for one in gone if _owed(one)]
    if manner not in ("rename", "swap"):
        within = sum(_owed(one) for one in versions)
        row.notes.append(f"{len(versions) - len(gone)} kept, {len(gone)} lost; {within} of them within the promise")
    return [Finding("lost", f"an outsider's {one.outside['hash'][:12]} ({one.state})") for one in owed]


def _owed(meeting: Meeting) -> bool:
    """Written after the door had answered and well within the time that a replaced file is held."""
    return bool(
        meeting.ended < meeting.outside["began"] and meeting.outside["ended"] < meeting.ended + _HELD_FOR_SURE_S
    )
