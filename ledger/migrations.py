"""How a ledger file of an older schema becomes one of today's: a copy first, then one transaction.

``schema.sql`` is always today's schema, for new files. Each change of it raises ``VERSION`` and adds one
``Migration`` that does the same to a file that has rows already. Kept rows and their chain are never rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from muninn.model.errors import LedgerUnavailableError

VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: ``apply`` brings a file of schema ``version - 1`` to ``version``, inside a transaction that is open."""

    version: int
    apply: Callable[[apsw.Connection], None]


def _find_claims(writer: apsw.Connection) -> None:
    """2: claims and summaries are found by the path in their body."""
    writer.execute("CREATE INDEX rows_of_claim ON rows (seq) WHERE kind = 'claim'")
    writer.execute(
        "CREATE INDEX rows_by_source ON rows (json_extract(body, '$.path'), kind)"
        " WHERE kind IN ('claim', 'retract', 'summary')"
    )


def _find_late_ends(writer: apsw.Connection) -> None:
    """3: ends of plans that were pending are found; kept bytes may be packed against others (``blobs``)."""
    writer.execute("CREATE INDEX ends_late ON ends (seq) WHERE seq > plan + 16")


MIGRATIONS: Final[tuple[Migration, ...]] = (Migration(2, _find_claims), Migration(3, _find_late_ends))
"""In order, without gaps; the last one leads to ``VERSION``."""


def target(migrations: Sequence[Migration]) -> int:
    """The schema that a file has after these migrations."""
    return migrations[-1].version if migrations else VERSION


def version_of(connection: apsw.Connection) -> int:
    """The schema of a file; 0 for one without tables."""
    row = connection.execute("PRAGMA user_version").fetchone()
    return int(row[0]) if row else 0


def migrate(writer: apsw.Connection, file: Path, migrations: Sequence[Migration]) -> None:
    """Bring a file with rows to the newest schema; nothing where it has it already.

    The copy is taken under the write lock, so that it is the file as it was to the last row. It is named
    ``NAME.before-vN`` (with ``-2``, ``-3`` … where there is one already) and never replaces a file. When a step
    fails, the transaction is undone, the file is as it was, the needless copy is removed, and the
    LedgerUnavailableError says what to do.
    """
    if version_of(writer) >= target(migrations):
        return
    writer.execute("BEGIN IMMEDIATE")
    found, copy = version_of(writer), None
    try:
        steps = [step for step in migrations if step.version > found]
        if [step.version for step in steps] != list(range(found + 1, target(migrations) + 1)):
            raise LedgerUnavailableError(f"the ledger has schema {found}, and this Muninn knows no way on from there")
        if steps:
            copy = _copy(file, target(migrations))
        for step in steps:
            step.apply(writer)
            writer.execute(f"PRAGMA user_version = {step.version}")
        writer.execute("COMMIT")
    except BaseException as error:
        if not writer.get_autocommit():
            writer.execute("ROLLBACK")
        if copy is not None:
            copy.unlink()
        if isinstance(error, apsw.Error | OSError):
            raise _failed(found, migrations, error) from error
        raise


def _failed(found: int, migrations: Sequence[Migration], error: Exception) -> LedgerUnavailableError:
    why = "the disk is full" if isinstance(error, apsw.FullError) else type(error).__name__.removesuffix("Error")
    return LedgerUnavailableError(
        f"the ledger cannot be brought from schema {found} to {target(migrations)} ({why}). It was left as it was: "
        "see that the home has room for a copy of it and start again, or go on with the Muninn that made it"
    )


def _copy(file: Path, version: int) -> Path:
    """A whole copy under a name that was free, readable by its owner alone, and on disk when this returns."""
    draft = file.with_name(f"{file.name}.before-v{version}.{os.getpid()}.tmp")
    os.close(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
    try:
        with closing(apsw.Connection(str(file))) as source, closing(apsw.Connection(str(draft))) as copied:
            with copied.backup("main", source, "main") as backup:
                backup.step()
            # One file, so that it can be looked at and moved without company.
            copied.execute("PRAGMA journal_mode = DELETE")
        _flush(draft)
        for number in range(1, 1000):
            name = file.with_name(f"{file.name}.before-v{version}" + (f"-{number}" if number > 1 else ""))
            try:
                os.link(draft, name)
            except FileExistsError:
                continue
            _flush(file.parent)
            return name
        raise OSError("no free name for a copy")
    finally:
        draft.unlink()


def _flush(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
