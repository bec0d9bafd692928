"""A person with a vault, clients and the installed command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muninn import clients, opening, tools
from muninn.door import Door
from muninn.model.refusal import Refusal
from muninn.model.rights import DEFAULT_SCOPES
from muninn.settings import Settings, load
from muninn.tool import Call
from tests.conftest import note_text


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command ended."""

    status: int
    out: str
    err: str

    @property
    def context(self) -> str:
        """What it would put into the agent's context; ``""`` where it printed nothing."""
        return str(json.loads(self.out)["hookSpecificOutput"]["additionalContext"]) if self.out else ""

    @property
    def notes(self) -> list[dict[str, Any]]:
        """The quoted rows."""
        return [json.loads(line) for line in self.context.splitlines() if line.startswith("{")]


@dataclass(frozen=True, slots=True)
class Person:
    """A vault, a home with clients, a cache with the index, and an agent's client that runs hooks."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {f"MUNINN_{name.upper()}": str(self.folder / name) for name in ("vault", "home", "cache")}

    @property
    def settings(self) -> Settings:
        return load(self.environment, None, None, None)

    def lay(self, name: str, body: str, title: str = "A note") -> Path:
        file = self.folder / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note_text(body, title))
        return file

    def let(self, name: str, *scopes: str, read: str = "**", days: int | None = None) -> None:
        """Add a client."""
        wanted = scopes or tuple(DEFAULT_SCOPES)
        with clients.changing(self.settings.places.clients) as known:
            known[name] = clients.make(name, clients.new_token(), wanted, (read,), ("**",), days)

    def door(self) -> Door:
        return opening.for_serving(self.settings)

    def index(self) -> None:
        """Bring the index up to the vault."""
        door = self.door()
        door.index.sweep(door.vault.walk, door.vault.look)
        door.index.close()
        door.ledger.close()

    def call(self, tool: str, client: str, **arguments: Any) -> Any:
        """A tool called through a door that is opened for it."""
        door = self.door()
        rights = clients.load(self.settings.places.clients)[client].rights(self.settings.private)
        answer = tools.run(tools.BY_NAME[tool], Call(door, rights), arguments)
        door.index.close()
        door.ledger.close()
        assert not isinstance(answer, Refusal), answer
        return answer

    def hook(
        self, event: str, sent: Mapping[str, Any] | bytes, *flags: str, env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run the command as an agent's client does."""
        given = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        command = [sys.executable, "-P", "-m", "muninn", "hook", event, *(flags or ("--client", "ada"))]
        own = {**os.environ, **self.environment, **(env or {})}
        done = subprocess.run(command, input=given, env=own, capture_output=True, timeout=60, check=False)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Every file of vault and home with mode, time and bytes, but what SQLite's readers share."""
        found = {}
        for place in (self.folder / "vault", self.folder / "home"):
            for file in sorted(place.rglob("*")):
                if not file.name.endswith(("-shm", "-wal")):
                    seen = file.lstat()
                    content = file.read_bytes() if file.is_file() else b""
                    found[str(file)] = (seen.st_mode, seen.st_mtime_ns, content)
        return found


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Somebody with four notes, one of them private, and the client ``ada``."""
    made = Person(tmp_path)
    (tmp_path / "home").mkdir(mode=0o700)
    made.lay("ops/canary.md", "The canary gate opens when the replica lag stays below nine seconds.\n", "Canary gate")
    made.lay("ops/paging.md", "Who is paged at night: the sparrow rota, then the heron rota.\n", "Paging")
    made.lay("food.md", "Lentils want an hour and no salt.\n", "Lentils")
    made.lay("private/vault.md", "The canary gate password is kept by the notary.\n", "Canary gate password")
    made.let("ada")
    made.index()
    return made
