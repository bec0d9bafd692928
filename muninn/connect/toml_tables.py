"""Put a table into a TOML file of somebody else's and leave every other byte alone, comments included.

There is no writer of TOML to trust with a file of others. So the table's lines are found, exchanged, and the whole is
read again: every other key must say what it said before, or nothing is changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final

from .errors import ConfigError

_HEADER: Final = re.compile(r"^[ \t]*\[")


def parse(text: str) -> dict[str, Any]:
    """The file as a value. Raises ConfigError with the line of what is broken."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
        raise ConfigError(f"it is no TOML ({error}); mend the file first, nothing was changed") from error


def put(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """The text with this table at a path of names; one that is there is replaced. Raises ConfigError."""
    before = parse(text)
    if _at(before, path) == value:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    new = [line + newline for line in _section(path, value)]
    first, end = _span(lines, path)
    if first is None:
        gap = [newline] if lines else []
        ended = [*lines[:-1], lines[-1].rstrip("\r\n") + newline] if lines else []
        changed = "".join([*ended, *gap, *new])
    else:
        _refuse_comments(lines[first:end], path)
        changed = "".join([*lines[:first], *new, *lines[end:]])
    if _rest(_reread(changed, path), path) != _rest(before, path) or _at(_reread(changed, path), path) != value:
        raise _strange(path)
    return changed


def _span(lines: list[str], path: tuple[str, ...]) -> tuple[int | None, int]:
    """The lines of the table and of the tables in it; the comments before the next one are that one's."""
    own = re.compile(r"^[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(map(_key_form, path)) + r"[ \t]*[\].]")
    first = next((number for number, line in enumerate(lines) if own.match(line)), None)
    if first is None:
        return None, 0
    end = first + 1
    while end < len(lines) and (not _HEADER.match(lines[end]) or own.match(lines[end])):
        end += 1
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return first, end


def _key_form(key: str) -> str:
    return f"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"


def _refuse_comments(lines: list[str], path: tuple[str, ...]) -> None:
    bare = (re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', "", line) for line in lines)
    if any("#" in line for line in bare):
        raise ConfigError(f"{'.'.join(path)} holds comments, which would be lost; take the table out first")


def _section(path: tuple[str, ...], value: dict[str, Any]) -> list[str]:
    return [f"[{'.'.join(path)}]", *(f"{_key(key)} = {_shown(item)}" for key, item in value.items())]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _shown(value: Any) -> str:
    match value:
        case bool() | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return repr(value)
        case list():
            return f"[{', '.join(map(_shown, value))}]"
        case dict():
            inner = ", ".join(f"{_key(key)} = {_shown(item)}" for key, item in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            raise ConfigError(f"it holds a {type(value).__name__}, which cannot be written again; change it by hand")


def _at(found: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _rest(found: Any, path: tuple[str, ...]) -> Any:
    """Everything but what stands at a path; an empty table on the way counts as none."""
    if not isinstance(found, dict):
        return found
    if len(path) == 1:
        return {key: item for key, item in found.items() if key != path[0]}
    inner = _rest(found.get(path[0], {}), path[1:])
    return {key: item for key, item in found.items() if key != path[0]} | ({path[0]: inner} if inner else {})


def _reread(text: str, path: tuple[str, ...]) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise _strange(path) from None


def _strange(path: tuple[str, ...]) -> ConfigError:
    named = ".".join(path)
    return ConfigError(f"{named} is written there in a form that cannot be exchanged safely; change it by hand")
