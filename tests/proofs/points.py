"""Fault points on the way down of a write: found in the code, so that a new one is proved without being named here."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).parents[2]
_WITHOUT_PATH: Final = ("ledger.commit", "ledger.settle", "vault.root")
"""Points that stand for the whole plan; all others are passed for the note and for its page apart."""

Where = Literal["note", "page", "plan"]
Harm = Literal["raise", "enospc", "exit", "exit after"]

VERBS: Final = ("create", "overwrite", "edit", "archive", "restore", "undo", "recover", "start")
HARMS: Final[tuple[Harm, ...]] = ("raise", "enospc", "exit", "exit after")


@dataclass(frozen=True, slots=True)
class Case:
    """One fault in one call."""

    verb: str
    point: str
    where: Where
    harm: Harm

    def __str__(self) -> str:
        return f"{self.verb}, {self.harm} at {self.point} ({self.where})"


@functools.cache
def names() -> list[str]:
    """Every point that the write path can pass: the calls ``seams.at("…")`` of the door and the ledger."""
    found = set()
    for package in ("muninn", "ledger"):
        for file in sorted((ROOT / package).rglob("*.py")):
            found |= set(_named(ast.parse(file.read_text())))
    return sorted(found)


def _named(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("seams"), attr="at"), args=[ast.Constant(str(name)), *_]):
                yield name


def cases() -> list[Case]:
    """Every fault in every call, those that end the process last within each verb."""
    return [
        Case(verb, point, where, harm)
        for verb in VERBS
        for harm in HARMS
        for point in names()
        for where in _wheres(point)
        if verb != "start" or harm.startswith("exit")
    ]


def _wheres(point: str) -> tuple[Where, ...]:
    return ("plan",) if point in _WITHOUT_PATH else ("note", "page")
