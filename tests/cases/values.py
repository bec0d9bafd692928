"""What a value of a case means at the moment it is used: counters, references, places, forms."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from .content import count_in, fixture_bytes, from_b64, noise, repeated
from .records import NOTHING, Record, find, keys_of
from .verdict import UndefinedError, UnknownWordError
from .vocabulary import FORMS

_READ = re.compile(r"@read(\d+)")
_STEP = re.compile(r"@step(\d+)((?:\.[^.\s]+)*)")
_FILE = re.compile(r"@file:(.+)", re.DOTALL)
_FIELD = re.compile(r"@([A-Za-z_][A-Za-z0-9_]*)")
_DEPTH = 40


class Ground(Protocol):
    """What values stand on: the places and fixtures of a world."""

    def put(self, text: str) -> str:
        """The text with its places replaced."""

    def path(self, text: str) -> Path:
        """The file a path speaks of, its places already replaced: one that began with none lies in the vault."""

    def fixture(self, path: str) -> bytes:
        """The content of the file of `given` with this path."""


class Memory(Protocol):
    """The records of the steps that a value may look back at."""

    def record(self, keys: Sequence[str]) -> tuple[Record, Sequence[str]] | None:
        """The record at the front of the keys (a step number, perhaps record numbers) and the keys that are left."""


@dataclass(frozen=True, slots=True)
class Sight:
    """All that a value can see: places, records, the variant (inner ones first) and the running counters."""

    ground: Ground
    memory: Memory
    variants: tuple[Mapping[str, Any], ...] = ()
    names: frozenset[str] = frozenset()
    counters: Mapping[str, int] = field(default_factory=dict)

    def counting(self, **numbers: int) -> Sight:
        """The same sight with these counters running, too."""
        return replace(self, counters={**self.counters, **numbers})

    def value(self, value: Any) -> Any:
        """The value itself; refuses a reference that stands for nothing."""
        return _value(value, self, _DEPTH)

    def path(self, text: Any) -> Path:
        """The file a path speaks of: one that does not begin with a place is relative to the vault."""
        resolved = self.value(text)
        if not isinstance(resolved, str):
            raise UndefinedError(f"a path expected, found {resolved!r}")
        return self.ground.path(resolved)

    def step(self, step: Any) -> Mapping[str, Any]:
        """A step object, also where it is held by the variant."""
        for _ in range(_DEPTH):
            if isinstance(step, Mapping):
                return step
            found = _FIELD.fullmatch(str(step))
            if found is None:
                break
            step = _held(found[1], self)
        raise UnknownWordError(f"step {step!r}")


def _value(value: Any, sight: Sight, depth: int) -> Any:
    if depth == 0:
        raise UndefinedError(f"a value that speaks of itself: {value!r}")
    match value:
        case str():
            return _text(value, sight, depth)
        case list() | tuple():
            return [_value(inner, sight, depth - 1) for inner in value]
        case Mapping() if len(value) == 1 and next(iter(value)) in FORMS:
            [(form, body)] = value.items()
            return _form(form, body, sight, depth - 1)
        case Mapping():
            return {key: _value(inner, sight, depth - 1) for key, inner in value.items()}
        case _:
            return value


def _text(text: str, sight: Sight, depth: int) -> Any:
    counted = count_in(text, sight.counters)
    if not counted.startswith("@"):
        return sight.ground.put(counted)
    if found := _READ.fullmatch(counted):
        return _hash_of_answer(int(found[1]), sight)
    if found := _STEP.fullmatch(counted):
        return _looked_back(counted, [found[1], *found[2].split(".")[1:]], sight)
    if found := _FILE.fullmatch(counted):
        return _hash_of_file(found[1], sight)
    if (found := _FIELD.fullmatch(counted)) and found[1] in sight.names:
        return _value(_held(found[1], sight), sight, depth - 1)
    return sight.ground.put(counted)


def _held(name: str, sight: Sight) -> Any:
    for variant in sight.variants:
        if name in variant:
            return variant[name]
    raise UndefinedError(f"@{name}: the variant does not hold it")


def _looked_back(reference: str, keys: Sequence[str], sight: Sight) -> Any:
    at = sight.memory.record(keys)
    if at is None:
        raise UndefinedError(f"{reference}: that step has not run")
    record, rest = at
    value = find(record, keys_of(list(rest)))
    if value is NOTHING:
        raise UndefinedError(f"{reference}: stands for nothing")
    return value


def _hash_of_answer(number: int, sight: Sight) -> Any:
    at = sight.memory.record([str(number)])
    data = at[0].data if at is not None else None
    answer = data if isinstance(data, Mapping) else {}
    value = answer.get("hash")
    value = answer.get("source_hash") if value is None else value
    if value is None:
        raise UndefinedError(f"@read{number}: the answer has neither hash nor source_hash")
    return value


def _hash_of_file(path: str, sight: Sight) -> str:
    try:
        return hashlib.sha256(sight.ground.path(sight.ground.put(path)).read_bytes()).hexdigest()
    except OSError as wrong:
        raise UndefinedError(f"@file:{path}: {wrong.strerror}") from wrong


def _form(form: str, body: Any, sight: Sight, depth: int) -> Any:
    match form:
        case "b64":
            return from_b64(_value(body, sight, depth))
        case "fixture":
            return _as_text(sight.ground.fixture(str(_value(body, sight, depth))))
        case "join":
            return _joined([_value(inner, sight, depth) for inner in _value_list(body, sight, depth)])
        case "json":
            return json.dumps(_value(body, sight, depth), ensure_ascii=False)
        case "each":
            numbers = range(_value(body["from"], sight, depth), _value(body["to"], sight, depth) + 1)
            return [_value(body["value"], sight.counting(k=k), depth) for k in numbers]
        case _:
            return repeated(_repeat_form(body, sight, depth))


def _value_list(body: Any, sight: Sight, depth: int) -> list[Any]:
    found = _value(body, sight, depth) if isinstance(body, str) else body
    if not isinstance(found, list):
        raise UnknownWordError(f"join of {found!r}")
    return found


def _repeat_form(body: Any, sight: Sight, depth: int) -> dict[str, Any]:
    without_i = replace(sight, counters={key: number for key, number in sight.counters.items() if key != "i"})
    if isinstance(body, str):
        return dict(_value(body, without_i, depth))
    form = {key: _value(inner, sight, depth) for key, inner in body.items() if key != "unit"}
    return form | {"unit": _value(body["unit"], without_i, depth)}


def _joined(parts: Sequence[Any]) -> str | bytes:
    if any(isinstance(part, bytes) for part in parts):
        return b"".join(part if isinstance(part, bytes) else _as_string(part).encode() for part in parts)
    return "".join(map(_as_string, parts))


def _as_string(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_text(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def content_bytes(step: Mapping[str, Any], sight: Sight) -> bytes:
    """The bytes an outside write lays down: text, b64, repeat, noise or fixture of the step."""
    if "fixture" in step:
        return sight.ground.fixture(str(sight.value(step["fixture"])))
    if "text" in step:
        return as_bytes(sight.value(step["text"]))
    if "repeat" in step:
        return as_bytes(sight.value({"repeat": step["repeat"]}))
    if "noise" in step:
        return noise(sight.value(step["noise"]))
    return fixture_bytes({"b64": sight.value(step["b64"])})


def as_bytes(value: Any) -> bytes:
    """A value as the bytes of a file or of a body."""
    return value if isinstance(value, bytes) else _as_string(value).encode("utf-8", "surrogatepass")
