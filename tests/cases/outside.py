"""Changes around the door, made by the runner itself or by a child that a fault starts.

A change is first made plain (`plain`: no reference, place or form is left in it, so that it can be written down as
JSON) and then made (`make`).
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import remote
from .grammar import check_outside
from .values import Sight, as_bytes, content_bytes
from .verdict import CaseError, NotCarriedOutError, UnknownWordError

Plain = Mapping[str, Any]
_ROOT = Path(__file__).resolve().parents[2]
_SQLITE = Path(__file__).with_name("sqlite.py")
_LOCK_WAIT_S = 35.0
_lock_holders: list[subprocess.Popen[bytes]] = []


def plain(step: Mapping[str, Any], sight: Sight) -> dict[str, Any]:
    """The change with every value resolved; its content is base64."""
    words = {key: value for key, value in step.items() if key not in ("op", "note")}
    do = sight.value(words["do"])
    check_outside(words | {"do": do}, "outside")
    change: dict[str, Any] = {"do": do}
    for key in ("path", "to"):
        if key in words:
            is_target = do == "symlink" and key == "to"
            change[key] = sight.value(words[key]) if is_target else str(sight.path(words[key]))
    for key in ("mode", "mtime", "times", "pause_s", "offset", "zeros", "sql", "s", "what", "recursive"):
        if key in words:
            change[key] = sight.value(words[key])
    if do == "write":
        change["b64"] = _encoded(content_bytes(words, sight))
    elif "text" in words:
        change["b64"] = _encoded(as_bytes(sight.value(words["text"])))
    return change


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def make(change: Plain, repository: Path, locks: Path) -> None:
    """Makes a plain change; refuses what cannot be done, with the reason."""
    path = Path(change.get("path", repository))
    try:
        _make(change, path, repository, locks)
    except (OSError, ValueError) as wrong:
        raise NotCarriedOutError(f"outside {change['do']}: {wrong}") from wrong


def _make(change: Plain, path: Path, repository: Path, locks: Path) -> None:
    match change["do"]:
        case "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(change["b64"]))
            _set_mode(path, change)
        case "append":
            _append(path, change)
        case "patch":
            _patch(path, change)
        case "remove":
            _remove(path, recursive=bool(change.get("recursive")))
        case "rename":
            _rename(path, Path(change["to"]))
        case "copy":
            _copy(path, Path(change["to"]))
        case "mkdir":
            path.mkdir(parents=True, exist_ok=True)
            _set_mode(path, change)
        case "symlink":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(change["to"])
        case "utime":
            os.utime(path, (change["mtime"], change["mtime"]))
        case "chmod":
            _set_mode(path, change)
        case "sql":
            _in_child([sys.executable, "-P", str(_SQLITE), "sql", str(path), change["sql"]])
        case "lock":
            _lock(path, float(change["s"]), locks)
        case "git_init":
            remote.init_bare(path)
        case "remote_edit":
            remote.edit(repository, change["what"])
        case strange:
            raise UnknownWordError(f"outside {strange}")


def _set_mode(path: Path, change: Plain) -> None:
    if "mode" in change:
        path.chmod(int(str(change["mode"]), 8))


def _append(path: Path, change: Plain) -> None:
    data = base64.b64decode(change["b64"])
    for number in range(int(change.get("times", 1))):
        if number and change.get("pause_s"):
            time.sleep(float(change["pause_s"]))
        with path.open("ab") as file:
            file.write(data)


def _patch(path: Path, change: Plain) -> None:
    data = bytes(int(change["zeros"])) if "zeros" in change else base64.b64decode(change["b64"])
    offset = int(change["offset"])
    with path.open("r+b") as file:
        file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
        file.write(data)


def _remove(path: Path, *, recursive: bool) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    elif recursive:
        shutil.rmtree(path)
    else:
        path.rmdir()


def _rename(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.rename(to)
    except OSError as wrong:
        if path.lstat().st_dev == to.parent.stat().st_dev:
            raise
        shutil.move(path, to)
        if not os.path.lexists(to):
            raise NotCarriedOutError(f"outside rename: {wrong}") from wrong


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, to, symlinks=True, copy_function=shutil.copy, dirs_exist_ok=True)
    else:
        shutil.copy(path, to)


def _in_child(argv: Sequence[str]) -> None:
    ended = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode != 0:
        raise NotCarriedOutError(f"outside {argv[3]}: {ended.stderr.decode('utf-8', 'replace').strip()}")


def _lock(path: Path, seconds: float, locks: Path) -> None:
    token = locks / f"{uuid.uuid4().hex}.lock"
    said = token.with_suffix(".said")
    argv = [sys.executable, "-P", str(_SQLITE), "lock", str(path), str(seconds), str(token)]
    with said.open("wb") as output:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    end = time.monotonic() + _LOCK_WAIT_S
    while not token.exists() and child.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    _lock_holders.append(child)
    if not token.exists() and child.poll() != 0:
        child.kill()
        child.wait()
        raise NotCarriedOutError(f"outside lock: {said.read_text('utf-8', 'replace').strip() or 'no lock in time'}")


def locked(locks: Path) -> list[Path]:
    """The SQLite files on which a lock is held now."""
    found = []
    for token in locks.glob("*.lock"):
        with contextlib.suppress(FileNotFoundError):
            found.append(Path(token.read_text("utf-8")))
    return found


def unlock(locks: Path) -> None:
    """Ends every lock and waits until none is held."""
    for token in locks.glob("*.lock"):
        token.unlink(missing_ok=True)
    end = time.monotonic() + 10
    while any(locks.glob("*.held")) and time.monotonic() < end:
        time.sleep(0.01)
    for child in list(_lock_holders):
        if child.poll() is not None:
            _lock_holders.remove(child)


def command_line(changes: Sequence[Plain], written: Path, repository: Path, locks: Path, troubles: Path) -> list[str]:
    """Writes the changes down and gives the command line that makes them, for a fault of kind `do`."""
    order = {
        "changes": list(changes),
        "remote": str(repository),
        "locks": str(locks),
        "trouble": str(troubles / written.name),
    }
    written.write_text(json.dumps(order), "utf-8")
    code = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from tests.cases import outside; sys.exit(outside.main())"
    return [sys.executable, "-P", "-c", code, str(written)]


def main() -> int:
    """Makes the changes of the file named on the command line; what cannot be made is written down for the runner."""
    order = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    try:
        for change in order["changes"]:
            make(change, Path(order["remote"]), Path(order["locks"]))
    except CaseError as wrong:
        Path(order["trouble"]).write_text(str(wrong), "utf-8")
        sys.stderr.write(f"{wrong}\n")
        return 1
    return 0
