"""`python -m tests.cases FILE [--id ID]… [--needs PART]… [--strict] [--jobs N] [--keep]`

A line for each case in the file's order, then one closing line. Exit status: 0 when no selected case failed or was
unknown (with --strict: nor was blocked), 1 otherwise, 2 when the file or the command line cannot be used.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from .load import Case, CaseFileError, load
from .places import remove_all_folders
from .process import kill_all
from .run import run_case
from .server import MUNINN
from .verdict import Failed, Verdict, closing_line, exit_status, line
from .vocabulary import PARTS


class SelectionError(Exception):
    """The command line selects something that is not there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the selected cases and gives the exit status."""
    asked = _parser().parse_args(arguments)
    try:
        cases = select(load(asked.file), asked.id, asked.needs)
        _refuse_without_product()
    except (CaseFileError, SelectionError) as wrong:
        sys.stderr.write(f"tests.cases: {wrong}\n")
        return 2
    _end_well_when_interrupted(keep=asked.keep)
    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(max_workers=asked.jobs) as pool:
        running = [pool.submit(_verdict, case, asked.keep) for case in cases]
        for case, one in zip(cases, running, strict=True):
            verdicts.append(one.result())
            print(line(case.id, verdicts[-1]), flush=True)
    print(closing_line(verdicts), flush=True)
    return exit_status(verdicts, strict=asked.strict)


def select(cases: Sequence[Case], ids: Sequence[str], needs: Sequence[str]) -> list[Case]:
    """The cases with these ids and with no need beyond these parts; refuses ids and parts that are not there."""
    parts = {part for group in needs for part in group.split(",") if part}
    strange = sorted(parts - PARTS)
    if strange:
        raise SelectionError(f"no such part: {', '.join(strange)}; there are {', '.join(sorted(PARTS))}")
    absent = sorted(set(ids) - {case.id for case in cases})
    if absent:
        raise SelectionError(f"no such case: {', '.join(absent)}")
    return [case for case in cases if (not ids or case.id in ids) and (not needs or case.needs <= parts)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description="Hold cases against the real door.")
    parser.add_argument("file", type=Path, help="the case file")
    parser.add_argument("--id", action="append", default=[], help="only this case (may be repeated)")
    parser.add_argument("--needs", action="append", default=[], help="only cases that need no more than these parts")
    parser.add_argument("--strict", action="store_true", help="blocked cases fail, too")
    parser.add_argument("--jobs", type=_positive, default=2, help="how many cases run at once (2)")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases and name them on stderr")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _refuse_without_product() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MUNINN_", "PYTHONPATH"))}
    ended = subprocess.run([*MUNINN, "--help"], cwd="/", env=env, capture_output=True, check=False)
    if ended.returncode != 0:
        said = ended.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise SelectionError(f"`muninn --help` does not run in this environment: {said}")


def _verdict(case: Case, keep: bool) -> Verdict:
    try:
        return run_case(case, keep=keep)
    except Exception as bug:
        # One case must not take the others with it; the runner's own fault is never a pass.
        traceback.print_exc()
        return Failed(f"the runner broke: {bug!r}")


def _end_well_when_interrupted(*, keep: bool) -> None:
    def interrupted(number: int, _frame: FrameType | None) -> None:
        # Threads cannot be stopped: end what was started and leave at once.
        kill_all()
        if not keep:
            remove_all_folders()
        os._exit(128 + number)

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, interrupted)


if __name__ == "__main__":
    sys.exit(main())
