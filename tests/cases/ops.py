"""The comparisons of the check `field`.

All but `unset` and `empty` fail where the path leads to nothing, and all but `eq null`, `in`, `unset` and `empty`
where it leads to null.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from .records import NOTHING, holds, json_texts, same

OPS_ON_NOTHING = frozenset({"unset", "empty"})
_PATH_KEYS = frozenset({"path", "paths"})


def composed(value: Any, *, is_path: bool) -> Any:
    """The value with its paths in NFC: what stands under a key `path` or `paths`, and all of it where `is_path`."""
    match value:
        case str():
            return unicodedata.normalize("NFC", value) if is_path else value
        case list():
            return [composed(inner, is_path=is_path) for inner in value]
        case dict():
            return {key: composed(inner, is_path=is_path or key in _PATH_KEYS) for key, inner in value.items()}
        case _:
            return value


def speaks_of_paths(keys: Sequence[Any]) -> bool:
    """Whether a field's last name is one of paths."""
    names = [key for key in keys if isinstance(key, str) and key != "*" and not key.isdigit()]
    return bool(names) and names[-1] in _PATH_KEYS


def holds_op(op: str, found: Any, value: Any, times: Any = None, *, is_path: bool = False) -> bool:
    """Whether the op holds between what was found and the value of the check.

    >>> holds_op("has", [{"a": 1, "b": 2}], {"a": 1}), holds_op("ne", None, 1), holds_op("eq", None, None)
    (True, False, True)
    """
    if op == "unset":
        return found is NOTHING or found is None
    if op == "empty":
        return found is NOTHING or _is_empty(found)
    if found is NOTHING:
        return False
    if found is None:
        return (op == "eq" and value is None) or (op == "in" and isinstance(value, list) and None in value)
    found, value = composed(found, is_path=is_path), composed(value, is_path=is_path)
    match op:
        case "eq":
            return same(found, value)
        case "ne":
            return not same(found, value)
        case "has":
            return _has(found, value) is True
        case "lacks":
            return _has(found, value) is False
        case "text_has" | "text_lacks":
            return any(str(value) in text for text in json_texts(found)) is (op == "text_has")
        case "in":
            return isinstance(value, list) and any(same(found, one) for one in value)
        case "le" | "ge":
            return _ordered(found, value) and bool(found <= value if op == "le" else found >= value)
        case "set":
            return found is not False and not (_sized(found) and len(found) == 0)
        case _:
            return _holds_op_of_many(op, found, value, times)


def _holds_op_of_many(op: str, found: Any, value: Any, times: Any) -> bool:
    match op:
        case "len_eq" | "len_le" | "len_ge":
            return _sized(found) and _is_number(value) and _length_fits(op, len(found), value)
        case "all_len_le":
            return isinstance(found, list) and all(_sized(one) and len(one) <= value for one in found)
        case "same_set":
            both = isinstance(found, list) and isinstance(value, list)
            return both and _covers(found, value) and _covers(value, found)
        case "distinct":
            return isinstance(found, list) and not any(
                same(one, other) for at, one in enumerate(found) for other in found[:at]
            )
        case "count":
            return bool(_count(found, value) == times)
        case _:
            raise ValueError(f"no such op: {op}")


def _is_empty(found: Any) -> bool:
    return found is None or found is False or (_is_number(found) and found == 0) or (_sized(found) and not found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sized(value: Any) -> bool:
    return isinstance(value, str | bytes | list | dict)


def _ordered(found: Any, value: Any) -> bool:
    return (_is_number(found) and _is_number(value)) or (isinstance(found, str) and isinstance(value, str))


def _has(found: Any, value: Any) -> bool | None:
    """None where neither a string nor a list is there."""
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    if isinstance(found, list):
        return any(holds(one, value) for one in found)
    return None


def _length_fits(op: str, length: int, value: Any) -> bool:
    return bool({"len_eq": length == value, "len_le": length <= value, "len_ge": length >= value}[op])


def _covers(many: list[Any], few: list[Any]) -> bool:
    return all(any(same(one, other) for other in many) for one in few)


def _count(found: Any, value: Any) -> int | None:
    if isinstance(found, str) and isinstance(value, str) and value:
        return found.count(value)
    return sum(holds(one, value) for one in found) if isinstance(found, list) else None
