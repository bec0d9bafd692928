"""A check as a value: what it is called, what it looks at, and how. What it finds is a value, too.

What the disk holds may be anything: where it makes a check break, that is the check's own fault. A bug is left to rise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from muninn.model.errors import MuninnError, reason

from .installation import BROKEN, Installation, LackingError


@dataclass(frozen=True, slots=True)
class Named:
    """A path that a finding concerns, with the reason where it has one of its own."""

    path: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """``says`` is for a person; a fault's ends with the next step. ``paths`` are those concerned, ``details`` what
    there is to say that is no path."""

    state: Literal["ok", "fault", "skipped"]
    says: str
    paths: tuple[Named, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at. ``says`` is what it looks at; ``mend`` what a person does about a fault of it."""

    name: str
    says: str
    mend: str
    run: Callable[[Installation], Finding]


@dataclass(frozen=True, slots=True)
class Found:
    """A check by name, with what it found."""

    name: str
    finding: Finding


def ok(says: str, paths: Iterable[str] = ()) -> Finding:
    """Looked at, and well."""
    return Finding("ok", says, tuple(map(Named, paths)))


def fault(what: str, step: str, paths: Iterable[str | Named] = (), details: Iterable[str] = ()) -> Finding:
    """Something is wrong: what was found, and the next step. Paths are told in their order."""
    named = (one if isinstance(one, Named) else Named(one) for one in paths)
    return Finding("fault", f"{what}; {step}", tuple(sorted(named, key=lambda one: one.path)), tuple(details))


def skipped(why: str) -> Finding:
    """Not looked at, and so not passed."""
    return Finding("skipped", why)


def run(check: Check, installation: Installation) -> Found:
    """Make one check. What breaks under it is its fault; what it lacks leaves it out."""
    try:
        return Found(check.name, check.run(installation))
    except LackingError as lacking:
        return Found(check.name, skipped(str(lacking)))
    except BROKEN as error:
        return Found(check.name, Finding("fault", f"{_told(error)}. {check.mend}"))


def _told(error: Exception) -> str:
    match error:
        case MuninnError():
            return str(error)
        case OSError():
            where = f": {error.filename}" if error.filename else ""
            return f"it cannot be looked at ({reason(error)}){where}"
        case _:
            return f"it cannot be read ({type(error).__name__.removesuffix('Error')})"
