"""What a check is judged on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .looks import FileLook
from .records import Record
from .scope import Scope, Wish, key_of, look_at


@dataclass(frozen=True, slots=True)
class Bench:
    """A scope and, inside `copies`, the record that a check without a step speaks of."""

    scope: Scope
    record: Record | None = None

    def of(self, check: Mapping[str, Any]) -> Record:
        """The record the check speaks of."""
        if self.record is not None and "step" not in check:
            return self.record
        return self.scope.record_at(check["step"])

    def value(self, value: Any) -> Any:
        return self.scope.sight.value(value)

    def values(self, value: Any) -> list[Any]:
        """A value as a list: one that stands alone is the only one."""
        found = self.value(value)
        return list(found) if isinstance(found, list) else [found]

    def path(self, path: Any) -> Path:
        return self.scope.sight.path(path)

    def file(self, check: Mapping[str, Any]) -> FileLook:
        """What stood at the check's path after step `after`, else what stands there now."""
        if "after" in check:
            name = str(check.get("name_b64", ""))
            looked = self.scope.looked(Wish("after", key_of(check["after"]), "file", str(check["path"]), name))
            assert isinstance(looked, FileLook)
            return looked
        return look_at(self.path(check["path"]), str(check.get("name_b64", "")))
