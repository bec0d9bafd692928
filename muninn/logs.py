"""The gateway's log: one JSON object a line on stderr, in which nothing that a client sent can be read or forge a line.

A call is told by names that are ours: its tool from the table, its client from the register, its request by an id made
here, its path by a hash under a key that stays in the home. Of an exception its type and places are told and not its
message, which may quote what was sent; what other packages say is told without the values they put into it.
"""

from __future__ import annotations

import copy
import hmac
import json
import logging
import secrets
import sys
import threading
import traceback
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from pythonjsonlogger.json import JsonFormatter

from muninn import home
from muninn.model.errors import SettingsError
from muninn.model.moments import rfc3339

log = logging.getLogger("muninn.logs")

LEVELS: Final = ("debug", "info", "warning", "error")

CALL_FIELDS: Final[Mapping[str, str]] = {
    "request": "the request's id: 16 hex digits made by the gateway, also in the answer's header `X-Request-Id`; what "
    "a client sends under that name is not looked at",
    "client": "the name that belongs to the token of this call",
    "tool": "the tool, `tools/list`, `resources/read`, or `unknown` for a name that is no tool's",
    "path": "16 hex digits that stand for the argument `path`; left out where there is none",
    "outcome": "`ok`, a refusal's code, `protocol_error` or `internal_error`",
    "state": "what came of it where the answer says so: `committed`, `dry_run`, `pending`, `replayed` and the like",
    "ms": "milliseconds from the call's arrival to its answer, waiting for a turn included",
}
"""What a line whose message is ``call`` has beside the fields of every line."""

FIELDS: Final[Mapping[str, str]] = {
    "at": "when, as RFC 3339 in UTC",
    "level": "`DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`",
    "logger": "the part that speaks: `muninn.calls`, `muninn.gate`, `uvicorn.error` …",
    "message": "what happened; for one call the word `call`, for a request that the gate stopped `turned away`",
}
"""What every line has."""

MORE_FIELDS: Final[Mapping[str, str]] = {
    "status": "the HTTP status that the gate answered with",
    "page": "a page of the console, by its address in the console's table; what was asked of it is not told",
    "port": "where the gateway listens",
    "pending_id": "a plan that a crash had left",
    "state": "how that plan ended",
    "reason": "why something could not be done, in words",
    "trace": "an exception: its type, then file, line and function of each place; never its message",
}
"""What some other lines have."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, default=str)
"""In ASCII: no byte of a line ends it or moves a terminal's cursor."""
_GUESTS: Final = ("mcp", "uvicorn", "httpx2", "asyncio", "watchfiles")
"""Packages that put what they were sent into what they say."""
_KEY_BYTES: Final = 32
_HASH_BYTES: Final = 8
_LONGEST_PATH: Final = 4096
"""Characters; what is longer is no path, and is not hashed for the log's sake."""
_DEEPEST: Final = 8
"""Of a chain of exceptions."""


def start(level: str, stream: IO[str] | None = None) -> None:
    """Send everything that is logged, warned or raised in a thread to ``stream`` (stderr) as JSON lines.

    ``level`` is one of ``LEVELS``, in any case; raises SettingsError for another.
    """
    if level.lower() not in LEVELS:
        raise SettingsError(f"MUNINN_LOG_LEVEL must be debug, info, warning or error, found {level.lower()[:40]!r}")
    least = logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(level=least, handlers=[handler], force=True)
    # The protocol's own packages log bodies and headers when asked to debug; what they say above that is enough.
    for package in _GUESTS:
        logging.getLogger(package).setLevel(max(least, logging.WARNING))
    logging.captureWarnings(True)
    # A stream that is gone is no reason to print the record beside it, values and all.
    logging.raiseExceptions = False
    threading.excepthook = _thread_ended


class Lines(JsonFormatter):
    """Makes a record one line of JSON."""

    def __init__(self) -> None:
        named = {"asctime": "at", "levelname": "level", "name": "logger", "exc_info": "trace"}
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=named)

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        if record.name.partition(".")[0] in _GUESTS:
            record = copy.copy(record)
            record.msg, record.args = str(record.msg).split("\n", 1)[0], None
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """When the record was made, as RFC 3339 in UTC."""
        return rfc3339(datetime.fromtimestamp(record.created, UTC))

    def jsonify_log_record(self, log_data: dict[str, Any]) -> str:
        """What the record holds, as JSON."""
        return _ENCODER.encode(log_data)

    def formatException(self, ei: Any) -> Any:  # noqa: N802
        """Types and places of an exception and of what led to it, first cause first."""
        return [] if ei[1] is None else _traced(ei[1], _DEEPEST)


def _traced(error: BaseException, deeper: int) -> list[str]:
    if deeper == 0:
        return []
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    lines = [line for one in (before, *inner) if one is not None for line in _traced(one, deeper - 1)]
    places = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    return [*lines, f"Traceback: {type(error).__qualname__}", *places]


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and ended.exc_type is not SystemExit:
        name = ended.thread.name if ended.thread is not None else "unknown"
        log.error("a thread ended with a bug: %s", name, exc_info=ended.exc_value)


# --- paths ------------------------------------------------------------------------------------------


def path_key(folder: Path) -> bytes:
    """The key of the path hashes, from ``log.key`` in the home; made where there is none.

    Where it can be neither read nor made, a key for this start alone: the log says so, and goes on.
    """
    file = folder / "log.key"
    fresh = secrets.token_bytes(_KEY_BYTES)
    try:
        if not file.exists():
            home.put(file, fresh.hex() + "\n")
        key = bytes.fromhex(file.read_text(encoding="ascii").strip())
        if len(key) == _KEY_BYTES:
            return key
        log.warning("log.key must hold %d hex digits; paths get other hashes until the next start", 2 * _KEY_BYTES)
    except (OSError, ValueError) as error:
        log.warning("log.key cannot be used (%s); paths get other hashes until the next start", type(error).__name__)
    return fresh


def hashed(key: bytes, path: object) -> str | None:
    """What stands for a path in the log: 16 hex digits of HMAC-SHA-256 over its NFC form. None for what is no path.

    Without the key, whoever reads the log could hash every likely path and compare.
    """
    if not isinstance(path, str) or not 0 < len(path) <= _LONGEST_PATH:
        return None
    plain = unicodedata.normalize("NFC", path).encode("utf-8", "surrogatepass")
    return hmac.digest(key, plain, "sha256")[:_HASH_BYTES].hex()
