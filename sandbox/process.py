"""One child process: started with nothing but a socket, spoken to in lines, and killed from outside.

A child is never trusted to read, to answer, to keep to a length or to end. Every wait here has a deadline.

SandboxError
├── TimeUpError       the deadline passed first
├── FloodError        the child said more than it may
├── EndedError        the child's process is gone
└── NoEngineError     no child can be started here
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
_START_S: Final = 15.0
_PIECE: Final = 64 * 1024


class SandboxError(Exception):
    """A child did not do what it should. Met inside the sandbox; callers get an outcome that says so."""


class TimeUpError(SandboxError):
    """The deadline passed before the child had read or said what was due."""


class FloodError(SandboxError):
    """The child said more than one line, or one run, may hold."""


class EndedError(SandboxError):
    """The child's process is gone. ``status`` is that of ``subprocess``: a negative number is a signal."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"the child ended with {status}")
        self.status = status


class NoEngineError(SandboxError):
    """No child can be started; the text says why, for the person at the machine."""


@dataclass(slots=True)
class Child:
    """A process that waits for a script, or runs one. Made by ``launch``, ended by ``end`` or ``kill``."""

    process: subprocess.Popen[bytes]
    pipe: socket.socket
    most_line: int
    most_bytes: int
    _left: bytearray = field(default_factory=bytearray)
    _heard: int = 0

    def send(self, line: bytes, deadline: float) -> None:
        """Hand over a line. Raises TimeUpError where the child does not take it, EndedError where it is gone."""
        self.pipe.settimeout(_remaining(deadline))
        try:
            self.pipe.sendall(line)
        except TimeoutError as error:
            raise TimeUpError from error
        except OSError as error:
            raise self._ended() from error

    def receive(self, deadline: float) -> bytes:
        """The child's next line, without its end. Raises TimeUpError, FloodError or EndedError."""
        while (end := self._left.find(b"\n")) < 0:
            if len(self._left) > self.most_line:
                raise FloodError
            self.pipe.settimeout(_remaining(deadline))
            try:
                piece = self.pipe.recv(_PIECE)
            except TimeoutError as error:
                raise TimeUpError from error
            except OSError as error:
                raise self._ended() from error
            if not piece:
                raise self._ended()
            self._heard += len(piece)
            if self._heard > self.most_bytes:
                raise FloodError
            self._left += piece
        line = bytes(self._left[:end])
        del self._left[: end + 1]
        if len(line) > self.most_line:
            raise FloodError
        return line

    @property
    def is_alive(self) -> bool:
        """Whether the process runs still."""
        return self.process.poll() is None

    def kill(self) -> None:
        """Kill the process and everything of its session; ``reap`` must follow."""
        self.pipe.close()
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()

    def reap(self) -> None:
        """Wait until a killed process is gone, so that no zombie is left. On a busy machine that may take a second:
        it frees its memory with the low priority it ran at."""
        self.process.wait()

    def end(self) -> None:
        """Kill and reap."""
        self.kill()
        self.reap()

    def _ended(self) -> EndedError:
        """The end of the process as an error; one that closed its end but lives on has no status yet."""
        try:
            return EndedError(self.process.wait(timeout=1))
        except subprocess.TimeoutExpired:
            return EndedError(None)


def _remaining(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeUpError
    return left


def launch(most_line: int, most_bytes: int, *, walled: bool) -> Child:
    """Start a child; ``until_ready`` must follow. ``walled`` puts it behind bwrap.

    Must be called from a thread that outlives the child: the child dies with it. Raises NoEngineError.
    """
    command = _command(walled=walled)
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                close_fds=True,
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise NoEngineError(f"no process could be started: {error.strerror}") from error
    return Child(process, ours, most_line, most_bytes)


def until_ready(child: Child) -> Child:
    """The child, once its engine is ready. Raises NoEngineError, and ends the child, where it does not become so."""
    try:
        if child.receive(time.monotonic() + _START_S) != b'["ready"]':
            raise NoEngineError("the child said something else than that it is ready")
    except NoEngineError:
        child.end()
        raise
    except SandboxError as error:
        child.end()
        raise NoEngineError(f"the child did not become ready: {error}") from error
    _lower(child.process.pid)
    return child


def _lower(pid: int) -> None:
    """Put the child's session behind the gateway's where the system schedules by session."""
    with suppress(OSError), open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as group:
        group.write("10")


def engine_path() -> str:
    """Where the engine's extension lies, without loading it. Raises NoEngineError where there is none."""
    found = importlib.util.find_spec("_quickjs")
    if found is None or found.origin is None:
        raise NoEngineError("the package quickjs-ng is not installed")
    return found.origin


def _command(*, walled: bool) -> list[str]:
    engine = engine_path()
    child = ["-I", "-S", "-B", str(_HERE / "child.py"), engine]
    # Behind the wall no virtual environment is to be seen, so the interpreter itself is named there.
    return [*_wall(engine), os.path.realpath(sys.executable), *child] if walled else [sys.executable, *child]


def can_wall() -> bool:
    """Whether bwrap is there to be tried."""
    return sys.platform.startswith("linux") and shutil.which("bwrap") is not None


def _wall(engine: str) -> list[str]:
    """bwrap with namespaces of its own and read-only sight of Python, the engine and our own two files."""
    shown = {"/usr", "/lib", "/lib64", sys.base_prefix, os.path.realpath(sys.executable), engine, str(_HERE)}
    command = [
        shutil.which("bwrap") or "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--clearenv",
        "--cap-drop",
        "ALL",
    ]
    for place in sorted(shown):
        command += ["--ro-bind-try", place, place]
    return [*command, "--chdir", "/", "--"]
