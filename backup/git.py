"""Git by its command line: a bare repository that knows no settings, attributes, hooks or filters but what stands here.

Objects are written from files and read through a pipe; nothing is ever checked out, so nothing can change a byte.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from .errors import DamagedError, RemoteError

LOCAL_S: Final = 600.0
"""Seconds that git may work on this machine."""
ASK_S: Final = 90.0
"""Seconds that a remote may take to say what it holds."""
SEND_S: Final = 6 * 3600.0
"""Seconds that a push or a fetch may take; a line that is silent ends sooner."""
_FILE: Final = "100644"
_FOLDER: Final = "040000"
_KEPT: Final = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")
_SETTINGS: Final = {
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.compression": "0",
    "core.fsmonitor": "false",
    "core.fsync": "all",
    "core.hooksPath": os.devnull,
    "core.logAllRefUpdates": "false",
    "core.looseCompression": "0",
    "fetch.fsckObjects": "true",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "120",
    "maintenance.auto": "false",
    "pack.compression": "0",
    "pack.threads": "1",
    "pack.window": "0",
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "protocol.https.allow": "always",
    "protocol.ssh.allow": "always",
    "push.followTags": "false",
    "push.gpgSign": "false",
    "submodule.recurse": "false",
    "transfer.bundleURI": "false",
}


_AT_HAND: Final = "git -c core.compression=0 -c pack.compression=0 -c pack.window=0 -c receive.unpackLimit=1 {}"
"""The other end, where the remote is a folder of this machine: what is sealed cannot be made smaller."""


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a tree, as git lists it."""

    mode: str
    kind: str
    id: str
    name: bytes


def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of every git process: the person's own, for ssh and its agent, without any setting of git's."""
    clean = {name: value for name, value in environment.items() if not name.startswith("GIT_") or name in _KEPT}
    clean.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=30")
    return clean | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_AUTHOR_NAME": "muninn",
        "GIT_AUTHOR_EMAIL": "muninn@localhost.invalid",
        "GIT_COMMITTER_NAME": "muninn",
        "GIT_COMMITTER_EMAIL": "muninn@localhost.invalid",
        "LC_ALL": "C",
    }


class Git:
    """One bare repository."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder: Final = folder
        self.environment: Final = environment
        self._environment = surroundings(environment)

    def make(self) -> None:
        """Make it, where it is not there."""
        if not (self.folder / "HEAD").exists():
            self.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", str(self.folder))

    def run(
        self,
        *words: str,
        stdin: bytes = b"",
        timeout_s: float = LOCAL_S,
        told: str | None = None,
        cwd: Path | None = None,
    ) -> bytes:
        """What git prints. Raises RemoteError with what it said, and ``told`` in front."""
        with self._started(words, cwd) as process:
            try:
                out, said = process.communicate(stdin, timeout_s)
            except subprocess.TimeoutExpired:
                raise RemoteError(f"{told or 'git ' + words[0]}: no end after {timeout_s:.0f} s") from None
        if process.returncode != 0:
            raise RemoteError(f"{told or 'git ' + words[0]}: {_short(said) or f'exit status {process.returncode}'}")
        return out

    def word(self, *words: str, stdin: bytes = b"") -> str:
        """The same for one line of text."""
        return self.run(*words, stdin=stdin).decode("ascii", "replace").strip()

    def holds(self, commit: str) -> bool:
        """Whether a commit is here."""
        if not (self.folder / "HEAD").exists():
            return False
        try:
            self.run("cat-file", "-e", f"{commit}^{{commit}}")
        except RemoteError:
            return False
        return True

    # --- writing ----------------------------------------------------------------------------------

    def keep(self, files: Sequence[Path]) -> list[str]:
        """Write files as objects, to the byte. Gives their ids, in order."""
        if not files:
            return []
        names = "".join(f"{file.name}\n" for file in files).encode()
        folder = files[0].parent
        return self.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=names, cwd=folder).decode().split()

    def tree(self, items: Sequence[Item]) -> str:
        """A tree of these entries. Gives its id."""
        lines = b"".join(f"{i.mode} {i.kind} {i.id}\t".encode() + i.name + b"\0" for i in items)
        return self.word("mktree", "-z", stdin=lines)

    def commit(self, tree: str, parent: str | None) -> str:
        """A commit on top of another, or a first one. Gives its id."""
        above = ("-p", parent) if parent else ()
        return self.word("commit-tree", tree, *above, stdin=b"muninn backup\n")

    def point(self, reference: str, commit: str) -> None:
        """Keep a commit from being thrown away."""
        self.run("update-ref", reference, commit)

    def tidy(self) -> None:
        """Throw away what nothing points to. Where that fails, nothing but room is lost."""
        with contextlib.suppress(RemoteError):
            self.run("gc", "--quiet", "--prune=now")

    # --- reading ----------------------------------------------------------------------------------

    def items(self, tree: str, *, deep: bool = False) -> list[Item]:
        """The entries of a tree or commit."""
        listed = self.run("ls-tree", "-z", *(("-r",) if deep else ()), tree)
        found = []
        for line in listed.split(b"\0")[:-1]:
            facts, _, name = line.partition(b"\t")
            mode, kind, digest = facts.decode("ascii").split()
            found.append(Item(mode, kind, digest, name))
        return found

    def shelf(self) -> Shelf:
        """A way to read many objects with one process."""
        return Shelf(self._popen(["cat-file", "--batch"], None))

    # --- the remote -------------------------------------------------------------------------------

    def ask(self, remote: str) -> tuple[str | None, dict[str, str]]:
        """What the remote holds: the name of its main branch where it says so, and the commit of each branch."""
        told = "the remote cannot be reached"
        listed = self.run("ls-remote", "--symref", "--", remote, "HEAD", "refs/heads/*", timeout_s=ASK_S, told=told)
        main, heads = None, {}
        for line in listed.decode("utf-8", "replace").splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: refs/heads/") and name == "HEAD":
                main = value.removeprefix("ref: refs/heads/")
            elif name.startswith("refs/heads/"):
                heads[name.removeprefix("refs/heads/")] = value
        return main, heads

    def push(self, remote: str, commit: str, branch: str, expected: str | None) -> None:
        """Put a commit on the remote's branch, only if that is at ``expected`` (None: not there)."""
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        what = f"{commit}:refs/heads/{branch}"
        other_end = ("--receive-pack", _AT_HAND.format("receive-pack")) if remote.startswith("/") else ()
        options = ("--quiet", "--no-verify", "--recurse-submodules=no", *other_end, lease)
        self.run("push", *options, "--", remote, what, timeout_s=SEND_S, told="the push was refused")

    def fetch(self, remote: str, branch: str, into: str) -> None:
        """Fetch the newest commit of the remote's branch, all its files, as the reference ``into``."""
        what = f"+refs/heads/{branch}:{into}"
        other_end = ("--upload-pack", _AT_HAND.format("upload-pack")) if remote.startswith("/") else ()
        options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", *other_end)
        self.run("fetch", *options, "--", remote, what, timeout_s=SEND_S, told="the fetch from the remote failed")

    # --- inside -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _started(self, words: Sequence[str], cwd: Path | None) -> Iterator[subprocess.Popen[bytes]]:
        process = self._popen(words, cwd)
        try:
            yield process
        finally:
            _end(process)

    def _popen(self, words: Sequence[str], cwd: Path | None) -> subprocess.Popen[bytes]:
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        argv = ["git", "--git-dir", str(self.folder.absolute()), *settings, *words]
        pipe = subprocess.PIPE
        try:
            # A group of its own, so that what git starts in turn (ssh) can be ended with it.
            return subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment, cwd=cwd, start_new_session=True
            )
        except FileNotFoundError:
            raise RemoteError("git is not installed, or not in the PATH: the backup needs it") from None


class Shelf:
    """Reads objects, one at a time and in pieces. ``with`` ends its process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _end(self._process)

    def open(self, item: Item) -> Callable[[int], bytes]:
        """The read function of an object; the one before must have been read to its end. Raises DamagedError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        name = item.name.decode("utf-8", "replace")
        try:
            self._process.stdin.write(item.id.encode("ascii") + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise DamagedError(f"{name}: git cannot read it") from None
        facts = self._process.stdout.readline().split()
        if len(facts) != 3 or facts[1] != b"blob":
            raise DamagedError(f"{name}: git cannot read it")
        return _Part(self._process.stdout, int(facts[2]), name).read


class _Part:
    """The bytes of one object in the stream of all."""

    def __init__(self, stream: IO[bytes], left: int, name: str) -> None:
        self._stream, self._left, self._name = stream, left, name

    def read(self, size: int) -> bytes:
        if not self._left:
            return b""
        data = self._stream.read(min(size, self._left))
        if not data:
            raise DamagedError(f"{self._name}: git cannot read it to its end")
        self._left -= len(data)
        if not self._left:
            # The line's end that git puts behind each object.
            self._stream.read(1)
        return data


def _end(process: subprocess.Popen[bytes]) -> None:
    """See that a process and what it started are gone."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


def _short(said: bytes) -> str:
    """What git said, in one line and not too long."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return "; ".join(line for line in lines if not line.startswith("hint:"))[:600]
