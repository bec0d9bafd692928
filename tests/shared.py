"""Where the shared vaults, questions and cases lie, for the tests that use them; others do without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared(name: str) -> Path:
    """A file of the shared material. Skips the test, saying so, where it is absent."""
    root = Path(os.environ.get("MUNINN_SHARED") or Path(__file__).parents[2] / "shared")
    found = root / name
    if not found.exists():
        pytest.skip(f"NOT RUN: {name} is not here (set MUNINN_SHARED to the folder of shared material)")
    return found
