"""The house of the console's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.desk import Desk, laid
from tests.web.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk without folder pages."""
    with laid(tmp_path) as made:
        yield made


@pytest.fixture
def paged_desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose folders have pages."""
    with laid(tmp_path, "index.md") as made:
        yield made
