"""Two things done to an SQLite file from outside: one statement, and a write transaction that is held.

Run as a child (`sql PATH STATEMENT`, `lock PATH SECONDS TOKEN`), because a process must not open a file by two
SQLite libraries, nor give up its locks by closing a file that it opened twice. A held lock has a token, a file with
the path: whoever removes the token ends the lock.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_TABLE = re.compile(r"\{table:([^{}]*)\}")
_POLL_S = 0.02
_BUSY_S = 30.0
_DEFENSIVE = 1010


def statements(connection: sqlite3.Connection, sql: str) -> list[str]:
    """The statement once for each table whose name ends with the suffix in {table:SUFFIX}; refuses to do nothing.

    >>> c = sqlite3.connect(":memory:"); _ = c.execute("CREATE TABLE a_x (b)")
    >>> statements(c, "DELETE FROM {table:_x}"); c.close()
    ['DELETE FROM "a_x"']
    """
    found = _TABLE.search(sql)
    if found is None:
        return [sql]
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    names = [str(name) for (name,) in rows if str(name).endswith(found[1])]
    if not names:
        raise LookupError(f"no table's name ends with {found[1]}")
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    return [sql.replace(found[0], name) for name in quoted]


def run_sql(path: Path, sql: str) -> None:
    """Runs one statement on a file that is there."""
    with contextlib.closing(_open(path)) as connection:
        for statement in statements(connection, sql):
            connection.execute(statement).fetchall()


def hold_lock(path: Path, seconds: float, token: Path) -> None:
    """Holds a write transaction until the time is over or the token is gone; `.held` stands as long as it is held."""
    held = token.with_suffix(".held")
    with contextlib.closing(_open(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        held.touch()
        written = token.with_suffix(".new")
        written.write_text(str(path), "utf-8")
        written.replace(token)
        end = time.monotonic() + seconds
        while time.monotonic() < end and token.exists():
            time.sleep(_POLL_S)
        connection.execute("ROLLBACK")
    token.unlink(missing_ok=True)
    held.unlink(missing_ok=True)


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    set_option = getattr(connection, "setconfig", None)
    if set_option is not None:
        set_option(_DEFENSIVE, False)
    return connection


def main(arguments: Sequence[str]) -> int:
    """The child's command line: 0 when done, 1 with the reason on stderr."""
    try:
        match arguments:
            case ["sql", path, sql]:
                run_sql(Path(path), sql)
            case ["lock", path, seconds, token]:
                hold_lock(Path(path), float(seconds), Path(token))
            case _:
                raise ValueError(f"sql or lock expected, found {list(arguments)}")
    except (OSError, LookupError, ValueError, sqlite3.Error) as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
