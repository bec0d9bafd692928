"""What a step left behind, and how a field of it is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class Nothing(Enum):
    """Where a path leads to nothing; null is something else."""

    NOTHING = "nothing"


NOTHING: Final = Nothing.NOTHING

Key = str | int | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One carried out step.

    `data` is what fields and references see; `fault` says why the step is not ok, empty when it is;
    `parts` are the records of a composite step; `sent` is the text of the call, as far as there was one.
    """

    op: str
    data: Any
    text: str = ""
    size: int = 0
    seconds: float = 0.0
    fault: str = ""
    parts: tuple[Record, ...] = ()
    status: int | None = None
    sent: str = ""
    lost: bool = False
    refused: bool = False

    @property
    def ok(self) -> bool:
        return not self.fault


def composite(op: str, parts: Sequence[Record], seconds: float) -> Record:
    """The record of a step made of others: ok when all of them are."""
    faults = [f"record {number}: {part.fault}" for number, part in enumerate(parts) if part.fault]
    return Record(
        op=op,
        data=[part.data for part in parts],
        text="\n".join(part.text for part in parts),
        size=sum(part.size for part in parts),
        seconds=seconds,
        fault=faults[0] if faults else "",
        parts=tuple(parts),
    )


def keys_of(field: str | Sequence[Any]) -> tuple[Key, ...]:
    """A field's path as keys: a dotted text is cut, a list stays.

    >>> keys_of("hits.0.path")
    ('hits', '0', 'path')
    """
    return tuple(field.split(".")) if isinstance(field, str) else tuple(field)


def find(record: Record, keys: Sequence[Key]) -> Any:
    """The value a path leads to in a record, or NOTHING.

    `winner` is the one part that is ok; `$bytes`, `$text` and `$seconds` speak of the whole answer.
    """
    if not keys:
        return record.data
    first, rest = keys[0], keys[1:]
    match first:
        case "$bytes":
            return record.size
        case "$text":
            return record.text
        case "$seconds":
            return record.seconds
        case _:
            pass
    if record.parts:
        if first == "winner":
            winners = [part for part in record.parts if part.ok]
            return find(winners[0], rest) if len(winners) == 1 else NOTHING
        number = _number(first)
        if number is not None:
            return find(record.parts[number], rest) if number < len(record.parts) else NOTHING
    return dig(record.data, keys)


def dig(value: Any, keys: Sequence[Key]) -> Any:
    """The value a path leads to, or NOTHING. `*` gives one flat list of what the rest leads to in each element.

    >>> dig({"a": [{"b": 1}, {"b": 2}]}, ("a", "*", "b"))
    [1, 2]
    >>> dig({"a": [{"b": 1}, {"b": 2, "c": 3}]}, ("a", {"b": 2}, "c"))
    3
    """
    for at, key in enumerate(keys):
        if key == "*":
            return _each(value, keys[at + 1 :])
        value = _step_into(value, key)
        if value is NOTHING:
            return NOTHING
    return value


def _each(value: Any, rest: Sequence[Key]) -> Any:
    if not isinstance(value, list | dict):
        return NOTHING
    elements = list(value.values()) if isinstance(value, dict) else value
    found = [inner for element in elements if (inner := dig(element, rest)) is not NOTHING]
    if elements and not found:
        return NOTHING
    return [leaf for inner in found for leaf in inner] if "*" in rest else found


def _step_into(value: Any, key: Key) -> Any:
    if isinstance(key, Mapping):
        elements = value if isinstance(value, list) else []
        return next((element for element in elements if holds(element, key)), NOTHING)
    if isinstance(value, dict):
        return value.get(str(key), NOTHING)
    number = _number(key)
    if isinstance(value, list) and number is not None and number < len(value):
        return value[number]
    return NOTHING


def _number(key: Key) -> int | None:
    return int(key) if isinstance(key, int | str) and str(key).isascii() and str(key).isdigit() else None


def same(left: Any, right: Any) -> bool:
    """Equal by value, where true is not 1 and a number is a number.

    >>> same(1, 1.0), same(True, 1), same([{"a": None}], [{"a": None}])
    (True, False, True)
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bytes) and isinstance(right, str):
        return left == right.encode("utf-8", "surrogatepass")
    if isinstance(left, str) and isinstance(right, bytes):
        return same(right, left)
    return bool(left == right)


def holds(element: Any, wanted: Any, equal: Callable[[Any, Any], bool] = same) -> bool:
    """Whether an element is equal to what is wanted or, where that is an object, holds all its fields."""
    if isinstance(wanted, Mapping) and isinstance(element, Mapping):
        return all(key in element and equal(element[key], value) for key, value in wanted.items())
    return equal(element, wanted)


def json_texts(value: Any) -> tuple[str, str]:
    """The JSON text of a value in its two usual spacings."""
    spaced = json.dumps(value, ensure_ascii=False, default=repr)
    return spaced, json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
