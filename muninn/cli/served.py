"""Where the gateway of a home is, for commands that speak to it as a client does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

PORT: Final = 8460


def url(home: str | None) -> str:
    """The address of the gateway that serves a home now, as it is kept there; else that of the default port.

    The home is the one named, else MUNINN_HOME's, else the platform's. Raises SettingsError where its settings are
    wrong. Only this machine is meant: a gateway elsewhere, or one with TLS, has to be named by its address.
    """
    from muninn.settings import load

    port = _port(load(os.environ, None, home, None).places.lease)
    return f"http://127.0.0.1:{port or PORT}/mcp"


def _port(lease: Path) -> int | None:
    """The port that a home's note of its gateway names, where that gateway still runs.

    Read here, because the vault's package that writes it costs more to import than all else a bridge needs.
    """
    try:
        found = json.loads(lease.read_text(encoding="utf-8"))
        process, port = int(found["process"]), int(found["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return port if _runs(process) else None


def _runs(process: int) -> bool:
    """Whether there is such a process. The note of a killed gateway stays behind."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError, ValueError):
        return False
    return True
