"""Answers as JSON values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Final

OMIT: Final = frozenset(
    {
        "source_hash",
        "start_line",
        "end_line",
        "next_line",
        "query_note",
        "diff",
        "plans",
        "explain",
        "sentences",
        "claims",
    }
)
"""Fields that are left out where they are None; every other None is sent as ``null``."""


def to_json(value: Any) -> Any:
    """An answer as JSON values; optional fields that are None are left out (``OMIT``)."""
    if is_dataclass(value) and not isinstance(value, type):
        shown = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: to_json(item) for name, item in shown if not (item is None and name in OMIT)}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value
