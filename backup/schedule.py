"""A nightly run: a systemd user timer on Linux, a launch agent on macOS; each home has one of its own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muninn import units

from .errors import BackupError


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
        return units.name_for("backup", self.home)

    @property
    def cron(self) -> str:
        """The same as a line for cron, where there is neither of the two."""
        hour, minute = self.at.split(":")
        return f"{int(minute)} {int(hour)} * * * {shlex.join(self.command)}".replace("%", r"\%")

    @property
    def unit(self) -> units.Unit:
        """The unit that runs it. Raises UnitError where a place cannot be named in one."""
        if self.platform == "darwin":
            hour, minute = map(int, self.at.split(":"))
            texts = units.agent(self.name, self.command, {"StartCalendarInterval": {"Hour": hour, "Minute": minute}})
            return units.Unit(self.name, texts, self.platform, self.environment)
        texts = {f"{self.name}.service": self._service().encode(), f"{self.name}.timer": self._timer().encode()}
        return units.Unit(f"{self.name}.timer", texts, self.platform, self.environment)

    def _service(self) -> str:
        command = units.command_line(self.command)
        return f"[Unit]\nDescription=Muninn: sealed backup, proven\n\n[Service]\nType=oneshot\nExecStart={command}\n"

    def _timer(self) -> str:
        return (
            f"[Unit]\nDescription=Muninn: nightly backup\n\n[Timer]\nOnCalendar=*-*-* {self.at}:00\nPersistent=true\n\n"
            "[Install]\nWantedBy=timers.target\n"
        )


def install(schedule: Schedule) -> list[Path]:
    """Write the files and start the timer. Gives the files.

    Raises BackupError with a line for cron; then the files are as they were before.
    """
    try:
        return units.install(schedule.unit)
    except units.UnitError as error:
        raise BackupError(
            f"no timer could be set up ({error}). With cron, this line does it: {schedule.cron}"
        ) from error


def remove(schedule: Schedule) -> bool:
    """Stop the timer and remove its files. Gives whether there was one."""
    return units.remove(schedule.unit)


def state(schedule: Schedule) -> units.State:
    """Whether it is installed and active, where its files are, and what the system says of it."""
    return units.state(schedule.unit)
