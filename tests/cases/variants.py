"""The inner steps once for each variant, and the checks of `each` judged while that variant's world stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .judge import judge
from .laying import laid_over
from .records import Record, same
from .scope import Check, Key, Scope, flat, key_of
from .values import Sight
from .verdict import NotCarriedOutError, UndefinedError, shown
from .world import World

Runner = Callable[[Sequence[Any], Scope], None]


def run_variants(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope, run_steps: Runner) -> Record:
    """Runs every variant, each on a fresh copy of the given state unless `fresh` is false. It leaves no record."""
    began = time.monotonic()
    asked = [check for check in flat(scope.checks) if check["check"] == "each" and key_of(check["of"]) == key]
    names = sight.names.union(*step["variants"])
    for number, variant in enumerate(step["variants"]):
        picked = [check for check in asked if picks(check, variant)]
        label = shown(variant.get("name", _short(variant, number)), 80)
        try:
            _run_one(step, variant, names, picked, label, scope, run_steps)
        except (NotCarriedOutError, UndefinedError) as wrong:
            raise NotCarriedOutError(f"variant {label}: {wrong}") from wrong
    return Record("variants", None, seconds=time.monotonic() - began)


def _short(variant: Mapping[str, Any], number: int) -> str:
    told = [f"{key}={value!r}" for key, value in variant.items() if isinstance(value, str)]
    return f"{number} {told[0]}" if told else str(number)


def picks(check: Check, variant: Mapping[str, Any]) -> bool:
    """Whether an `each` speaks of this variant.

    >>> picks({"where_has": "top"}, {"q": 1}), picks({"where_not": {"q": 2}}, {"q": 1})
    (False, True)
    """
    where, where_not = check.get("where", {}), check.get("where_not")
    has = check.get("where_has", [])
    present = [has] if isinstance(has, str) else has
    fits = all(key in variant and same(variant[key], value) for key, value in where.items())
    barred = where_not is not None and all(key in variant and same(variant[key], v) for key, v in where_not.items())
    return fits and not barred and all(key in variant for key in present)


def _run_one(
    step: Mapping[str, Any],
    variant: Mapping[str, Any],
    names: frozenset[str],
    picked: Sequence[Check],
    label: str,
    outer: Scope,
    run_steps: Runner,
) -> None:
    fresh = step.get("fresh", True) is not False
    world = World(laid_over(outer.world.given, variant.get("given", {}))) if fresh else outer.world
    inner_checks = [inner for check in picked for inner in check["checks"]]
    inner = Scope(world, inner_checks, (variant, *outer.sight.variants), names, keep=outer.keep)
    try:
        if fresh:
            world.begin(inner.sight)
        elif "given" in variant:
            world.lay_more(variant["given"])
        run_steps(step["steps"], inner)
        for check in picked:
            wrongs = (judge(one, inner) for one in check["checks"])
            wrong = next((said for said in wrongs if said is not None), None)
            outer.variants_judged.setdefault(id(check), []).append((label, wrong))
    finally:
        outer.past_logs += inner.past_logs
        outer.past_reranker += inner.past_reranker
        if fresh:
            world.stop()
            outer.past_logs.append(world.logs())
            outer.past_reranker += world.reranker_lines()
            world.remove(keep=outer.keep)
