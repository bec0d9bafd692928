"""``python -m tests.browser``: the console in a real Chromium; with ``--screenshots`` the pictures of the docs."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def main() -> int:
    """Run the tests, or take the pictures; 1 where there is no browser."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser", description=__doc__)
    parser.add_argument("--screenshots", action="store_true", help="write docs/images anew, and test nothing")
    taking: bool = parser.parse_args().screenshots
    try:
        from tests.browser import driving
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: run `make test-web`, which installs it", file=sys.stderr)
        return 1
    try:
        print(f"with {driving.executable()}", flush=True)
    except driving.NoBrowserError as error:
        print(error, file=sys.stderr)
        return 1
    if taking:
        from tests.browser import screenshots

        with tempfile.TemporaryDirectory(prefix="muninn-stage-") as folder:
            screenshots.take(Path(folder), ROOT / "docs" / "images")
        return 0
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:xdist", "tests/browser"]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"MUNINN_TEST_BROWSER": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
