"""A nightly run: a systemd user timer on Linux, a launch agent on macOS; each home has one of its own."""

from __future__ import annotations

import hashlib
import os
import plistlib
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .errors import BackupError

_WAIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is to run, and when. ``command`` is the whole command line, ``at`` is ``HH:MM`` of this machine's clock."""

    home: Path
    command: tuple[str, ...]
    at: str
    platform: str
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        """The unit's name; another home has another one."""
        return f"muninn-backup-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:8]}"

    @property
    def cron(self) -> str:
        """The same as a line for cron, where there is neither of the two."""
        hour, minute = self.at.split(":")
        return f"{int(minute)} {int(hour)} * * * {shlex.join(self.command)}".replace("%", r"\%")

    def files(self) -> dict[Path, bytes]:
        """The files that it is made of, with what they hold."""
        user = Path(self.environment.get("HOME", "~")).expanduser()
        if self.platform == "darwin":
            return {user / f"Library/LaunchAgents/{self.name}.plist": self._agent()}
        folder = Path(self.environment.get("XDG_CONFIG_HOME") or user / ".config") / "systemd" / "user"
        return {
            folder / f"{self.name}.service": self._service().encode(),
            folder / f"{self.name}.timer": self._timer().encode(),
        }

    def _service(self) -> str:
        command = " ".join(map(_quoted, self.command))
        return f"[Unit]\nDescription=Muninn: sealed backup, proven\n\n[Service]\nType=oneshot\nExecStart={command}\n"

    def _timer(self) -> str:
        return (
            f"[Unit]\nDescription=Muninn: nightly backup\n\n[Timer]\nOnCalendar=*-*-* {self.at}:00\nPersistent=true\n\n"
            "[Install]\nWantedBy=timers.target\n"
        )

    def _agent(self) -> bytes:
        hour, minute = map(int, self.at.split(":"))
        return plistlib.dumps(
            {
                "Label": self.name,
                "ProgramArguments": list(self.command),
                "StartCalendarInterval": {"Hour": hour, "Minute": minute},
            }
        )


def install(schedule: Schedule) -> list[Path]:
    """Write the files and start the timer. Gives the files. Raises BackupError with a line for cron, nothing left."""
    files = schedule.files()
    try:
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for words in _starting(schedule, list(files)):
            _told(schedule, words)
    except (OSError, BackupError) as error:
        for file in files:
            file.unlink(missing_ok=True)
        raise BackupError(
            f"no timer could be set up ({error}). With cron, this line does it: {schedule.cron}"
        ) from error
    return list(files)


def remove(schedule: Schedule) -> bool:
    """Stop the timer and remove its files. Gives whether there was one."""
    files = [file for file in schedule.files() if file.exists()]
    if not files:
        return False
    for words in _stopping(schedule):
        # What is not running any more cannot be stopped; the files go all the same.
        subprocess.run(words, capture_output=True, timeout=_WAIT_S, env=dict(schedule.environment), check=False)
    for file in files:
        file.unlink(missing_ok=True)
    return True


def state(schedule: Schedule) -> dict[str, object]:
    """Whether it is installed and active, where its files are, and what the system says of it."""
    files = [str(file) for file in schedule.files() if file.exists()]
    said = None
    if files:
        try:
            said = _told(schedule, _asking(schedule))
        except BackupError as error:
            return {"installed": True, "active": False, "files": files, "says": str(error)}
    return {"installed": bool(files), "active": bool(files), "files": files, "says": said}


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _starting(schedule: Schedule, files: list[Path]) -> list[list[str]]:
    if schedule.platform == "darwin":
        return [["launchctl", "bootstrap", _domain(), str(files[0])]]
    timer = f"{schedule.name}.timer"
    return [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", timer]]


def _stopping(schedule: Schedule) -> list[list[str]]:
    if schedule.platform == "darwin":
        return [["launchctl", "bootout", f"{_domain()}/{schedule.name}"]]
    return [["systemctl", "--user", "disable", "--now", f"{schedule.name}.timer"]]


def _asking(schedule: Schedule) -> list[str]:
    if schedule.platform == "darwin":
        return ["launchctl", "print", f"{_domain()}/{schedule.name}"]
    return ["systemctl", "--user", "is-active", f"{schedule.name}.timer"]


def _told(schedule: Schedule, words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_WAIT_S, env=dict(schedule.environment), check=False
        )
    except FileNotFoundError:
        raise BackupError(f"{words[0]} is not here") from None
    except subprocess.TimeoutExpired:
        raise BackupError(f"{words[0]} gave no answer") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise BackupError(f"{words[0]} says: {said[0] if said else done.returncode}")
    return (done.stdout.strip().splitlines() or [""])[0]


def _quoted(word: str) -> str:
    r"""A word for systemd's command lines.

    >>> _quoted('a "b" $c 100%')
    '"a \\"b\\" $$c 100%%"'
    """
    inner = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("%", "%%")
    return f'"{inner}"'
