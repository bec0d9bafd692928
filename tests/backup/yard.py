"""A vault, a home and a bare repository for one test of the backup, and what a person would do with them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import backup
from backup import key as keys
from ledger import checkpoint
from muninn import writing
from muninn.model.content import MISSING, ContentHash
from muninn.model.draft import WriteDraft
from muninn.model.rights import SCOPES, Rights
from muninn.vault import Vault
from tests.conftest import Room, furnish, note_text, path

Entry = tuple[str, int, int, bytes]


@contextlib.contextmanager
def quiet(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """No progress bar."""
    yield lambda done, total: None


def tree(folder: Path) -> dict[bytes, Entry]:
    """What lies below a folder, links and git's own left out: kind, mode, time of change of files, hash."""
    found: dict[bytes, Entry] = {}
    root = os.fsencode(folder)
    for top, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != b".git" and not os.path.islink(os.path.join(top, name))]
        for name in folders:
            place = os.path.join(top, name)
            found[os.path.relpath(place, root)] = ("folder", os.lstat(place).st_mode & 0o7777, 0, b"")
        for name in files:
            place = os.path.join(top, name)
            seen = os.lstat(place)
            if name != b".git" and os.path.isfile(place) and not os.path.islink(place):
                digest = hashlib.sha256(Path(os.fsdecode(place)).read_bytes()).digest()
                found[os.path.relpath(place, root)] = ("file", seen.st_mode & 0o7777, seen.st_mtime_ns, digest)
    return found


@dataclass(slots=True)
class Yard:
    """The places of one test."""

    folder: Path
    room: Room
    key: str = ""

    @property
    def vault(self) -> Path:
        return self.room.root

    @property
    def home(self) -> Path:
        return self.room.home

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    @property
    def places(self) -> backup.Places:
        return backup.Places(self.home, os.environ)

    def git(self, *words: str, stdin: bytes = b"") -> str:
        """Ask the remote's own repository."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "somebody@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        argv = ["git", "--git-dir", str(self.remote), *words]
        done = subprocess.run(argv, input=stdin, capture_output=True, env=environment, check=True)
        return done.stdout.decode("utf-8", "replace").strip()

    def init(self, remote: Path | None = None, given: str | None = None) -> backup.SetUp:
        done = backup.set_up(self.places, str(remote or self.remote), keys.parse(given) if given else None)
        self.key = done.key or self.key
        return done

    def run(self, **wishes: object) -> backup.Ran:
        """A run, as the command does it."""
        wish = backup.Wish(**wishes)  # type: ignore[arg-type]
        vault = Vault(self.vault, self.room.door.vault.id)
        ledger, ledger_key = self.home / "ledger.db", self.home / "ledger.key"
        return backup.noted(self.places, lambda: backup.run(self.places, vault, ledger, ledger_key, wish, quiet))

    def restore(self, name: str = "back", at: str | None = None) -> Path:
        """Bring a set back; gives the folder."""
        target = self.folder / name
        backup.restore(self.places, target, at, [self.vault, self.home], quiet)
        return target

    def write(self, name: str, body: str) -> str:
        """A write through the door. Gives its event."""
        content = note_text(body)
        file = self.vault / name
        expected = ContentHash.of(file.read_bytes()) if file.exists() else MISSING
        rights = Rights("ada", frozenset(SCOPES), private_paths=self.room.door.contract.private)
        done = writing.commit(self.room.door, rights, WriteDraft(path(name), name, content, expected), None)
        return str(getattr(done, "event", done))


def lay_out(folder: Path) -> Yard:
    """A yard with a few notes and an empty remote; ``init`` is still to be called."""
    made = Yard(folder, furnish(folder))
    book = made.room.door.ledger
    book.name_key(checkpoint.public_of(checkpoint.open_key(made.home / "ledger.key")))
    for name in ("a.md", "b/c.md", "b/d.md", "e/f/g.md"):
        made.room.lay(name, note_text(f"about {name}\n"))
    made.write("door.md", "through the door\n")
    subprocess.run(
        ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(made.remote)], check=True, capture_output=True
    )
    return made
