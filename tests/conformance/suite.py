"""Run the conformance suite for one revision of the protocol and read what it found, check by check."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from .excused import Excuse, excuse_for, excuse_for_all
from .fetching import Kit

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
_RUN_S: Final = 300
_FOLDER: Final = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT.*Z\Z")


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a scenario. ``excuse`` is the row that says why a failure does not count."""

    id: str
    status: str
    message: str
    excuse: Excuse | None = None

    @property
    def failed(self) -> bool:
        return self.status == "FAILURE"


Verdict = Literal["passed", "partly", "failed", "not applicable"]
"""``partly``: what could be checked passed, and some checks do not apply."""

_EVERYWHERE: Final = "wire-schema-valid"
"""A check that every scenario carries, also one that could look at nothing else."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario with its checks."""

    name: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> int:
        """How many checks of its own passed."""
        return sum(check.status == "SUCCESS" and check.id != _EVERYWHERE for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        """A scenario that checked nothing of its own has not passed: it does not apply."""
        failed = [check for check in self.checks if check.failed]
        if excuse_for_all(self.name) is not None:
            return "not applicable"
        if any(check.excuse is None for check in failed):
            return "failed"
        if not self.passed:
            return "not applicable"
        return "partly" if failed else "passed"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it, or a part of it, does not apply."""
        whole = excuse_for_all(self.name)
        if whole is not None:
            return (whole.reason,)
        told = dict.fromkeys(check.excuse.reason for check in self.checks if check.excuse is not None)
        return tuple(told) or (() if self.passed else (_SAID_NOTHING,))


_SAID_NOTHING: Final = "the suite found nothing to check here: no sessions, no event streams, none of its example tools"


class NotRunError(Exception):
    """The suite did not run to its end."""


def run(kit: Kit, url: str, revision: str, folder: Path) -> list[Scenario]:
    """Every scenario that a revision requires, and those that the suite runs without scoring them."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [kit.node, kit.conformance, "server", "--url", url, "--requirements", revision, "-o", folder]
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env=dict(kit.environment),
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotRunError(f"the suite for {revision} did not end within {_RUN_S} s") from error
    found = list(_read(folder)) if folder.is_dir() else []
    if "=== SUMMARY ===" not in done.stdout or not found:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise NotRunError(f"the suite for {revision} ended with status {done.returncode}: {' / '.join(said)}")
    return found


def _read(folder: Path) -> Iterator[Scenario]:
    for file in sorted(folder.glob("*/checks.json")):
        named = _FOLDER.match(file.parent.name)
        name = named[1] if named else file.parent.name
        yield Scenario(name, tuple(_check(name, row) for row in json.loads(file.read_text(encoding="utf-8"))))


def _check(scenario: str, row: dict[str, Any]) -> Check:
    message = str(row.get("errorMessage") or "")
    failed = row["status"] == "FAILURE"
    return Check(str(row["id"]), str(row["status"]), message, excuse_for(scenario, message) if failed else None)
