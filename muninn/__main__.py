"""The command ``muninn``. Only what a command needs is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SEAMS = ("MUNINN_TEST_FAULTS", "MUNINN_TEST_RERANKER")


def main() -> None:
    """Run the command line."""
    _look_at_test_seams()
    from muninn.cli import command

    command()


def _look_at_test_seams() -> None:
    """Arm the faults of a test build, loudly; refuse to start where a seam is set outside of one."""
    named = [name for name in _SEAMS if os.environ.get(name)]
    if not named:
        return
    if os.environ.get("MUNINN_TEST") != "1":
        sys.exit(f"muninn: {named[0]} is set, but MUNINN_TEST=1 is not: a seam for tests is no setting; take it out")
    print(f"muninn: UNDER TEST: {', '.join(named)} can make this process fail on purpose", file=sys.stderr, flush=True)
    faults = os.environ.get("MUNINN_TEST_FAULTS")
    if faults:
        from muninn.faults import arm

        arm(Path(faults))


if __name__ == "__main__":
    main()
