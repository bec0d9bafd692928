"""Child processes of the runner: started with all their output kept, ended by their own id, none left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .verdict import NotCarriedOutError

_alive: set[int] = set()
_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended by itself."""

    exit: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def output(self) -> bytes:
        return self.stdout + self.stderr


@dataclass(frozen=True, slots=True)
class Child:
    """A process that runs beside the runner, the leader of a group of its own."""

    popen: subprocess.Popen[bytes]
    stdout: Path
    stderr: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def exit(self) -> int | None:
        """Its exit status, None while it runs."""
        status = self.popen.poll()
        if status is not None:
            _forget(self.pid)
        return status

    def output(self) -> bytes:
        return self.stdout.read_bytes() + self.stderr.read_bytes()

    def end(self, sign: signal.Signals, wait_s: float) -> int | None:
        """Signals the process and waits for its end; None where it goes on."""
        with contextlib.suppress(ProcessLookupError):
            self.popen.send_signal(sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(wait_s)
        return self.exit()

    def kill(self) -> None:
        """Kills the process and what it started."""
        kill_group(self.pid)
        self.popen.wait()
        _forget(self.pid)


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    stdout: Path,
    stderr: Path,
    stdin: bytes | None = None,
) -> Child:
    """Starts a process whose output goes to two files, and remembers its id until it has ended."""
    with stdout.open("ab") as out, stderr.open("ab") as err:
        popen = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    with _guard:
        _alive.add(popen.pid)
    if stdin is not None and popen.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            popen.stdin.write(stdin)
        with contextlib.suppress(BrokenPipeError):
            popen.stdin.close()
    return Child(popen, stdout, stderr)


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    logs: Path,
    stdin: bytes | None = None,
    limit_s: float = 300.0,
) -> Ended:
    """Runs a command to its end; refuses to wait longer than the limit. Its output stays in `logs`, which is new."""
    logs.mkdir()
    began = time.monotonic()
    child = spawn(argv, env, cwd, logs / "stdout", logs / "stderr", stdin)
    try:
        child.popen.wait(limit_s)
    except subprocess.TimeoutExpired as late:
        raise NotCarriedOutError(f"{' '.join(argv[3:])}: still running after {limit_s:g} s") from late
    finally:
        seconds = time.monotonic() - began
        if child.exit() is None:
            child.kill()
    status = child.popen.returncode
    return Ended(status, child.stdout.read_bytes(), child.stderr.read_bytes(), seconds)


def kill_group(pid: int) -> None:
    """Kills a process group that the runner has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_all() -> None:
    """Kills every process the runner has started and that has not ended."""
    with _guard:
        pids = list(_alive)
    for pid in pids:
        kill_group(pid)


def _forget(pid: int) -> None:
    with _guard:
        _alive.discard(pid)
