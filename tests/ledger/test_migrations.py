"""A ledger of an older schema is copied, then migrated whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ledger import Ledger, verify
from ledger.file import File
from ledger.migrations import MIGRATIONS, VERSION, Migration, target
from muninn.model.errors import LedgerUnavailableError
from tests.ledger.filled import make


def adding(column: str) -> Callable[[apsw.Connection], None]:
    def apply(writer: apsw.Connection) -> None:
        writer.execute(f"ALTER TABLE pendings ADD COLUMN {column} TEXT")

    return apply


STEPS = (Migration(VERSION + 1, adding("one")), Migration(VERSION + 2, adding("two")))


def columns(file: Path) -> list[str]:
    with closing(apsw.Connection(str(file))) as other:
        return [row[0] for row in other.execute("SELECT name FROM pragma_table_info('pendings')")]


def version(file: Path) -> int:
    with closing(apsw.Connection(str(file))) as other:
        return int(other.pragma("user_version"))


def others(file: Path) -> list[str]:
    """What lies beside the ledger, its own company left out."""
    own = {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    return sorted(found.name for found in file.parent.iterdir() if found.name not in own)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make(tmp_path, 5)


def test_the_steps_lead_to_todays_schema_without_gaps() -> None:
    assert target(MIGRATIONS) == VERSION
    versions = [step.version for step in MIGRATIONS]
    assert versions == list(range(VERSION + 1 - len(versions), VERSION + 1))


def test_a_file_of_today_is_not_copied(file: Path) -> None:
    book = Ledger(file)
    book.head()
    book.close()
    assert others(file) == []


def test_an_older_file_is_copied_and_then_migrated(file: Path) -> None:
    before = verify(file)
    book = Ledger(file, STEPS)
    assert book.head()[0] == before.events
    book.close()
    assert columns(file)[-2:] == ["one", "two"]
    assert version(file) == VERSION + 2
    copy = file.with_name(f"ledger.db.before-v{VERSION + 2}")
    assert others(file) == [copy.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert (version(copy), "one" in columns(copy)) == (VERSION, False)
    with closing(apsw.Connection(str(copy))) as other:
        other.execute("PRAGMA journal_mode = WAL")
    assert verify(copy) == before


def test_rows_that_lie_in_the_log_yet_are_in_the_copy(file: Path) -> None:
    writing = Ledger(file)
    writing.name_key("cd" * 32)
    assert file.with_name("ledger.db-wal").stat().st_size > 0
    rows = writing.tip().rows
    migrated = Ledger(file, STEPS)
    migrated.head()
    with closing(apsw.Connection(str(file.with_name(f"ledger.db.before-v{VERSION + 2}")))) as copy:
        assert copy.execute("SELECT count(*) FROM rows").get == rows
    migrated.close()
    writing.close()


def test_a_copy_that_is_there_is_never_replaced(file: Path) -> None:
    first = file.with_name(f"ledger.db.before-v{VERSION + 2}")
    first.write_text("somebody's")
    book = Ledger(file, STEPS)
    book.head()
    book.close()
    assert first.read_text() == "somebody's"
    assert others(file) == [first.name, f"{first.name}-2"]


def test_a_migration_that_fails_leaves_the_file_as_it_was_and_says_what_to_do(file: Path) -> None:
    whole = file.read_bytes()
    broken = (STEPS[0], Migration(VERSION + 2, adding("one")))
    book = Ledger(file, broken)
    for _ in range(2):
        with pytest.raises(LedgerUnavailableError, match=r"left as it was.*start again"):
            book.head()
    assert book.fault is None
    book.close()
    assert (file.read_bytes(), others(file)) == (whole, [])
    assert verify(file).faults == ()


def test_without_room_for_the_copy_nothing_is_migrated(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ledger.migrations.os.link", full)
    book = Ledger(file, STEPS)
    with pytest.raises(LedgerUnavailableError, match="left as it was"):
        book.head()
    book.close()
    assert (version(file), others(file)) == (VERSION, [])


def test_a_file_that_no_step_begins_at_is_refused(file: Path) -> None:
    book = Ledger(file, (Migration(VERSION + 2, adding("two")),))
    with pytest.raises(LedgerUnavailableError, match="no way on"):
        book.head()
    book.close()
    assert (version(file), others(file)) == (VERSION, [])


def test_who_waits_for_the_migration_of_another_does_not_repeat_it(file: Path) -> None:
    first, second = File(file, STEPS), File(file, STEPS)
    for one in (first, second):
        with one.reading():
            pass
    assert others(file) == [f"ledger.db.before-v{VERSION + 2}"]
    first.close()
    second.close()


def test_a_file_of_the_first_schema_becomes_one_of_today(file: Path) -> None:
    with closing(apsw.Connection(str(file))) as other:
        other.execute(
            "DROP INDEX ends_late; DROP INDEX rows_by_source; DROP INDEX rows_of_claim; PRAGMA user_version = 1"
        )
    assert verify(file).faults
    book = Ledger(file)
    before = book.claims.newest()
    assert before
    book.close()
    assert (version(file), others(file)) == (VERSION, [f"ledger.db.before-v{VERSION}"])
    assert verify(file).faults == ()
