"""The one room that tests of the core work in: a temporary vault and home, with a real ledger and a real contract."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest

import ledger
from muninn import contract, vault
from muninn.door import Door
from muninn.model import seams
from muninn.model.content import NotePath
from muninn.model.rights import SCOPES, Globs, Rights
from muninn.model.sight import Sight

# The same examples each time, so that a landing does not hang on luck. MUNINN_EXAMPLES=2000 goes looking for new ones.
_EXAMPLES = int(os.environ.get("MUNINN_EXAMPLES", "0"))
hypothesis.settings.register_profile(
    "core", deadline=None, database=None, derandomize=not _EXAMPLES, max_examples=_EXAMPLES or 100
)
hypothesis.settings.load_profile("core")


def note_text(body: str = "text\n", title: str = "Canary gate", **fields: str) -> bytes:
    """A note that meets the contract; ``fields`` are more lines of frontmatter."""
    more = "".join(f"{key}: {value}\n" for key, value in fields.items())
    head = f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [ops, plan]\ndate: 2026-05-04\n{more}---\n"
    return (head + body).encode()


def path(text: str) -> NotePath:
    """A checked path, for tests that know that it is one."""
    found = NotePath.parse(text)
    assert isinstance(found, NotePath), found
    return found


@dataclass(slots=True)
class Nudges:
    """Stands in for the index: it is told where to look, and remembers it."""

    paths: list[NotePath] = field(default_factory=list)

    def nudge(self, paths: list[NotePath], look: Callable[[NotePath], Sight]) -> None:
        self.paths += paths


@dataclass(frozen=True, slots=True)
class Room:
    """A vault and a home in a temporary folder, and the door to them."""

    root: Path
    home: Path
    door: Door
    nudges: Nudges

    def lay(self, name: str, content: bytes) -> Path:
        """Put a file into the vault around the door."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def bytes_of(self, name: str) -> bytes | None:
        """What a file of the vault holds now, None where it is not there."""
        file = self.root / name
        return file.read_bytes() if file.is_file() else None

    def temps(self) -> list[str]:
        """Temp files of Muninn that lie in the vault."""
        return [str(found) for found in self.root.rglob(".muninn-*.tmp")]

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Every name in the vault and the home with mode, time of change and bytes.

        Left out is the memory that SQLite's connections share: each read leaves its mark there, and no reader keeps it.
        """
        found = {}
        for place in (self.root, self.home):
            for child in sorted([place, *place.rglob("*")]):
                if child.name.endswith("-shm"):
                    continue
                seen = child.lstat()
                content = child.read_bytes() if child.is_file() and not child.is_symlink() else b""
                found[str(child)] = (seen.st_mode, seen.st_mtime_ns, content)
        return found

    def rights(self, client: str = "ada", *, scopes: frozenset[str] = frozenset(SCOPES), write: str = "**") -> Rights:
        return Rights(client, scopes, write=Globs((write,)), private_paths=self.door.contract.private)


def at(point: str, act: Callable[[], object], times: int = 1, where: str | None = None) -> None:
    """Let something happen at a fault point, the next ``times`` times it is passed (for the path ``where``)."""
    left = times

    def hook(passed: str, of: str | None) -> None:
        nonlocal left
        if passed == point and left > 0 and where in (None, of):
            left -= 1
            act()

    seams.arm(hook)


def breaking(code: int = errno.EIO) -> Callable[[], None]:
    """Something to happen at a fault point: the disk fails."""

    def fail() -> None:
        raise OSError(code, os.strerror(code))

    return fail


def furnish(folder: Path, folder_page: str | None = None, private: tuple[str, ...] = ("private/",)) -> Room:
    """Make a room, or enter again the one that a process has left. Folder pages are off unless named."""
    root, home = folder / "vault", folder / "home"
    root.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    book = ledger.Ledger(home / "ledger.db")
    place = vault.adopt(root, book.vault_id)
    book.belong_to(str(place.id))
    nudges = Nudges()
    rules = contract.build(folder_page=folder_page, private=private)
    return Room(root, home, Door(home, place, book, cast(Any, nudges), rules, lambda: "2026-05-04"), nudges)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A room without folder pages."""
    made = furnish(tmp_path)
    yield made
    seams.arm(None)
    made.door.ledger.close()


@pytest.fixture
def paged(tmp_path: Path) -> Iterator[Room]:
    """A room with folder pages, as a vault has them by default."""
    made = furnish(tmp_path, "index.md")
    yield made
    seams.arm(None)
    made.door.ledger.close()
