"""``muninn undo``: take back what a client, or somebody around the door, did in a stretch of time."""

from __future__ import annotations

import sys

import click

from muninn import clients, holding, opening, undoing
from muninn.cli.options import as_json, need_ledger, owner, places, show_json
from muninn.cli.times import moment, now
from muninn.model.errors import SettingsError
from muninn.settings import Settings


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
    need_ledger(settings)
    door = opening.beside(settings)
    who, begin, end = undoing.Who(client), moment(since, "--since"), moment(until, "--until") if until else now()
    if begin >= end:
        raise SettingsError(f"--since must lie before --until, found {begin} and {end}")
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
        if not found:
            _say_nothing_was_found(settings, client)
    if any(one.state == "left" for one in found):
        sys.exit(1)


def _say_nothing_was_found(settings: Settings, client: str | None) -> None:
    from muninn import adopting

    theirs = "came around the door" if client is None else f"is known of {client}"
    click.echo(f"nothing that could be undone {theirs} in that time; see muninn ledger show", err=True)
    known = clients.load(settings.places.clients)
    if client is not None and client not in known and client != adopting.CLIENT:
        click.echo(f"there is no client {client} now; known are: {', '.join(sorted(known))}", err=True)
