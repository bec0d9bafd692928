"""Gateways born quickly: a process that has imported everything forks one for each start.

A forked gateway is a process of its own that dies and is killed as any other; it only does not pay again for reading
the same modules. Starts whose time is judged are not made here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final


class Child:
    """A process that somebody else waits for, with the part of ``Popen`` that a gateway needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it lives. A process whose first thread has ended may still hold its locks: it is alive."""
        return None if Path(f"/proc/{self.pid}").exists() else 0

    def wait(self, timeout: float = 60) -> int:
        """Until it is gone."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked gateway", timeout)
            time.sleep(0.005)
        return 0

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class Nursery:
    """One such process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def bear(self, arguments: list[str], environment: dict[str, str], log: Path) -> Any:
        """Fork a process that runs ``muninn`` with these arguments."""
        if self._process is None:
            command = [sys.executable, "-P", "-m", "tests.proofs.nursery"]
            root = str(Path(__file__).parents[2])
            way = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": way}, **pipes)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"arguments": arguments, "environment": environment, "log": str(log)}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return Child(int(self._process.stdout.readline()))

    def close(self) -> None:
        """End it; what it bore lives on."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


SHARED: Final = Nursery()
"""The one nursery of this process."""
atexit.register(SHARED.close)


def _live(order: dict[str, Any]) -> None:
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = ["muninn", *order["arguments"]]
    from muninn.__main__ import main

    main()


def _wait_for_orders() -> None:
    import uvicorn  # noqa: F401

    from muninn import app, cli  # noqa: F401
    from muninn.cli import serve  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _live(json.loads(line))
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    _wait_for_orders()
