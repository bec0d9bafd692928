"""Checks of what Muninn runs on: its own files, the versions beside it, and the gateway that runs."""

from __future__ import annotations

import platform
import sys
from typing import Final

import apsw

import muninn
from muninn import health
from muninn.vault import read_lease

from . import installed
from .check import Finding, Named, fault, ok, skipped
from .installation import Installation

_PYTHON: Final = (3, 11)
_FTS5: Final = (
    "CREATE VIRTUAL TABLE t USING fts5(a, content='', contentless_delete=1);"
    "INSERT INTO t(rowid, a) VALUES(1, 'word'); SELECT rowid FROM t WHERE t MATCH 'word'"
)
"""What the index needs of SQLite; the option came with 3.43 (sqlite.org/fts5.html)."""


def files(_: Installation) -> Finding:
    """Every installed file against the hash it was installed with."""
    found = installed.compared()
    if found.untold is not None:
        return skipped(found.untold)
    if found.wrong:
        step = "install Muninn anew, in an environment of its own"
        named = [Named(file, why) for file, why in found.wrong]
        return fault(f"installed files were overwritten or are gone: {len(named)}", step, named)
    return ok(f"{found.count} installed files are as they were installed")


def versions(_: Installation) -> Finding:
    """Python, SQLite, and whether SQLite can search."""
    told = f"Muninn {muninn.__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    if sys.version_info < _PYTHON:
        return fault(told, "use Python 3.11 or newer")
    memory = apsw.Connection(":memory:")
    try:
        found = memory.execute(_FTS5).fetchall()
    except apsw.Error as error:
        return fault(f"{told}: it cannot search ({error})", "install Muninn anew with its pinned packages")
    finally:
        memory.close()
    return ok(f"{told} with FTS5") if found == [(1,)] else fault(f"{told}: it finds nothing", "install Muninn anew")


def gateway(installation: Installation) -> Finding:
    """Whether one serves the vault, and whether it says that it is well."""
    if not installation.served:
        return skipped("no gateway serves this vault now")
    lease = read_lease(installation.places.lease)
    if lease is None:
        what = "a gateway serves this vault, and this home does not say which: it was started with another home"
        return fault(what, "see who serves it, and use one home")
    who = f"process {lease.process}, port {lease.port}"
    # Over plain HTTP or TLS: the home does not say which.
    status = health.status(f"http://127.0.0.1:{lease.port}") or health.status(f"https://127.0.0.1:{lease.port}")
    if status is None:
        return skipped(f"{who} serves the vault and cannot be asked at 127.0.0.1: ask its /health where it listens")
    if status != 200:
        what = f"{who} answers /health with {status}: its vault or its ledger is down"
        return fault(what, "see vault and ledger here, and what it logs; then start it again")
    return ok(f"{who}, and it answers /health")
