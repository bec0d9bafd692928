"""A yard for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muninn.model import seams
from tests.backup.yard import Yard, lay_out


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """A vault, a home and a remote that are bound to one another."""
    made = lay_out(tmp_path)
    made.init()
    yield made
    seams.arm(None)
    made.room.door.ledger.close()
