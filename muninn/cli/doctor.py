"""``muninn doctor``: whether all is well, told line by line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from muninn.cli.options import as_json, fail, plain, show_json
from muninn.cli.progress import bar
from muninn.model.errors import SettingsError
from muninn.settings import FILE, Settings, load, read_file

if TYPE_CHECKING:
    from muninn.doctor.check import Finding

_NAMED: Final = 20
"""Paths told of one check; ``--json`` has them all."""
_COLOURS: Final = {"ok": "green", "fault": "red", "skipped": "yellow"}


@click.command()
@click.option("--full", is_flag=True, help="replay the ledger's whole chain, and hash every kept byte")
@click.option("--checkpoint", metavar="FILE", help="compare the ledger with a checkpoint that was signed before")
@click.option("--tls-key", metavar="FILE", help="look at the mode of the key that the gateway is started with")
@as_json
@click.option("--vault", metavar="DIR", help="the vault's folder (MUNINN_VAULT)")
@click.option("--home", metavar="DIR", help="ledger, clients and settings (MUNINN_HOME)")
@click.option("--cache", metavar="DIR", help="the index (MUNINN_CACHE)")
def doctor(
    full: bool,
    checkpoint: str | None,
    tls_key: str | None,
    as_json: bool,
    vault: str | None,
    home: str | None,
    cache: str | None,
) -> None:
    """Make a round trip in a scratch vault, and look at every part of the installation without changing it.

    Each line is ok, fault or skipped; what was skipped has not passed. Also beside a running gateway. Exit status 1
    where there is a fault.
    """
    try:
        from muninn.doctor import checks
        from muninn.doctor.installation import Asked, Installation
    except ImportError as error:
        _say_what_was_overwritten(error)
        return
    settings, wrong = _settings(vault, home, cache)
    if settings is None:  # the places are wrong, or nothing in them can be read without waiting
        examined = checks.without_places(wrong or "")
    else:
        asked = Asked(full, _file(checkpoint), _file(tls_key), wrong, _backup(settings))
        examined = checks.examine(Installation(settings, asked, lambda what: bar(what, as_json)))
    shown: list[dict[str, Any]] = []
    for found in examined:
        shown.append(_row(found.name, found.finding))
        if not as_json:
            _say(found.name, found.finding)
    counts = {state: sum(row["state"] == state for row in shown) for state in ("ok", "fault", "skipped")}
    if as_json:
        show_json({"checks": shown, **counts})
    else:
        faults = "1 fault" if counts["fault"] == 1 else f"{counts['fault']} faults"
        click.echo(f"{counts['ok']} ok, {faults}, {counts['skipped']} skipped, which have not passed")
        if counts["fault"]:
            click.echo("look at: " + ", ".join(row["name"] for row in shown if row["state"] == "fault"))
    if counts["fault"]:
        sys.exit(1)


def _settings(vault: str | None, home: str | None, cache: str | None) -> tuple[Settings | None, str | None]:
    """The settings, and why they are not as the owner wrote them: then the file is left out, so that the rest can be
    looked at all the same. None where the places themselves are wrong, or a look into them would never end."""
    try:
        unread = load(os.environ, vault, home, cache, read=lambda _: read_file(Path(os.devnull, FILE)))
    except SettingsError as error:
        return None, str(error)
    endless = _endless(unread)
    if endless is not None:
        return None, f"{endless} is a pipe or a device, and whoever reads it waits; take it away"
    try:
        return load(os.environ, vault, home, cache), None
    except SettingsError as error:
        return unread, str(error)


def _endless(settings: Settings) -> Path | None:
    """What in home and cache no look at would come back from."""
    home, cache = settings.places.home, settings.places.cache
    for file in (child for folder in (home, home / "backup", cache) for child in sorted(folder.glob("*"))):
        try:
            mode = file.stat().st_mode
        except OSError:
            continue  # told by the check that needs it
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            return file
    return None


def _backup(settings: Settings) -> Callable[[], Mapping[str, Any]]:
    def status() -> Mapping[str, Any]:
        import backup as packing

        return packing.status(packing.Places(settings.places.home, os.environ))

    return status


def _file(name: str | None) -> Path | None:
    return None if name is None else Path(name).expanduser()


def _row(name: str, finding: Finding) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "state": finding.state, "says": plain(finding.says)}
    if finding.paths:
        row["paths"] = [plain(one.path) for one in finding.paths]
        reasons = {plain(one.path): plain(one.why) for one in finding.paths if one.why is not None}
        row |= {"reasons": reasons} if reasons else {}
    if finding.details:
        row["details"] = [plain(line) for line in finding.details]
    return row


def _say(name: str, finding: Finding) -> None:
    state = click.style(f"{finding.state:<8}", fg=_COLOURS[finding.state])
    click.echo(f"{state} {name:<13} {plain(finding.says)}")
    lines = [one.path if one.why is None else f"{one.path}: {one.why}" for one in finding.paths]
    lines += finding.details
    for line in lines[:_NAMED]:
        click.echo(f"{'':<22} {plain(line)}")
    if len(lines) > _NAMED:
        click.echo(f"{'':<22} and {len(lines) - _NAMED} more: --json names them")


def _say_what_was_overwritten(error: ImportError) -> None:
    """The code does not load. Where that is because a file is not the one that was installed, name it."""
    from muninn.doctor import installed

    found = installed.compared()
    for file, why in found.wrong:
        click.echo(plain(f"{file}: {why}"), err=True)
    told = f"; {found.untold}" if found.untold else ""
    if found.wrong:
        told = f"; installed files were overwritten or are gone: {len(found.wrong)}"
    fail(f"the code does not load ({error}){told}; install Muninn anew, in an environment of its own")
