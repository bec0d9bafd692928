"""Left out of an ordinary run: ``make test-model`` sets the extras up in an environment of their own."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from muninn.settings import Places

collect_ignore_glob = [] if os.environ.get("MUNINN_TEST_MODELS") == "1" else ["test_*.py"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that asks the network for anything fails its test."""

    def refuse(self: socket.socket, address: object) -> None:
        raise AssertionError(f"a model asked for {address!r}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(None, tmp_path / "home", tmp_path / "cache")
