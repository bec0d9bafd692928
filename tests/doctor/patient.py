"""An installation to be looked at: a small vault that was served once, with ledger, key, client and index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from muninn import clients, external, opening, settings
from muninn.cli import command
from muninn.door import Door
from tests.conftest import note_text

TOKEN = "mnn_" + "s" * 43


@dataclass(frozen=True, slots=True)
class Patient:
    """Where it lies, and how it is looked at."""

    folder: Path

    @property
    def vault(self) -> Path:
        return self.folder / "vault"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def environment(self) -> dict[str, str]:
        own = {"VAULT": self.vault, "HOME": self.home, "CACHE": self.cache}
        return {f"MUNINN_{name}": str(place) for name, place in own.items()}

    def door(self) -> Door:
        """Opened as a gateway opens it; the caller closes it."""
        return opening.for_serving(settings.load(self.environment, None, None, None))

    def runs(self, *arguments: str) -> Result:
        """A command, in this process."""
        return CliRunner().invoke(command, list(arguments), env=self.environment)

    def process(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A command, as a process of its own."""
        words = [sys.executable, "-P", "-m", "muninn", *arguments]
        environment = os.environ | self.environment | more
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)

    def doctor(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """What the doctor finds: exit status, and each check by its name."""
        return told(self.runs("doctor", "--json", *arguments))

    def state(self) -> dict[str, tuple[object, ...]]:
        """Every name in vault, home and cache with mode, owner, times and bytes."""
        found: dict[str, tuple[object, ...]] = {}
        for place in (self.vault, self.home, self.cache):
            for child in sorted([place, *place.rglob("*")]) if place.exists() else ():
                seen = child.lstat()
                content = child.read_bytes() if child.is_file() and not child.is_symlink() else b""
                found[str(child)] = (seen.st_mode, seen.st_uid, seen.st_mtime_ns, seen.st_ctime_ns, content)
        return found


def told(ran: Result) -> tuple[int, dict[str, Any]]:
    """The JSON of a run, with its checks by name."""
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    whole = json.loads(ran.stdout)
    return ran.exit_code, whole | {"checks": {check["name"]: check for check in whole["checks"]}}


def furnish(folder: Path) -> Patient:
    """A healthy one."""
    made = Patient(folder)
    (made.vault / "private").mkdir(parents=True)
    for name, title in (("a.md", "Alpha"), ("b.md", "Beta"), ("private/c.md", "Gamma")):
        (made.vault / name).write_bytes(note_text(f"{title} sings\n", title))
    client = clients.make("bot", TOKEN)
    clients.save(made.home / "clients.toml", {"bot": client})
    door = made.door()
    door.index.sweep(door.vault.walk, door.vault.look)
    external.begin(door, door.index.hashes(private=True), True)
    door.index.close()
    door.ledger.close()
    return made


def faults(found: dict[str, Any]) -> set[str]:
    """The names of the checks that found a fault."""
    return {name for name, check in found["checks"].items() if check["state"] == "fault"}
