"""A real Chromium against a real gateway. Not part of the suite: ``make test-web`` installs Playwright and runs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if os.environ.get("MUNINN_TEST_BROWSER") == "1" else ["test_*.py"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser of the system, started once."""
    from tests.browser import driving

    with driving.browser() as found:
        yield found


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A gateway on the sample vault in which clients have worked, shared by the tests: each uses notes of its own."""
    from tests.browser import staging

    folder: Path = tmp_path_factory.mktemp("stage")
    with staging.staged(folder) as found:
        yield found


@pytest.fixture
def visitor(chromium: Any, stage: Any) -> Iterator[Any]:
    """Somebody with a browser of their own; at the end nothing odd may have happened in it."""
    from tests.browser import driving

    with driving.visitor(chromium, stage) as found:
        yield found
