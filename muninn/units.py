"""Units: what a person's system starts by itself, without root: systemd's user units on Linux, launch agents on macOS.

A unit names commands and places, and never holds a secret. What is written here is read again by a parser with rules
of its own, so each word is quoted for it.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from muninn import home
from muninn.model.errors import MuninnError

_WAIT_S: Final = 30.0


class UnitError(MuninnError):
    """The system could not be told, or a unit cannot be written; the text says which of both, and why."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: its files by name, and which of them is started (``NAME.service``, ``NAME.timer``; a label on macOS).

    ``environment`` is the person's: where her files go, and how the system's tools are found.
    """

    started: str
    texts: Mapping[str, bytes]
    platform: str
    environment: Mapping[str, str]

    def files(self) -> dict[Path, bytes]:
        """The files that it is made of, with what they hold."""
        return {self._folder / name: text for name, text in self.texts.items()}

    @property
    def _folder(self) -> Path:
        user = users_folder(self.environment)
        if self.platform == "darwin":
            return user / "Library/LaunchAgents"
        return Path(self.environment.get("XDG_CONFIG_HOME") or user / ".config") / "systemd/user"


@dataclass(frozen=True, slots=True)
class State:
    """Whether a unit is installed and runs, those of its files that are there, and what the system says of it."""

    installed: bool
    active: bool
    files: tuple[str, ...]
    says: str | None


def users_folder(environment: Mapping[str, str]) -> Path:
    """The folder of the person whose environment this is."""
    return Path(environment.get("HOME", "~")).expanduser()


def name_for(kind: str, home: Path) -> str:
    """A unit's name; another home has another one."""
    return f"muninn-{kind}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"


def install(unit: Unit) -> list[Path]:
    """Write the files, and start what they say now and at each login. Gives the files.

    One that is there is replaced and started again. Raises UnitError; then the files are as they were before.
    """
    files = unit.files()
    before = {file: file.read_bytes() if file.exists() else None for file in files}
    try:
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            # Whatever the umask: who could write into a unit would run as its person.
            home.replace(file, content, 0o600)
        if unit.platform == "darwin":
            _tried(unit, _stopping(unit))
        for words in _starting(unit):
            _told(unit, words)
    except (OSError, UnitError) as error:
        for file, earlier in before.items():
            _put_back(file, earlier)
        raise UnitError(str(error)) from error
    return list(files)


def remove(unit: Unit) -> bool:
    """Stop it and remove its files. Gives whether there was one."""
    files = [file for file in unit.files() if file.exists()]
    if not files:
        return False
    # What is not running any more cannot be stopped; the files go all the same.
    _tried(unit, _stopping(unit))
    for file in files:
        file.unlink(missing_ok=True)
    return True


def state(unit: Unit) -> State:
    """How a unit stands. A system that cannot be asked, or knows nothing of it, is told in ``says``."""
    files = tuple(str(file) for file in unit.files() if file.exists())
    if not files:
        return State(False, False, (), None)
    try:
        return State(True, True, files, _told(unit, _asking(unit)))
    except UnitError as error:
        return State(True, False, files, str(error))


def quoted(word: str) -> str:
    r"""A word for systemd, in quotes: no blank ends it, and no specifier (``%``) is filled in.

    Raises UnitError for a word with a line break or another control character.

    >>> quoted('a "b" $c 100%')
    '"a \\"b\\" $c 100%%"'
    """
    if not word.isprintable():
        raise UnitError(f"a unit cannot name {word!r}: it holds a control or an invisible character; choose another")
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def command_line(words: Sequence[str]) -> str:
    r"""A command for systemd's ``ExecStart``. In the words after the first, ``$`` would be filled in as well.

    >>> command_line(["/a b", "$c"])
    '"/a b" "$$c"'
    """
    return " ".join([quoted(words[0]), *(quoted(word).replace("$", "$$") for word in words[1:])])


def agent(label: str, command: Sequence[str], more: Mapping[str, Any]) -> dict[str, bytes]:
    """A launch agent's one file, by name."""
    told = {"Label": label, "ProgramArguments": list(command), **more}
    return {f"{label}.plist": plistlib.dumps(told)}


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _starting(unit: Unit) -> list[list[str]]:
    if unit.platform == "darwin":
        (file,) = unit.files()
        return [["launchctl", "bootstrap", _domain(), str(file)]]
    systemctl = ["systemctl", "--user"]
    return [[*systemctl, "daemon-reload"], [*systemctl, "enable", unit.started], [*systemctl, "restart", unit.started]]


def _stopping(unit: Unit) -> list[str]:
    if unit.platform == "darwin":
        return ["launchctl", "bootout", f"{_domain()}/{unit.started}"]
    return ["systemctl", "--user", "disable", "--now", unit.started]


def _asking(unit: Unit) -> list[str]:
    if unit.platform == "darwin":
        return ["launchctl", "print", f"{_domain()}/{unit.started}"]
    return ["systemctl", "--user", "is-active", unit.started]


def _told(unit: Unit, words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_WAIT_S, env=dict(unit.environment), check=False
        )
    except FileNotFoundError:
        raise UnitError(f"{words[0]} is not here") from None
    except subprocess.TimeoutExpired:
        raise UnitError(f"{words[0]} gave no answer") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnitError(f"{words[0]} says: {said[0] if said else done.returncode}")
    return (done.stdout.strip().splitlines() or [""])[0]


def _tried(unit: Unit, words: Sequence[str]) -> None:
    """Tell the system, whatever it answers."""
    try:
        _told(unit, words)
    except UnitError:
        return


def _put_back(file: Path, content: bytes | None) -> None:
    if content is None:
        file.unlink(missing_ok=True)
    else:
        home.replace(file, content, 0o600)
