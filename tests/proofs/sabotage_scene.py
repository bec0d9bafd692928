"""A backup of some nights, copied for each act of sabotage; what is found afterwards is judged without the product."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from muninn.model import seams
from muninn.model.errors import MuninnError
from tests.backup.yard import Yard, lay_out, tree

_SCRIPT: Final = Path(__file__).parents[2] / "docs" / "bare_restore.py"
DIED: Final = 70


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run in a process of its own ended."""

    ok: bool
    reason: str
    """What it said; for a process that was killed, that."""


def nights(folder: Path, count: int) -> list[Path]:
    """A yard before its first run, and after one, two … runs; each a folder to be copied."""
    (folder / "yard").mkdir(parents=True)
    yard = lay_out(folder / "yard")
    yard.room.lay("noise.bin", os.urandom(150_000))
    yard.room.lay("empty.md", b"")
    yard.init()
    kept = []
    for night in range(count):
        yard.room.lay("today.md", f"night {night}\n".encode() * 40)
        yard.write("door.md", f"night {night}\n")
        yard.room.door.ledger.close()
        kept.append(_copy(yard.folder, folder / f"night-{night}"))
        yard.run()
    return kept


def enter(kept: Path, folder: Path) -> Yard:
    """A copy of a night, as a yard of its own."""
    from tests.conftest import furnish

    _copy(kept, folder)
    state = folder / "home/backup/state.json"
    told = json.loads(state.read_text())
    state.write_text(json.dumps(told | {"remote": str(folder / "remote.git")}))
    yard = Yard(folder, furnish(folder))
    yard.room.door.ledger.close()
    return yard


def _copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, symlinks=True)
    return target


def attempt(yard: Yard, arm: Callable[[Yard], None], after_s: float | None = None, **wishes: Any) -> Outcome:
    """A run with something armed in its process; killed after a while, where ``after_s`` says so."""
    inner, outer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inner)
        _live(yard, arm, outer, wishes)
    os.close(outer)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    with open(inner, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0 and said:
        told = json.loads(said)
        return Outcome(told["ok"], told["reason"])
    return Outcome(False, f"the process ended with {status}" if status in (DIED, -signal.SIGKILL) else f"BUG {said!r}")


def _live(yard: Yard, arm: Callable[[Yard], None], pipe: int, wishes: dict[str, Any]) -> None:
    """The life of the child. It ends here."""
    told: dict[str, Any] = {"ok": False, "reason": ""}
    try:
        arm(yard)
        yard.run(**wishes)
        told["ok"] = True
    except MuninnError as error:
        told["reason"] = str(error)
    except BaseException as error:
        os.write(pipe, f"{type(error).__name__}: {error}".encode()[:2000])
        os._exit(1)
    seams.arm(None)
    os.write(pipe, json.dumps(told).encode()[:60_000])
    os._exit(0)


def is_whole(yard: Yard) -> str | None:
    """Why the remote does not hold the vault as it is now, by the script that shares no code with the product."""
    target = yard.folder / "judged"
    shutil.rmtree(target, ignore_errors=True)
    inner, outer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(outer, 1)
        os.dup2(outer, 2)
        specification = importlib.util.spec_from_file_location("bare_restore", _SCRIPT)
        assert specification is not None
        assert specification.loader is not None
        script = importlib.util.module_from_spec(specification)
        try:
            specification.loader.exec_module(script)
            script.main(str(yard.remote), str(yard.places.key), str(target))
        except SystemExit as end:
            print(end.code or "", file=sys.stderr, flush=True)
            os._exit(0 if end.code is None else 1)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os.close(outer)
    with open(inner, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace").strip()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        return said or "it cannot be opened"
    return None if tree(target / "vault") == tree(yard.vault) else "it is not the vault as it is"
