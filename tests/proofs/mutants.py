"""``python -P -m tests.proofs.mutants [--only WORD]``: take each guard away in a copy, and see the tests go red.

Exit status 1 where a mutant survives, or where its text no longer stands in the code.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from .mutant_list import MUTANTS, Mutant
from .mutants_backup import BACKUP

ROOT: Final = Path(__file__).parents[2]
_COPIED: Final = ("muninn", "ledger", "index", "sandbox", "backup", "eval", "tests", "docs")


def main() -> None:
    """Try each mutant, and tell."""
    parser = argparse.ArgumentParser(prog="tests.proofs.mutants", description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="", help="mutants whose name holds this")
    asked = parser.parse_args()
    survived = 0
    with tempfile.TemporaryDirectory(prefix="proof-mutants-") as folder:
        tree = Path(folder)
        copy(tree)
        for mutant in (mutant for mutant in (*MUTANTS, *BACKUP) if asked.only in mutant.name):
            began = time.monotonic()
            verdict = tried(tree, mutant)
            survived += verdict != "killed"
            print(f"{verdict:<10} {mutant.name} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{survived} survived" if survived else "every mutant was killed")
    sys.exit(1 if survived else 0)


def copy(tree: Path) -> None:
    """The code and the tests, and nothing else."""
    skipped = shutil.ignore_patterns("__pycache__")
    for name in _COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", tree)


def tried(tree: Path, mutant: Mutant) -> str:
    """``killed``, ``survived``, or ``stale`` where a text does not stand exactly once; the copy is as before then."""
    before = {edit.file: (tree / edit.file).read_text() for edit in mutant.edits}
    try:
        for edit in mutant.edits:
            text = (tree / edit.file).read_text()
            if text.count(edit.old) != 1:
                return "stale"
            (tree / edit.file).write_text(text.replace(edit.old, edit.new))
        return "killed" if goes_red(tree, mutant.tests) else "survived"
    finally:
        for file, text in before.items():
            (tree / file).write_text(text)


def goes_red(tree: Path, tests: tuple[str, ...]) -> bool:
    """Whether a test fails in the copy. Raises where none could be run, which would look like a kill."""
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the tests could not be run: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.returncode == 1


if __name__ == "__main__":
    main()
