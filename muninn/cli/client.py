"""``muninn client``: who may come through the door."""

from __future__ import annotations

import sys
from typing import Any

import click

from muninn import clients
from muninn.cli import tokens
from muninn.cli.options import as_json, places, show_json
from muninn.model.errors import SettingsError
from muninn.model.rights import DEFAULT_SCOPES, EVERYTHING, SCOPES
from muninn.settings import Settings


@click.group()
def client() -> None:
    """Add, list, rotate and revoke clients. A change counts from the next call on; nothing has to be restarted."""


@client.command()
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, help=f"of {', '.join(SCOPES)}; repeated or with commas")
@click.option("--read", "read_globs", multiple=True, metavar="GLOB", help="paths it may read (default: all)")
@click.option("--write", "write_globs", multiple=True, metavar="GLOB", help="paths it may write (default: all)")
@click.option("--expires", type=click.IntRange(1, 36500), metavar="DAYS", help="the token ends after this time")
@click.option("--token-stdin", is_flag=True, help="register a token made elsewhere, read from standard input")
@as_json
@places
def add(
    settings: Settings,
    name: str,
    scopes: tuple[str, ...],
    read_globs: tuple[str, ...],
    write_globs: tuple[str, ...],
    expires: int | None,
    token_stdin: bool,
    as_json: bool,
) -> None:
    """Make a client and print its token, once."""
    token = _token(token_stdin)
    wanted = _scopes(scopes)
    reads, writes = (globs or EVERYTHING.patterns for globs in (read_globs, write_globs))
    made = clients.make(name, token, wanted, reads, writes, expires)
    with clients.changing(settings.places.clients) as known:
        known |= clients.added(known, made)
    _show_token(name, None if token_stdin else token, as_json)


@client.command(name="list")
@as_json
@places
def list_(settings: Settings, as_json: bool) -> None:
    """Show the clients and what they may do. Tokens cannot be shown: only their SHA-256 is kept."""
    found = clients.load(settings.places.clients)
    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "scopes": sorted(one.scopes),
            "read": list(one.read),
            "write": list(one.write),
            "created": one.created,
            "expires": one.expires,
        }
        for one in found.values()
    ]
    if as_json:
        show_json({"clients": rows})
        return
    for row in rows:
        until = f", until {row['expires']}" if row["expires"] else ""
        scopes, reads, writes = (", ".join(map(str, row[key] or ())) for key in ("scopes", "read", "write"))
        click.echo(f"{row['name']}: {scopes}; read {reads}; write {writes}{until}")
    if not rows:
        click.echo("no client yet; make one with: muninn client add NAME")


@client.command()
@click.argument("name")
@click.option("--token-stdin", is_flag=True, help="take a token made elsewhere, read from standard input")
@as_json
@places
def rotate(settings: Settings, name: str, token_stdin: bool, as_json: bool) -> None:
    """Give a client a new token; the old one stops at once."""
    token = _token(token_stdin)
    with clients.changing(settings.places.clients) as known:
        changed = clients.rotated(known, name, token)
        old = known[name].digest
        known |= changed
    for kept in tokens.renew(settings.places, name, token, old):
        click.echo(f"the new token is kept in {kept} as well, where the old one was", err=True)
    _show_token(name, None if token_stdin else token, as_json)


@client.command()
@click.argument("name")
@as_json
@places
def revoke(settings: Settings, name: str, as_json: bool) -> None:
    """Take a client out; its token stops at once."""
    with clients.changing(settings.places.clients) as known:
        clients.revoke(known, name)
    tokens.forget(settings.places, name)
    if as_json:
        show_json({"revoked": name})
    else:
        click.echo(f"{name} is out")


def _token(from_stdin: bool) -> str:
    if not from_stdin:
        return clients.new_token()
    token = sys.stdin.readline().rstrip("\r\n")
    clients.check_token(token)
    return token


def _scopes(given: tuple[str, ...]) -> set[str]:
    if not given:
        return set(DEFAULT_SCOPES)
    wanted = {part.strip() for text in given for part in text.split(",")} - {""}
    if not wanted:
        raise SettingsError(f"--scope names nothing; known are {', '.join(SCOPES)}")
    return wanted


def _show_token(name: str, token: str | None, in_json: bool) -> None:
    if in_json:
        show_json({"name": name} | ({"token": token} if token else {}))
    elif token:
        click.echo(f"{name}: {token}\nThis token is shown once. Keep it; `muninn client rotate {name}` makes another.")
    else:
        click.echo(f"{name}: registered")
