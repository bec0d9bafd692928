"""Lays down the state before the first step: files and folders, links, sockets, the remote's first commit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import remote
from .content import count_in, fixture_bytes, from_b64
from .places import Places
from .verdict import NotCarriedOutError
from .vocabulary import GIVEN

_ADDED = ("files", "outside_vault", "empty_dirs", "symlinks", "special", "generated")
_MERGED = ("config", "env")
_SOCKET = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.close()"


def laid_over(given: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A variant's `given` over that of the case: files add up (the same path gives way), objects merge, others replace.

    >>> laid_over({"config": {"a": 1}, "serve": ["x"]}, {"config": {"b": 2}, "serve": []})
    {'config': {'a': 1, 'b': 2}, 'serve': []}
    """
    both = dict(given)
    for key in over:
        if key in _ADDED:
            taken = {_name(entry) for entry in over[key]}
            both[key] = [entry for entry in given.get(key, []) if _name(entry) not in taken] + list(over[key])
        elif key in _MERGED:
            both[key] = _merged(given.get(key, {}), over[key])
        else:
            both[key] = over[key]
    assert set(both) <= GIVEN
    return both


def _name(entry: Any) -> Any:
    return (entry.get("path"), entry.get("name_b64")) if isinstance(entry, Mapping) else entry


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(under)
    for key, value in over.items():
        deeper = isinstance(value, Mapping) and isinstance(both.get(key), Mapping)
        both[key] = _merged(both[key], value) if deeper else value
    return both


def lay_root(places: Places, *, is_link: bool) -> None:
    """Makes the vault: a folder, or a symbolic link to the real folder beside it."""
    if is_link:
        real = places.parent / f"{places.vault.name}-real"
        real.mkdir()
        places.vault.symlink_to(real)
    else:
        places.vault.mkdir()


def lay_files(given: Mapping[str, Any], put: Callable[[str], str], path: Callable[[str], Path]) -> None:
    """Lays down everything that is a file, folder, link or socket; modes and times come last."""
    later: list[tuple[Path, Mapping[str, Any]]] = []
    for entry in [*given.get("files", []), *given.get("outside_vault", [])]:
        target = _target(entry, put, path)
        _write(target, fixture_bytes(entry))
        later.append((target, entry))
    for entry in given.get("generated", []):
        for n in range(int(entry["times"])):
            _write(path(put(count_in(entry["path"], {"n": n}))), fixture_bytes(entry, {"n": n}))
    for text in given.get("empty_dirs", []):
        path(put(text)).mkdir(parents=True, exist_ok=True)
    for entry in given.get("symlinks", []):
        link = path(put(entry["path"]))
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(put(entry["to"]))
    for entry in given.get("special", []):
        _special(path(put(entry["path"])), entry["kind"])
    for target, entry in later:
        if "mode" in entry:
            target.chmod(int(str(entry["mode"]), 8))
        if "mtime" in entry:
            os.utime(target, (entry["mtime"], entry["mtime"]))


def _target(entry: Mapping[str, Any], put: Callable[[str], str], path: Callable[[str], Path]) -> Path:
    if "name_b64" in entry:
        return path(os.fsdecode(from_b64(entry["name_b64"])))
    return path(put(entry["path"]))


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def _special(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
        return
    # A child with the folder as its working directory: the whole path may be too long for a socket's name.
    argv = [sys.executable, "-I", "-c", _SOCKET, path.name]
    ended = subprocess.run(argv, cwd=path.parent, capture_output=True, check=False)
    if ended.returncode != 0:
        raise NotCarriedOutError(f"given.special {path.name}: {ended.stderr.decode('utf-8', 'replace').strip()}")


def lay_remote(repository: Path, given: Mapping[str, Any]) -> None:
    """An empty bare repository, or one with a first commit on main that holds the given files."""
    bare = remote.init_bare(repository)
    files: dict[bytes, tuple[bytes, str]] = {}
    for entry in given.get("files", []):
        name = from_b64(entry["name_b64"]) if "name_b64" in entry else str(entry["path"]).encode()
        is_program = bool(int(str(entry.get("mode", "0644")), 8) & 0o100)
        files[name] = (fixture_bytes(entry), "100755" if is_program else "100644")
    if files:
        remote.first_commit(bare, files)
