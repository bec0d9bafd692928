"""What a child may say, and what a script may ask: lines are parsed as hostile, calls are checked against a list.

A line is JSON of a known form or it is ``Broken``; there is no half-understood line. Whatever is said here is data:
no citation and no verdict on completeness is made from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from muninn.model.refusal import Code, Refusal

MOST_LEVELS: Final = 64
"""How deep a returned value may be nested; deeper ones break the programs that read JSON after us."""

_FIRST: Final[Mapping[str, str]] = {"read": "path", "search": "query", "list": "folder", "links": "path"}
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("start_line", "end_line"),
    "search": ("limit", "folder", "type", "status", "tags", "since", "until", "explain"),
    "list": ("depth", "hashes", "cursor"),
    "links": ("cursor",),
}
_SHOWN: Final = 80
_BEYOND: Final = 2**1024


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a script: a function of ``vault`` and what it was given, as yet unchecked."""

    name: str
    given: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Logged:
    """What a script logged since the line before, and how many lines of its log were dropped so far."""

    lines: tuple[str, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Calls:
    """The script waits for answers to these, in this order."""

    calls: tuple[Call, ...]
    logged: Logged


@dataclass(frozen=True, slots=True)
class Done:
    """The script returned a value."""

    value: Any
    logged: Logged


@dataclass(frozen=True, slots=True)
class Over:
    """The value is too long as JSON, by so many characters of text as ``length`` says."""

    length: int
    logged: Logged


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception that nobody caught."""

    name: str
    message: str
    code: str
    stack: str
    logged: Logged


@dataclass(frozen=True, slots=True)
class Stuck:
    """The script waits, and nothing it waits for can come."""

    logged: Logged


@dataclass(frozen=True, slots=True)
class Spent:
    """The engine gave up: ``what`` is memory or stack."""

    what: str


@dataclass(frozen=True, slots=True)
class Broken:
    """No line of ours."""


Said = Calls | Done | Over | Failed | Stuck | Spent | Broken


def parse(line: bytes) -> Said:
    """A line of a child as a value; ``Broken`` for everything that our own child would not say."""
    try:
        found = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return Broken()
    match found:
        case ["calls", list(calls), list(lines), int(dropped)] if calls and all(map(_is_call, calls)):
            logged = _logged(lines, dropped)
            asked = tuple(Call(call[0], tuple(call[1:])) for call in calls)
            return Broken() if logged is None else Calls(asked, logged)
        case ["done", value, list(lines), int(dropped)]:
            logged = _logged(lines, dropped)
            return Broken() if logged is None else Done(value, logged)
        case ["over", int(length), list(lines), int(dropped)]:
            logged = _logged(lines, dropped)
            return Broken() if logged is None else Over(length, logged)
        case ["failed", str(name), str(message), str(code), str(stack), list(lines), int(dropped)]:
            logged = _logged(lines, dropped)
            return Broken() if logged is None else Failed(name, message, code, stack, logged)
        case ["stuck", list(lines), int(dropped)]:
            logged = _logged(lines, dropped)
            return Broken() if logged is None else Stuck(logged)
        case ["spent", "memory" | "stack" as what]:
            return Spent(what)
        case _:
            return Broken()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _is_call(call: Any) -> bool:
    return isinstance(call, list) and 1 <= len(call) <= 3 and isinstance(call[0], str)


def _logged(lines: list[Any], dropped: int) -> Logged | None:
    return Logged(tuple(lines), max(0, dropped)) if all(isinstance(line, str) for line in lines) else None


def arguments(call: Call) -> dict[str, Any] | Refusal:
    """The arguments of the tool that a call names, or the refusal that says what may be called and how.

    Values are not looked at: the tool itself checks them, as it does for every client.
    """
    first = _FIRST.get(call.name)
    if first is None:
        known = ", ".join(f"vault.{name}" for name in _FIRST)
        return _refuse(f"there is no vault.{call.name[:_SHOWN]}; there are {known}")
    options = call.given[1] if len(call.given) > 1 and call.given[1] is not None else {}
    if not isinstance(options, dict):
        return _refuse(f"vault.{call.name}: the second argument must be an object of options, as {{{_known(call)}}}")
    strange = sorted(set(options) - set(_OPTIONS[call.name]))
    if strange:
        return _refuse(f"vault.{call.name}: `{strange[0][:_SHOWN]}` is unknown (known are: {_known(call)})")
    return ({first: call.given[0]} if call.given else {}) | options


def _known(call: Call) -> str:
    return ", ".join(_OPTIONS[call.name])


def _refuse(message: str) -> Refusal:
    return Refusal(Code.INVALID_ARGUMENTS, message)


def answered(answer: dict[str, Any]) -> bytes:
    """The line that settles a call with an answer. Pure ASCII, so that no text can be cut or mistaken on its way."""
    return _line({"answer": answer})


def refused(refusal: Refusal) -> bytes:
    """The line that settles a call with an error."""
    return _line({"refused": {"code": refusal.code.value, "message": refusal.message}})


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def order(script: str, value: int, logs: int) -> bytes:
    """The line that begins a script; ``value`` and ``logs`` are how many characters of each may come back."""
    return _line({"script": script, "value": value, "logs": logs})


def flaw(value: Any) -> str | None:
    """Why a returned value cannot go into an answer, or None. Looks at every part without recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MOST_LEVELS:
            return f"the value is nested deeper than {MOST_LEVELS} levels"
        below: list[Any] = []
        for item in level:
            if isinstance(item, str) and not _is_text(item):
                return "the value holds half a character (a lone surrogate); use s.toWellFormed()"
            if isinstance(item, int | float) and not _is_number(item):
                return "the value holds a number that JSON cannot carry"
            if isinstance(item, dict):
                if not all(map(_is_text, item)):
                    return "a key of the value holds half a character (a lone surrogate); use s.toWellFormed()"
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below
    return None


def _is_number(number: float) -> bool:
    """Whether readers of JSON take it: no script can make another one, but a child that was taken over can say it."""
    return abs(number) < _BEYOND


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def text_of(said: str) -> str:
    """A text of a script's as one that can be sent: half characters become the replacement character."""
    return said.encode("utf-8", "replace").decode("utf-8") if not _is_text(said) else said


def fences(line: bytes) -> tuple[str, ...]:
    """What a child says to hold around it, said before it knows its script; nothing where that is no such line."""
    match json.loads(line):
        case ["fenced", list(names)]:
            return tuple(str(name) for name in names)
        case _:
            return ()
