"""The nights' backups and the owner's canary, as far as a console may know them.

Of the backup that is what ``proof.json`` says, and nothing else: no set, no key and no remote is reached from here. Of
the canary it is how the last run ended; the names of its questions are for those who may see private notes, because
the owner may have asked about one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from muninn import canary, proof
from muninn.model.moments import rfc3339
from muninn.model.rights import Rights

State = Literal["proven", "overdue", "never", "none"]


@dataclass(frozen=True, slots=True)
class Night:
    """How the backup stands. ``none``: none was set up; ``never``: none was proven yet. ``age`` is in words."""

    state: State
    set_up: str | None
    last_ok: str | None
    age: str | None
    files: int | None
    warning: str | None


@dataclass(frozen=True, slots=True)
class Bird:
    """How the last run of the canary ended. ``failing`` are the names of questions, None where they are not told."""

    at: str
    age: str
    ok: bool
    asked: int
    failed: int
    last_ok: str | None
    failing: tuple[str, ...] | None


def night(home: Path) -> Night:
    """How the backup stands, by its proof alone."""
    found = proof.of(home)
    if found is None:
        return Night("none", None, None, None, None, None)
    warn = proof.overdue(home)
    set_up = rfc3339(found.set_up, "seconds")
    if found.last_ok is None:
        state: State = "never" if warn is None else "overdue"
        return Night(state, set_up, None, None, None, None if warn is None else warn.message)
    age = told_age(found.last_ok)
    state = "proven" if warn is None else "overdue"
    return Night(state, set_up, found.shown, age, found.files, None if warn is None else warn.message)


def bird(home: Path, rights: Rights) -> Bird | None:
    """How the last run of the canary ended; None where none has run."""
    found = canary.last(home)
    if found is None:
        return None
    names = found.failing if rights.sees_private and rights.sees_everything else None
    return Bird(found.at, _age_of(found.at), found.ok, found.asked, len(found.failing), found.last_ok, names)


def _age_of(text: str) -> str:
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        return "at an unknown time"
    return told_age(then if then.tzinfo is not None else then.replace(tzinfo=UTC))


def told_age(then: datetime) -> str:
    """How long ago a time is, roughly, in words."""
    seconds = (datetime.now(UTC) - then).total_seconds()
    if seconds < 0:
        return "in the future"
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"
