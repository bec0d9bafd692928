"""``muninn undo``: take back what a client, or somebody around the door, did in a stretch of time."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta

import click

from muninn import holding, opening, undoing
from muninn.cli.options import as_json, owner, places, show_json
from muninn.model.errors import SettingsError
from muninn.settings import Settings

_AGO = re.compile(r"(\d+)(m|h|d)\Z")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@click.command()
@click.option("--client", help="undo what this client did")
@click.option("--external", is_flag=True, help="undo what came around the door")
@click.option("--since", required=True, metavar="TIME", help="RFC 3339, a date, or 30m, 2h, 3d ago")
@click.option("--until", metavar="TIME", help="as --since; now where it is not given")
@click.option("--dry-run", is_flag=True, help="show what would be done; touch nothing")
@as_json
@places
def undo(
    settings: Settings,
    client: str | None,
    external: bool,
    since: str,
    until: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Reverse changes note by note, each only while its bytes are still the ones to be undone. Also beside a gateway.

    Exit status 1 where a note was left.
    """
    if (client is None) == (not external):
        raise click.UsageError("give --client NAME or --external, one of them")
    door = opening.beside(settings)
    who, begin, end = undoing.Who(client), _time(since, "--since"), _time(until, "--until") if until else _now()
    rights = owner(settings, private=True)
    door.held.seconds = holding.HOLD_S
    found = undoing.reversals(door, who, begin, end) if dry_run else undoing.undo(door, rights, who, begin, end)
    holding.release_all(door)
    rows = [
        {
            "path": one.path,
            "now": str(one.now),
            "back_to": str(one.back_to),
            "events": one.events,
            "state": one.state,
            "why": one.why,
        }
        for one in found
    ]
    if as_json:
        show_json({"reversals": rows})
    else:
        for one in found:
            why = f" ({one.why})" if one.why else ""
            click.echo(f"{one.state:<8} {one.path}  {str(one.now)[:12]} → {str(one.back_to)[:12]}{why}")
        click.echo(f"{len(found)} notes, {sum(one.state == 'left' for one in found)} left", err=True)
    if any(one.state == "left" for one in found):
        sys.exit(1)


def _now() -> str:
    return _shown(datetime.now(UTC))


def _time(text: str, flag: str) -> str:
    ago = _AGO.match(text)
    if ago:
        text = ago[0]
    try:
        if ago:
            return _shown(datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
        found = datetime.fromisoformat(text)
        return _shown(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise SettingsError(f"{flag} {text!r} is no time: RFC 3339, a date, or 30m, 2h, 3d") from None


def _shown(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
