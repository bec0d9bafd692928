"""``muninn service``: keep the gateway running, as a systemd user unit or a launch agent."""

from __future__ import annotations

import getpass
import os
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import click

from muninn import clients, health, resident, units
from muninn.cli.options import as_json, fail, places, program, show_json
from muninn.cli.serve import Binding, bound, check_binding
from muninn.indexes import vault_root
from muninn.model.errors import SettingsError
from muninn.opening import make_home
from muninn.resident import Resident
from muninn.settings import Settings

Health = Literal["ok", "unwell"] | None
"""What the gateway says of itself; None where it gives no answer."""


@click.group()
def service() -> None:
    """Keep the gateway running: a systemd user unit on Linux, a launch agent on macOS; no root is needed."""


@service.command()
@bound(1)
@click.option("--without-fences", is_flag=True, help="no namespaces, for systems that give a person none")
@click.option(
    "--wait", default=10, show_default=True, type=click.IntRange(0, 600), help="seconds to wait for an answer"
)
@click.option("--dry-run", is_flag=True, help="print the unit, and change nothing")
@as_json
@places
def install(
    settings: Settings, binding: Binding, without_fences: bool, wait: int, dry_run: bool, as_json: bool
) -> None:
    """Install the unit, or replace it, and start the gateway. Exit status 1 where it gives no answer in time."""
    check_binding(binding)
    vault_root(settings.places)
    if not clients.load(settings.places.clients):
        raise SettingsError("there is no client yet, and the gateway starts with none: muninn client add NAME first")
    wanted = _resident(settings, binding, fenced=not without_fences)
    if dry_run:
        _show_texts(wanted.unit, as_json)
        return
    make_home(settings.places)
    settings.places.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = [str(file) for file in _installed(wanted)]
    found = _awaited(wanted.address, wait)
    told = {"installed": True, "name": wanted.name, "address": wanted.address, "health": found, "files": files}
    if as_json:
        show_json(told | {"lingers": _lingers()})
    else:
        click.echo("\n".join([f"installed {wanted.name}", *files]))
        _say_lingering()
    if found is None:
        fail(f"it was started, and gave no answer at {wanted.address} within {wait} s; see: {wanted.log}")
    if not as_json:
        click.echo(f"answers at {wanted.address}/mcp: {found}")


def _installed(wanted: Resident) -> list[Path]:
    try:
        return units.install(wanted.unit)
    except units.UnitError as error:
        line = shlex.join(wanted.command)
        raise units.UnitError(
            f"nothing was installed ({error}). What another supervisor would have to start: {line}"
        ) from error


@service.command()
@as_json
@places
def remove(settings: Settings, as_json: bool) -> None:
    """Stop the gateway and take the unit away. Vault, home and cache stay."""
    was_there = units.remove(_resident(settings, None).unit)
    if as_json:
        show_json({"removed": was_there})
    else:
        click.echo("removed" if was_there else "there was none")


@service.command()
@as_json
@places
def status(settings: Settings, as_json: bool) -> None:
    """Whether it is installed, running, and answers. Exit status 1 where one of them is not so."""
    known = _resident(settings, None)
    found = units.state(known.unit)
    address = resident.address_in(known.unit)
    said = _health(address) if address is not None else None
    if as_json:
        show_json(asdict(found) | {"name": known.name, "address": address, "health": said, "lingers": _lingers()})
    else:
        _say_state(found, address, said)
    if not (found.active and said == "ok"):
        if found.installed and not as_json:
            click.echo(f"what it logged: {known.log}", err=True)
        sys.exit(1)


def _say_state(found: units.State, address: str | None, health: Health) -> None:
    running = "running" if found.active else "installed, but not running" if found.installed else "not installed"
    click.echo(f"{running}: {found.says}" if found.says else running)
    if address is not None:
        said = {"ok": "answers", "unwell": "answers that vault or ledger is down", None: "gives no answer"}[health]
        click.echo(f"{said} at {address}/mcp")
        _say_lingering()


def _resident(settings: Settings, binding: Binding | None, *, fenced: bool = True) -> Resident:
    """The unit as it is to be; without a binding only what it is called."""
    own = settings.places
    command = [*program(), "serve"]
    for flag, place in (("--vault", own.vault), ("--home", own.home), ("--cache", own.cache)):
        command += [flag, str(place)]
    address = ""
    if binding is not None:
        command += _flags(binding)
        address = binding.url(binding.port)
    return Resident(own, tuple(command), address, sys.platform, os.environ, fenced)


def _flags(binding: Binding) -> list[str]:
    flags = ["--host", binding.host, "--port", str(binding.port)]
    for name in binding.allowed:
        flags += ["--allow-host", name]
    for flag, file in (("--tls-cert", binding.tls_cert), ("--tls-key", binding.tls_key)):
        flags += [flag, str(Path(file).absolute())] if file is not None else []
    return [*flags, "--behind-proxy"] if binding.behind_proxy else flags


def _show_texts(unit: units.Unit, as_json: bool) -> None:
    texts = {str(file): content.decode() for file, content in unit.files().items()}
    if as_json:
        show_json({"installed": False, "files": texts})
        return
    for file, text in texts.items():
        click.echo(f"# {file}\n{text}")


def _awaited(address: str, seconds: int) -> Health:
    """The gateway's health, as soon as it gives an answer."""
    end = time.monotonic() + seconds
    while (found := _health(address)) is None and time.monotonic() < end:
        time.sleep(0.2)
    return found


def _health(address: str) -> Health:
    match health.status(address):
        case 200:
            return "ok"
        case 503:
            return "unwell"
        case _:
            return None


def _lingers() -> bool | None:
    """Whether the person's units run while she is not logged in; None where that is no question."""
    if sys.platform == "darwin":
        return None
    return Path("/var/lib/systemd/linger", getpass.getuser()).exists()


def _say_lingering() -> None:
    if _lingers() is False:
        click.echo("it runs while you are logged in; from boot on, and after you log out: loginctl enable-linger")
    elif sys.platform == "darwin":
        click.echo("it runs while you are logged in; macOS starts launch agents at the login")
