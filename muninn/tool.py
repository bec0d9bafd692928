"""What a tool is: a row of the table with its name, scope, schemas and handler, and what every call brings along."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from muninn.door import Door
from muninn.lanes import Lane
from muninn.model.change import Request
from muninn.model.rights import Rights


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls, at which door."""

    door: Door
    rights: Rights


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of the table. ``scope`` None means that any client may call it; ``writes`` that it may change notes."""

    name: str
    scope: str | None
    title: str
    says: str
    takes: type
    gives: type
    run: Callable[[Call, Any], Any]
    writes: bool = False

    def lacks(self, scopes: Collection[str]) -> str | None:
        """The scope that a client with these would need more, or None where it may call the tool."""
        needed = ("code", "read") if self.scope == "code" else (self.scope,)
        return next((scope for scope in needed if scope is not None and scope not in scopes), None)

    @property
    def lane(self) -> Lane:
        """Which of the gateway's threads run it."""
        return "write" if self.writes else "script" if self.scope == "code" else "read"

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """The checker of the arguments, made when first used and kept."""
        return _adapter(self.takes)

    def request(self, a: Any) -> Request | None:
        """The client's request id, bound to this tool and the canonical arguments; None where it gave none."""
        if a.request_id is None:
            return None
        plain = self.adapter.dump_python(a, mode="json", by_alias=True)
        bound = {name: value for name, value in plain.items() if name not in ("request_id", "dry_run")}
        text = json.dumps([self.name, bound], sort_keys=True, ensure_ascii=False)
        return Request(a.request_id, hashlib.sha256(text.encode()).hexdigest())

    @property
    def input_schema(self) -> dict[str, Any]:
        """The arguments as JSON schema."""
        return _schema(self.takes)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The answer as JSON schema."""
        return _schema(self.gives)


@functools.cache
def _adapter(shape: type) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


@functools.cache
def _schema(shape: type) -> dict[str, Any]:
    found: dict[str, Any] = _without_titles(_adapter(shape).json_schema(mode="validation"))
    return found


def _without_titles(schema: Any) -> Any:
    """A schema without the titles pydantic makes from names: every client pays for them in every list of tools."""
    if isinstance(schema, dict):
        shown = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
        return {key: _without_titles(value) for key, value in shown.items()}
    return [_without_titles(item) for item in schema] if isinstance(schema, list) else schema
