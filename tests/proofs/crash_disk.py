"""A disk that is full, out of names, or read-only: old bytes stand or new ones do, whole, and nothing is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from ledger import Ledger
from muninn import writing
from muninn.door import Door
from muninn.model.content import MISSING
from muninn.model.draft import ArchiveDraft, Draft, WriteDraft

from . import model
from .heard import begin
from .mounts import CannotMountError, in_memory, read_only
from .said import Said, fresh_note
from .table import Row
from .writer import door_of, path_of, present, send

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_NOTE: Final = path_of("w0/0.md")


def prove(folder: Path, step: int = 256) -> list[Row]:
    """Vault, then home, on a small file system with 0 to 8,192 bytes free; then no inodes; then read-only."""
    try:
        return [
            _full(folder / "a", "vault", step),
            _full(folder / "b", "home", step),
            _no_names(folder / "c", "vault"),
            _no_names(folder / "d", "home"),
            _read_only(folder / "e", "vault"),
            _read_only(folder / "f", "home"),
        ]
    except CannotMountError as error:
        return [Row("disk full", skipped=str(error))]


def _full(folder: Path, which: str, step: int) -> Row:
    row = Row(f"{which} on a full disk")
    # The ledger keeps all that was ever written: it needs room for the whole proof.
    with in_memory(folder / which, "size=2m" if which == "vault" else "size=24m"):
        here = _Here(folder, row)
        for free in range(0, 8192 + 1, step):
            # Memory is handed out in pages: the bytes that do not make up one are left in the note's size.
            for size in {200 + free, _PAGE - 8 + free % 16, 2 * _PAGE + free}:
                with _filled(folder / which, free):
                    here.write(size, f"{free} bytes free, {size} written")
            here.archive_and_create(f"{free} bytes free")
        here.end()
    return row


def _no_names(folder: Path, which: str) -> Row:
    row = Row(f"{which} without inodes")
    with in_memory(folder / which, "size=4m,nr_inodes=60"):
        here = _Here(folder, row)
        taken = folder / which / ".taken"
        taken.mkdir()
        for leave in range(4):
            names = list(_take_names(taken))
            for name in names[: leave + 1]:
                name.unlink()
            here.write(300, f"{leave} names left")
            here.create(f"n{leave}/x.md", f"{leave} names left, in a new folder")
            for name in taken.iterdir():
                name.unlink()
        taken.rmdir()
        here.end()
    return row


def _take_names(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        for number in range(1000):
            file = folder / str(number)
            file.touch()
            yield file


def _read_only(folder: Path, which: str) -> Row:
    row = Row(f"{which} read-only")
    with in_memory(folder / which, "size=4m"):
        here = _Here(folder, row)
        here.let_go_of_ledger()
        read_only(folder / which, True)
        here.write(300, "read-only")
        here.create("new/x.md", "read-only, in a new folder")
        here.let_go_of_ledger()
        read_only(folder / which, False)
        here.write(300, "writable again")
        here.end()
    return row


class _filled:  # noqa: N801 - it is used as a word in a with statement
    """A file system with this many bytes free, rounded up to whole pages, for the length of a block."""

    def __init__(self, folder: Path, free: int) -> None:
        self._file = folder / ".filler"
        self._free = -(-free // _PAGE) * _PAGE

    def __enter__(self) -> None:
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        written = 0
        with suppress(OSError):
            while True:
                written += os.write(descriptor, bytes(_PAGE))
        os.ftruncate(descriptor, max(0, written - self._free))
        os.close(descriptor)

    def __exit__(self, *_: object) -> None:
        self._file.unlink()


class _Here:
    """A door on the small file system, and what it was asked."""

    def __init__(self, folder: Path, row: Row) -> None:
        (folder / "vault").mkdir(parents=True, exist_ok=True)
        self.said = Said()
        begin(folder, self.said)
        self.door: Door = door_of(folder)
        self._folder = folder
        self._row = row

    def let_go_of_ledger(self) -> None:
        """Close its file, which hinders a remount while it is open; the next call opens it again."""
        self.door.ledger.close()
        self.door = replace(self.door, ledger=Ledger(self._folder / "home/ledger.db"))

    def write(self, size: int, about: str) -> None:
        """Overwrite the one note, and see that disk and answer agree."""
        content = fresh_note(about, size).encode()
        self._send(WriteDraft(_NOTE, _NOTE, content, present(self.door, _NOTE)), content, about)

    def create(self, name: str, about: str) -> None:
        """A note in a folder that has to be made."""
        content = fresh_note(about).encode()
        self._send(WriteDraft(path_of(name), name, content, MISSING), content, about)

    def archive_and_create(self, about: str) -> None:
        """An archive needs no room in the vault; what follows brings the note back."""
        now = present(self.door, _NOTE)
        if now is not MISSING:
            self._send(ArchiveDraft(_NOTE, now, "obsolete", None), None, about)
        self.write(500, about)

    def _send(self, draft: Draft, content: bytes | None, about: str) -> None:
        before = self._vault()
        sent = None if content is None else self.said.attempt(content)
        answer = send(self.door, draft)
        self.said.answered(answer, sent)
        self._row.rounds += 1
        after = self._vault()
        if "error" in answer and after != before:
            self._row.take([model.Finding("torn", f"refused ({answer['error']}), and the vault changed")], about)
        if answer.get("state") == "committed" and after.get(draft.path) != (sent or None):
            self._row.take([model.Finding("lost", f"committed, and {draft.path} holds something else")], about)
        left = model.temps(self._folder / "vault")
        self._row.take([model.Finding("temp", file.name) for file in left], about)

    def _vault(self) -> dict[str, str]:
        return model.on_disk(self._folder / "vault")

    def end(self) -> None:
        """With room again, what is pending is played, and all must hold."""
        writing.recover_all(self.door)
        places = model.Places(self._folder / "vault", self._folder / "home", self.said)
        self._row.take(model.check(places), "with room again")
        self._row.acknowledged = len(self.said.acks)
        self.door.ledger.close()
        self.door.index.close()
