"""The gateway as a unit: it starts at its person's login, again when it fails, and may write three folders only.

The unit holds no token: the clients' digests stay in the home, and what else is secret stays in files of mode 0600.
"""

from __future__ import annotations

import plistlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muninn import units
from muninn.settings import Places

_AGAIN_S: Final = 10
"""Seconds before a gateway that failed is started again: its vault may be mounted later than it starts."""
_STOPS_S: Final = 20
"""Seconds it is given to end by itself; calls that are running get five of them."""
_ADDRESS: Final = "Address="


@dataclass(frozen=True, slots=True)
class Resident:
    """A gateway to be kept running. ``command`` is its whole command line, ``address`` where its health is asked.

    Without ``fenced`` the unit leaves out what needs namespaces, for systems that give a person none.
    """

    places: Places
    command: tuple[str, ...]
    address: str
    platform: str
    environment: Mapping[str, str]
    fenced: bool = True

    @property
    def name(self) -> str:
        """The unit's name; another home has another one."""
        return units.name_for("serve", self.places.home)

    @property
    def unit(self) -> units.Unit:
        """The unit. Raises UnitError where a place cannot be named in one."""
        if self.platform == "darwin":
            return units.Unit(self.name, self._agent(), self.platform, self.environment)
        texts = {f"{self.name}.service": self._service().encode()}
        return units.Unit(f"{self.name}.service", texts, self.platform, self.environment)

    @property
    def log(self) -> str:
        """The command that shows what it logged."""
        return f"tail {self._log}" if self.platform == "darwin" else f"journalctl --user -u {self.name}.service -n 20"

    def _service(self) -> str:
        fences = (*_FENCES, *(self._namespaces() if self.fenced else ()))
        return "\n".join(
            [
                "[Unit]",
                "Description=Muninn: the door to a vault of notes",
                "",
                "[Service]",
                "Type=exec",
                f"ExecStart={units.command_line(self.command)}",
                "Restart=on-failure",
                f"RestartSec={_AGAIN_S}",
                f"TimeoutStopSec={_STOPS_S}",
                *fences,
                "",
                "[Install]",
                "WantedBy=default.target",
                "",
                # Not for systemd, which passes over sections with this prefix: `service status` asks there.
                "[X-Muninn]",
                f"{_ADDRESS}{self.address}",
                "",
            ]
        )

    def _namespaces(self) -> tuple[str, ...]:
        own = [place for place in (self.places.vault, self.places.home, self.places.cache) if place is not None]
        kept = f"ReadWritePaths={' '.join(units.quoted(str(place)) for place in own)}"
        # A private /tmp would hide a place that lies in it.
        hides = any(place.is_relative_to(shared) for place in own for shared in ("/tmp", "/var/tmp"))
        return ("PrivateUsers=yes", "ProtectSystem=strict", kept, *(() if hides else ("PrivateTmp=yes",)))

    def _agent(self) -> dict[str, bytes]:
        told = {
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": _AGAIN_S,
            "ExitTimeOut": _STOPS_S,
            "Umask": 0o077,
            "StandardOutPath": str(self._log),
            "StandardErrorPath": str(self._log),
            "MuninnAddress": self.address,
        }
        return units.agent(self.name, self.command, told)

    @property
    def _log(self) -> Path:
        return units.users_folder(self.environment) / f"Library/Logs/{self.name}.log"


_FENCES: Final = (
    "UMask=0077",
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    # Scripts run in a network namespace of their own, where there is bwrap; it is made over netlink.
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
)


def address_in(unit: units.Unit) -> str | None:
    """Where the health of an installed gateway is asked, as its unit says; None where there is none."""
    for file in unit.files():
        try:
            content = file.read_bytes()
        except OSError:
            return None
        if unit.platform == "darwin":
            return str(plistlib.loads(content).get("MuninnAddress"))
        for line in content.decode("utf-8", "replace").splitlines():
            if line.startswith(_ADDRESS):
                return line.removeprefix(_ADDRESS)
    return None
