"""``python -P -m tests.proofs.sabotage``: no broken backup is called ok, and the run after it mends it or says how.

Exit status 1 where a promise does not hold. What the remote really holds is judged by ``docs/bare_restore.py``, which
shares no code with the product.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backup.places import read_proof
from muninn.model.errors import MuninnError
from tests.backup.yard import Yard

from .sabotage_act import Act
from .sabotage_acts import all_acts
from .sabotage_scene import attempt, enter, is_whole, nights

NIGHTS: Final = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of an act. ``fault`` is the promise that did not hold, None where all did."""

    act: Act
    ended: str
    fault: str | None


def judge(act: Act, kept: Path, folder: Path) -> Verdict:
    """Do an act on a copy of its night, and look at what the run said, and at what the next one does."""
    yard = enter(kept, folder)
    try:
        return _judged(act, yard)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _judged(act: Act, yard: Yard) -> Verdict:
    before = read_proof(yard.places)
    act.before(yard)
    outcome = attempt(yard, act.arm, act.after_s)
    if outcome.ok:
        wrong = is_whole(yard)
        if wrong is not None or not act.may_be_ok:
            return Verdict(act, "ok", f"FALSE OK: {wrong or 'the act was not noticed'}")
        return Verdict(act, "ok, and whole", None)
    if not outcome.reason or outcome.reason.startswith("BUG"):
        return Verdict(act, "", f"no reason was given: {outcome.reason}")
    after = read_proof(yard.places)
    if after != before and act.after_s is None and act.name != "the proof is gone":
        return Verdict(act, outcome.reason, "not ok, and yet there is a new proof")
    act.mend(yard)
    return _mended(act, yard, outcome.reason)


def _mended(act: Act, yard: Yard, reason: str) -> Verdict:
    """The next run: ok and whole, or it says what to do, and that helps."""
    again = attempt(yard, lambda yard: None)
    if again.ok:
        wrong = is_whole(yard)
        return Verdict(act, f"{reason} | mended", f"FALSE OK of the next run: {wrong}" if wrong else None)
    if "--replace-remote" in again.reason:
        last = attempt(yard, lambda yard: None, replace_remote=True)
        wrong = is_whole(yard) if last.ok else last.reason
        if wrong is not None and _says_new_repository(wrong):
            wrong = _moved(yard)
        if wrong is None:
            return Verdict(act, f"{reason} | said what to do", None)
        return Verdict(act, reason, f"what it said does not help: {again.reason} -> {wrong}")
    if _says_new_repository(again.reason):
        wrong = _moved(yard)
        fault = f"what it said does not help: {again.reason} -> {wrong}" if wrong else None
        return Verdict(act, f"{reason} | said what to do", fault)
    return Verdict(act, reason, f"the next run is not ok and says not what to do: {again.reason}")


def _moved(yard: Yard) -> str | None:
    """Do what was said: a new, empty repository. Gives why that does not help, None where it does."""
    yard.remote.rename(yard.folder / "given-up.git")
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(
        ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(yard.remote)], check=True, env=environment
    )
    try:
        yard.init()
    except MuninnError as error:
        return str(error)
    last = attempt(yard, lambda yard: None)
    return is_whole(yard) if last.ok else last.reason


def _says_new_repository(reason: str) -> bool:
    return "backup init --remote" in reason


def prove(folder: Path, acts: Sequence[Act] | None = None, *, told: bool = False) -> list[Verdict]:
    """Do all acts, or these. Gives a verdict of each."""
    folder.mkdir(exist_ok=True)
    kept = nights(folder / "kept", NIGHTS)
    found = []
    for number, act in enumerate(all_acts(NIGHTS) if acts is None else acts):
        found.append(judge(act, kept[act.night], folder / f"act-{number}"))
        if told and (found[-1].fault or number % 25 == 0):
            print(
                f"  {number}: night {act.night + 1}, {act.name}: {found[-1].fault or 'held'}",
                file=sys.stderr,
                flush=True,
            )
    return found


def main() -> None:
    """Prove and print."""
    parser = argparse.ArgumentParser(prog="tests.proofs.sabotage", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", help="only acts whose name holds this")
    asked = parser.parse_args()
    acts = [act for act in all_acts(NIGHTS) if asked.only is None or asked.only in act.name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="muninn-sabotage-") as folder:
        found = prove(Path(folder) / "proof", acts, told=True)
    for one in found:
        if one.fault:
            print(f"BROKEN night {one.act.night + 1}, {one.act.name}: {one.fault} ({one.ended[:200]})")
    false = sum("FALSE OK" in (one.fault or "") for one in found)
    ended = Counter(one.ended.rpartition(" | ")[2] if " | " in one.ended else one.ended[:20] for one in found)
    print(f"{len(found)} acts, {false} false oks, {sum(one.fault is not None for one in found)} broken promises")
    print(
        f"  ok and whole: {ended['ok, and whole']}, the next run mended: {ended['mended']}, "
        f"said what to do: {ended['said what to do']}; {time.monotonic() - began:.0f} s"
    )
    sys.exit(1 if any(one.fault for one in found) else 0)


if __name__ == "__main__":
    main()
