"""A gateway under proof: with fault points, with many notes, killed and started again."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.door.gateway import Gateway

from . import nursery
from .model import Finding, Places
from .said import Said, fresh_note

READY_S: Final = 10.0
"""How long a start may take, on a machine that has a core to spare for it."""
PATIENCE_S: Final = 90.0
FRESH: Final = 10
_BUSY: Final = 1.5
"""Above this load a core, the time of a start says more of its neighbours than of itself."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a start went: the seconds until it was ready, None where it did not come to that."""

    seconds: float | None
    fresh: bool

    def judged(self) -> list[Finding]:
        """A start that failed, or that was too slow on a machine that was not too busy."""
        if self.seconds is None:
            return [Finding("slow", "it did not start")]
        busy = os.getloadavg()[0] / (os.cpu_count() or 1) > _BUSY
        slow = self.fresh and self.seconds > READY_S and not busy
        return [Finding("slow", f"ready only after {self.seconds:.1f} s")] if slow else []


@dataclass(slots=True)
class Proved(Gateway):
    """A gateway with what was said to it. ``faulty`` arms its fault points from ``faults.json``."""

    said: Said = field(default_factory=Said)
    faulty: bool = False
    starts: int = 0

    @property
    def environment(self) -> dict[str, str]:
        plain: dict[str, str] = Gateway.environment.__get__(self)
        return plain | self.seams(self.faults) if self.faulty else plain

    @property
    def faults(self) -> Path:
        return self.folder / "faults.json"

    @property
    def places(self) -> Places:
        return Places(self.vault, self.home, self.said)

    def seams(self, file: Path) -> dict[str, str]:
        """What arms the fault points of a process."""
        return {"MUNINN_TEST": "1", "MUNINN_TEST_FAULTS": str(file)}

    def arm(self, *faults: dict[str, Any], file: Path | None = None) -> None:
        """Put these faults in the place of all that were armed, in one step."""
        target = file or self.faults
        new = target.with_suffix(".new")
        new.write_text(json.dumps(faults))
        new.replace(target)

    def attempt(self, tool: str, arguments: dict[str, Any], content: str | None = None) -> dict[str, Any] | None:
        """A writing call, noted before it is sent and when it is answered; None where the gateway died.

        ``content`` is what the path would hold, where the call puts something there.
        """
        sent = None if content is None else self.said.attempt(content.encode())
        try:
            answer = self.call(tool, arguments)
        except (OSError, http.client.HTTPException):
            return None
        self.said.answered(answer, sent)
        return answer

    def begin(self) -> Start:
        """Start it and wait until it is ready: every tenth time as a person would, else forked from the nursery."""
        fresh = self.starts % FRESH == FRESH - 1
        self.starts += 1
        began = time.monotonic()
        arguments = ["serve", "--port", str(self.port)]
        log = self.folder / "log"
        if fresh:
            with log.open("ab") as lines:
                command = [sys.executable, "-P", "-m", "muninn", *arguments]
                self.process = subprocess.Popen(command, env=self.environment, stdout=lines, stderr=lines)
        else:
            self.process = nursery.SHARED.bear(arguments, self.environment, log)
        while time.monotonic() - began < PATIENCE_S:
            if self.died(0.0):
                return Start(None, fresh)
            try:
                if self.ask("GET", "/health", {}).status == 200:
                    return Start(time.monotonic() - began, fresh)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
        return Start(None, fresh)

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=20)

    def died(self, within: float) -> bool:
        """Whether the process ends by itself in that time."""
        assert self.process is not None
        deadline = time.monotonic() + within
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.process.poll() is not None

    def traceback(self) -> list[Finding]:
        """A finding where the log holds one."""
        return [Finding("answer", "the log holds a Traceback")] if "Traceback" in self.log() else []


def _free_port() -> int:
    """A port below those that the system hands out to clients: between two starts nobody gets it by chance."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def made(folder: Path, notes: int, *, faulty: bool = False) -> Iterator[Proved]:
    """A vault with this many small notes, not yet served; whatever runs at the end is ended."""
    place = Proved(folder, _free_port(), faulty=faulty)
    place.vault.mkdir(parents=True)
    place.home.mkdir()
    (place.home / "muninn.toml").write_text("rate_per_s = 0\n")
    place.add("a")
    place.arm()
    for number in range(notes):
        file = place.vault / f"old/{number // 100}/{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        content = fresh_note(f"old {number}").encode()
        place.said.attempt(content, outside=True)
        file.write_bytes(content)
    try:
        yield place
    finally:
        if place.process is not None and place.process.poll() is None:
            place.kill()
