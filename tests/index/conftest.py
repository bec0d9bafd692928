"""Fixtures for the tests of the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .room import Room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.index.close()
