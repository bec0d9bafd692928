"""Runs a case from its first file to its last check."""

from __future__ import annotations

from .judge import judge
from .load import Case
from .scope import Scope, flat
from .steps import run_steps
from .verdict import (
    Blocked,
    BlockedError,
    Failed,
    NotCarriedOutError,
    Passed,
    UndefinedError,
    Unknown,
    UnknownWordError,
    Verdict,
)
from .world import World

_OF_VARIANTS = frozenset({"each", "logs_lack"})


def run_case(case: Case, *, keep: bool = False) -> Verdict:
    """The verdict on a case. Whatever happens, its processes are ended and its folders removed, unless kept."""
    if case.unknown is not None:
        return Unknown(case.unknown)
    world = World(case.given)
    scope = Scope(world, case.then, keep=keep)
    try:
        return _run(case, scope)
    except UnknownWordError as strange:
        return Unknown(str(strange))
    except BlockedError as unbuilt:
        return Blocked(str(unbuilt))
    except (NotCarriedOutError, UndefinedError) as wrong:
        return Failed(str(wrong))
    finally:
        world.stop()
        world.remove(keep=keep)


def _run(case: Case, scope: Scope) -> Verdict:
    if _needs_world(case):
        scope.world.begin(scope.sight)
    run_steps(case.when, scope)
    judged = [(number, judge(check, scope)) for number, check in enumerate(case.then, 1)]
    wrongs = [(number, wrong) for number, wrong in judged if wrong is not None]
    if not wrongs:
        return Passed()
    (number, wrong), *others = wrongs
    more = f"; check {', '.join(str(other) for other, _ in others)} too" if others else ""
    return Failed(f"check {number}, {wrong}{more}")


def _needs_world(case: Case) -> bool:
    """Whether anything happens outside variants that have worlds of their own."""
    own = all(step.get("op") == "variants" and step.get("fresh", True) is not False for step in case.when)
    return not (own and all(check["check"] in _OF_VARIANTS for check in flat(case.then)))
