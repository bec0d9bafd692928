"""No, and why; and what rides along with a yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """The codes a refusal may carry; clients rely on the names."""

    INVALID_ARGUMENTS = "invalid_arguments"
    INVALID_PATH = "invalid_path"
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"
    EXISTS = "exists"
    CONFLICT = "conflict"
    INVALID_NOTE = "invalid_note"
    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    UNKNOWN_ID = "unknown_id"
    VAULT_UNAVAILABLE = "vault_unavailable"
    LEDGER_UNAVAILABLE = "ledger_unavailable"
    INDEX_BLOCK = "index_block"
    SCRIPT_ERROR = "script_error"
    SCRIPT_LIMIT = "script_limit"
    BUDGET_EXCEEDED = "budget_exceeded"


@dataclass(frozen=True, slots=True)
class Refusal:
    """No, and why: what was expected, what was found, and the next step. Nothing was changed."""

    code: Code
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Warn:
    """A warning that rides along in an answer and never blocks."""

    code: str
    message: str
    paths: tuple[str, ...] = ()
