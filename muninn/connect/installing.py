"""A change of a client's file: planned as bytes before and after, shown, and only then written.

Written in one rename, with the mode of what was there and a copy of it beside. A file that changed since it was read
stays as it is.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from muninn import home
from muninn.model.errors import reason

from . import jsonc, toml_tables
from .errors import ConfigError
from .products import NAME, Product, Way, kept_keys, merged

BACKUP: Final = ".before-muninn"
SKILL: Final = "SKILL.md"
_MOST: Final = 2 * 1024 * 1024
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Installation:
    """A file as it is (None where there is none) and as it would be.

    ``kept`` are the keys of the entry that were there before, stay, and decide what is started or sent.
    """

    file: Path
    before: bytes | None
    after: bytes
    kept: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    @property
    def backup(self) -> Path:
        """Where the bytes before are kept."""
        return self.file.with_name(self.file.name + BACKUP)


def plan(product: Product, way: Way, file: Path, within: Path | None = None) -> Installation:
    """What a client's file becomes: the entry put in or brought up to date, all else as it is.

    ``within`` is the project that the file must not lead out of by a symbolic link. Raises ConfigError with the line
    where the file is broken, and where it cannot be changed without a loss.
    """
    file = _real(file, within)
    before = _read(file)
    try:
        text = "" if before is None else before.decode("utf-8")
        bom = _BOM if text.startswith(_BOM) else ""
        text = text.removeprefix(_BOM)
        there = _there(product, text)
        after = bom + _changed(product, way, text, there)
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: it is not UTF-8; mend the file first, nothing was changed") from None
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    return Installation(file, before, after.encode(), kept_keys(there, product.entry(way)))


def skill(folder: Path, within: Path | None = None) -> Installation:
    """The skill as a file below a folder of skills. Raises ConfigError."""
    file = _real(folder / NAME / SKILL, within)
    text = resources.files("muninn.connect").joinpath("skill", SKILL).read_bytes()
    return Installation(file, _read(file), text)


def install(wanted: Installation) -> None:
    """Write a change. Raises ConfigError where the file is no longer what was planned for, or cannot be written."""
    file = wanted.file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if wanted.before is None else stat.S_IMODE(file.stat().st_mode)
        if _read(file) != wanted.before:
            raise ConfigError(f"{file} was changed by somebody else meanwhile; run the command again")
        if wanted.before is not None:
            home.replace(wanted.backup, wanted.before, mode)
        home.replace(file, wanted.after, mode)
    except OSError as error:
        raise ConfigError(f"{error.filename or file} cannot be written: {reason(error)}") from error


def _there(product: Product, text: str) -> Any:
    """The entry that the file has already, None where it has none."""
    if product.form == "toml":
        found: Any = toml_tables.parse(text)
    else:
        found = jsonc.parse(text) if text.strip() else None
    return _member(_member(found, product.servers), NAME)


def _changed(product: Product, way: Way, text: str, there: Any) -> str:
    path = (product.servers, NAME)
    if product.form == "toml":
        return toml_tables.put(text, path, merged(there, product.entry(way)))
    if not text.strip():
        asked = {"inputs": list(product.questions(way))} if product.questions(way) else {}
        return json.dumps(asked | {product.servers: {NAME: product.entry(way)}}, indent=2) + "\n"
    changed = jsonc.put(text, path, merged(there, product.entry(way)))
    known = _member(jsonc.parse(text), "inputs") or []
    for question in product.questions(way):
        if question["id"] not in [_member(one, "id") for one in known]:
            changed = jsonc.append(changed, ("inputs",), question)
    return changed


def _member(found: Any, key: str) -> Any:
    return found.get(key) if isinstance(found, dict) else None


def _real(file: Path, within: Path | None) -> Path:
    """The file itself where a link stands for it. In a project, whose files come from others, it must lie there."""
    try:
        real = file.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop, up to Python 3.12
        raise ConfigError(f"{file} leads nowhere by symbolic links; take them away first") from error
    if within is not None and not real.is_relative_to(within.resolve()):
        raise ConfigError(f"{file} leads out of the folder by a symbolic link, to {real}; take the link away first")
    return real


def _read(file: Path) -> bytes | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{file} is no regular file; take it away first")
            found = opened.read(_MOST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {reason(error)}") from error
    if len(found) > _MOST:
        raise ConfigError(f"{file} has more than {_MOST >> 20} MiB, and is no list of servers; look at it first")
    return found
