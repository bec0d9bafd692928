"""Case files: read, each case checked on its own, so that one odd case never hides the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .content import wrong_fixture
from .grammar import check_case
from .verdict import UnknownWordError


class CaseFileError(Exception):
    """The file is absent or is no case file."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case; `unknown` says which word of it the runner does not know, if any."""

    id: str
    needs: frozenset[str]
    given: Mapping[str, Any]
    when: tuple[Any, ...]
    then: tuple[Mapping[str, Any], ...]
    unknown: str | None = None


def load(path: Path) -> tuple[Case, ...]:
    """The cases of a file in its order; refuses a file that is absent, no JSON or without cases."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as wrong:
        raise CaseFileError(f"{path}: {wrong.strerror}") from wrong
    except ValueError as wrong:
        raise CaseFileError(f"{path}: not a JSON text: {wrong}") from wrong
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise CaseFileError(f"{path}: a case file is an object with a list `cases`")
    loaded = tuple(parse(case, number) for number, case in enumerate(cases, 1))
    ids = [case.id for case in loaded]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise CaseFileError(f"{path}: cases with one id: {', '.join(twice)}")
    return loaded


def parse(case: Mapping[str, Any], number: int = 0) -> Case:
    """One case; an unknown word or a wrong fixture is remembered in it."""
    unknown: str | None = None
    try:
        check_case(case)
        unknown = next((wrong for entry in _fixtures(case) if (wrong := wrong_fixture(entry))), None)
    except UnknownWordError as strange:
        unknown = str(strange)
    needs = case.get("needs")
    return Case(
        id=str(case.get("id", f"case-{number}")),
        needs=frozenset(map(str, needs)) if isinstance(needs, list) else frozenset(),
        given=case.get("given", {}),
        when=tuple(case.get("when") or ()),
        then=tuple(case.get("then") or ()),
        unknown=unknown,
    )


def _fixtures(case: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    givens = [case["given"]]
    for step in case["when"]:
        if isinstance(step, Mapping):
            givens += [variant["given"] for variant in step.get("variants", []) if "given" in variant]
    for given in givens:
        yield from given.get("files", [])
        yield from given.get("outside_vault", [])
        yield from given.get("remote", {}).get("files", [])
