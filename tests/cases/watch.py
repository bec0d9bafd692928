"""Watches over a step while it runs: whether the door goes on answering others, and how much memory it takes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from . import calls
from .verdict import CaseError
from .world import World

_EVERY_S = 0.2
_ANSWER_S = 2.0
_SAMPLE_S = 0.05


class Alive:
    """Calls contract, and reads a path where one is given, as the last client, until after the step's end."""

    def __init__(self, world: World, path: str | None) -> None:
        self._world = world
        self._path = path
        self._over = threading.Event()
        self._wrong: str | None = None
        self._rounds = 0
        self._server = world.server
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> str | None:
        """Makes one more round after the step's end; what went wrong first, None where nothing did."""
        self._over.set()
        self._thread.join()
        return self._wrong

    def _run(self) -> None:
        while self._wrong is None:
            began, last = time.monotonic(), self._over.is_set()
            try:
                self._wrong = self._round()
            except CaseError as wrong:
                self._wrong = str(wrong)
            if last:
                return
            self._over.wait(max(0.0, began + _EVERY_S - time.monotonic()))

    def _round(self) -> str | None:
        server = self._server
        if server is None or not server.running() or self._world.server is not server:
            return "the server's process is not the same"
        if not self._world.clients:
            return "the case has no client"
        client = str(self._world.clients[-1]["name"])
        asked: list[tuple[str, dict[str, Any]]] = [("contract", {})]
        if self._path is not None:
            asked.append(("read", {"path": self._path}))
        for name, args in asked:
            record = calls.call(self._world.door(client), name, args, limit_s=30.0)
            if record.fault:
                return f"{name}: {record.fault}"
            if record.seconds > _ANSWER_S:
                return f"{name} took {record.seconds:.2f} s"
        self._rounds += 1
        return None


class Memory:
    """Samples the resident memory of the server's process."""

    def __init__(self, world: World) -> None:
        self._pid = world.server.child.pid if world.server is not None else None
        self._before = resident_mib(self._pid)
        self._most = self._before
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> float | None:
        """By how many MiB it grew at most; None where there was nothing to sample."""
        self._over.set()
        self._thread.join()
        return None if self._before is None or self._most is None else self._most - self._before

    def _run(self) -> None:
        while not self._over.wait(_SAMPLE_S):
            now = resident_mib(self._pid)
            if now is not None and self._most is not None:
                self._most = max(self._most, now)


def resident_mib(pid: int | None) -> float | None:
    """Resident memory of a process in MiB, None where it has ended."""
    if pid is None:
        return None
    if sys.platform == "linux":
        try:
            lines = Path(f"/proc/{pid}/status").read_text("utf-8").split("\n")
        except OSError:
            return None
        kib = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    else:
        ended = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False)
        kib = ended.stdout.decode().split()
    return int(kib[0]) / 1024 if kib else None
