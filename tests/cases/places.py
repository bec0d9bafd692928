"""The folders of one case and the words that stand for them."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_made: set[Path] = set()
_PLACE = re.compile(r"<(vault_name|vault|parent|home|cache|remote|key|other_fs|port|token ([^<>]+))>")


@dataclass(frozen=True, slots=True)
class Places:
    """Where one case lives. `parent` holds only the vault and what the case lays there; `own` is the runner's."""

    base: Path

    @property
    def parent(self) -> Path:
        return self.base / "parent"

    @property
    def vault(self) -> Path:
        return self.parent / "vault"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def cache(self) -> Path:
        return self.base / "cache"

    @property
    def remote(self) -> Path:
        return self.base / "remote.git"

    @property
    def temp(self) -> Path:
        """The children's folder for temporary files."""
        return self.base / "temp"

    @property
    def person(self) -> Path:
        """The children's HOME and working directory, so that nothing of this machine's user counts."""
        return self.base / "person"

    @property
    def own(self) -> Path:
        """What the runner itself keeps: faults, locks, logs."""
        return self.base / "own"

    @property
    def faults(self) -> Path:
        return self.own / "faults.json"

    @property
    def trace(self) -> Path:
        return self.own / "faults.json.trace"

    @property
    def reranker(self) -> Path:
        return self.own / "reranker.jsonl"

    @property
    def locks(self) -> Path:
        return self.own / "locks"

    @property
    def troubles(self) -> Path:
        """One file for each outside change of a fault that could not be made."""
        return self.own / "troubles"

    @property
    def logs(self) -> Path:
        return self.own / "logs"


def fresh_places() -> Places:
    """A new folder with everything the children may expect of a machine; the vault is not made here."""
    places = Places(_new_folder(None))
    for folder in (places.parent, places.temp, places.person, places.own, places.locks, places.troubles, places.logs):
        folder.mkdir()
    return places


def _new_folder(where: Path | None) -> Path:
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="muninn-case-", dir=where)))
    _made.add(folder)
    return folder


def other_file_system(vault: Path) -> Path:
    """A new writable folder on another file system than the vault; without one, any folder outside the vault."""
    memory = Path("/dev/shm")
    elsewhere = memory.is_dir() and os.access(memory, os.W_OK) and memory.stat().st_dev != vault.parent.stat().st_dev
    return _new_folder(memory if elsewhere else None)


def new_token() -> str:
    """A token of the product's own form."""
    return "mnn_" + secrets.token_urlsafe(32)


def remove_folder(folder: Path) -> None:
    """Removes a folder of the runner whatever modes a case left in it."""
    for top, folders, _files in os.walk(folder):
        for name in folders:
            inner = os.path.join(top, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
    _made.discard(folder)


def remove_all_folders() -> None:
    """Removes every folder that was made and is still there."""
    for folder in list(_made):
        remove_folder(folder)


def put_places(text: str, lookup: Callable[[str], str]) -> str:
    """Replaces each place in a text; `lookup` gets its name without the brackets.

    >>> put_places("<vault>/a <b>", lambda name: "/v")
    '/v/a <b>'
    """
    return _PLACE.sub(lambda found: lookup(found[1]), text) if "<" in text else text
