"""The cut: files and ledger of one moment, whoever writes meanwhile; and nothing left out without a word."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from backup import cut as cutting
from backup.errors import BackupError
from ledger import Ledger, snapshot
from muninn.model import seams
from muninn.vault import write_lock
from tests.backup.yard import Yard, tree
from tests.conftest import at


def test_what_changed_while_it_read_is_read_again(yard: Yard) -> None:
    """At the end of the reading, before the freeze: changed, new, gone, turned into a folder."""
    for name in ("gone.md", "turned.md"):
        yard.room.lay(name, b"x")
    honest = cutting.Cut.freeze

    def freeze(self: cutting.Cut, *rest: object) -> object:
        yard.room.lay("a.md", b"other bytes")
        yard.room.lay("new/new.md", b"new")
        (yard.vault / "b/c.md").chmod(0o640)
        (yard.vault / "gone.md").unlink()
        (yard.vault / "turned.md").unlink()
        (yard.vault / "turned.md").mkdir()
        return honest(self, *rest)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cutting.Cut, "freeze", freeze)
        yard.run()
    assert tree(yard.restore() / "vault") == tree(yard.vault)


def test_bytes_that_change_under_an_equal_stamp_are_read_again(yard: Yard) -> None:
    """Same size and the same time of change, put back by hand: the file is young, so its stamp is not believed."""
    honest = cutting.Cut.freeze

    def freeze(self: cutting.Cut, *rest: object) -> object:
        seen = (yard.vault / "a.md").stat()
        (yard.vault / "a.md").write_bytes(b"y" * seen.st_size)
        os.utime(yard.vault / "a.md", ns=(seen.st_atime_ns, seen.st_mtime_ns))
        return honest(self, *rest)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cutting.Cut, "freeze", freeze)
        yard.run()
    assert set((yard.restore() / "vault/a.md").read_bytes()) == {ord("y")}


def test_no_writer_is_half_way_at_the_cut(yard: Yard) -> None:
    """A writer that holds the lock, with a note in place and its event still to come, is waited for."""
    seen: list[str] = []

    def write() -> None:
        with write_lock(yard.home):
            seen.append("locked")
            yard.room.lay("half.md", b"in place")
            time.sleep(0.4)
            seen.append("unlocked")

    writer = threading.Thread(target=write)
    honest = cutting.Cut._look_again

    def look(self: cutting.Cut, root: int) -> None:
        seen.append("cut")
        honest(self, root)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cutting.Cut, "_look_again", look)
        at("vault.read", writer.start)
        yard.run()
    writer.join()
    assert seen == ["locked", "unlocked", "cut"]


def test_the_ledger_is_of_the_same_moment(yard: Yard) -> None:
    """Rows that come after the freeze are of the next set."""
    honest = snapshot.Copy.__init__
    heads: list[str] = []

    def copy(self: snapshot.Copy, *rest: Any) -> None:
        heads.append(yard.room.door.ledger.tip().head)
        yard.write("late.md", "after the freeze\n")
        honest(self, *rest)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(snapshot.Copy, "__init__", copy)
        yard.run()
    back = yard.restore()
    book = Ledger(back / "ledger.db")
    assert book.tip().head == heads[0]
    book.close()
    assert not (back / "vault/late.md").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT RUN: root reads every file")
def test_a_file_that_cannot_be_read_is_not_left_out_without_a_word(yard: Yard) -> None:
    (yard.vault / "a.md").chmod(0)
    with pytest.raises(BackupError, match=r"cannot be read \(Permission denied\): a\.md"):
        yard.run()


def test_a_file_that_the_disk_does_not_give_stops_the_run(yard: Yard) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    at("vault.read", fail, where="b/d.md")
    with pytest.raises(BackupError, match=r"b/d\.md"):
        yard.run()
    seams.arm(None)
    yard.run()


def test_a_file_that_never_stops_changing_is_taken_as_it_was_read(yard: Yard, tmp_path: Path) -> None:
    stop = threading.Event()

    def scribble() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with (yard.vault / "busy.log").open("ab") as log:
                log.write(b"x" * 100)

    writer = threading.Thread(target=scribble)
    yard.room.lay("busy.log", b"")
    writer.start()
    try:
        yard.run()
    finally:
        stop.set()
        writer.join()
    found = (yard.restore() / "vault/busy.log").read_bytes()
    assert set(found) <= {ord("x")}
