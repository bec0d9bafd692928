"""TOML out of plain values, enough for `muninn.toml`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def document(values: Mapping[str, Any]) -> str:
    """A TOML document of strings, numbers, booleans, lists and tables; refuses what TOML cannot say.

    >>> document({"baseline": False, "backup": {"keep": [1, 2]}})
    'baseline = false\\nbackup = {keep = [1, 2]}\\n'
    """
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in values.items())


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            return _string(value)
        case Mapping():
            return "{" + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(_value(inner) for inner in value) + "]"
        case _:
            raise ValueError(f"TOML has no word for {value!r}")


def _float(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return text if any(mark in text for mark in ".e") else f"{text}.0"
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
