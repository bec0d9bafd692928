"""``muninn search``, ``read`` and ``history``: the person's own eyes, without a gateway."""

from __future__ import annotations

import sys

import click

from muninn import opening, reading, searching
from muninn.answers import to_json
from muninn.cli.options import as_json, fail, owner, places, refuse, show_json
from muninn.model.change import Refusal
from muninn.settings import Settings

private_too = click.option("--private", is_flag=True, help="private notes as well")


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100))
@click.option("--folder", help="only below this folder")
@click.option("--type", "type_", help="only notes of this type")
@click.option("--status", help="only notes with this status; names retired ones, too")
@click.option("--tag", "tags", multiple=True, help="only notes with this tag; repeated: all of them")
@click.option("--since", help="date, inclusive")
@click.option("--until", help="date, inclusive")
@private_too
@as_json
@places
def search(
    settings: Settings,
    words: tuple[str, ...],
    limit: int,
    folder: str | None,
    type_: str | None,
    status: str | None,
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    private: bool,
    as_json: bool,
) -> None:
    """Search the notes by plain words."""
    door = opening.beside(settings)
    asked = searching.Asked(" ".join(words), limit, folder, type_, status, tags, since, until)
    found = searching.search(door.index, door.vault.look, door.vault.walk, owner(settings, private), asked)
    if isinstance(found, Refusal):
        refuse(found, as_json)
        return
    if as_json:
        show_json(to_json(found))
        return
    for hit in found.hits:
        click.echo(f"{click.style(hit.path, bold=True)}:{hit.start_line}  {hit.title}")
        click.echo("    " + " ".join(hit.snippet.split())[:200])
    if found.query_note or not found.hits:
        click.echo(found.query_note or "no hits", err=True)


@click.command()
@click.argument("path")
@click.option("--start-line", default=1, type=click.IntRange(1))
@click.option("--end-line", type=click.IntRange(1))
@click.option("--revision", help="a kept hash or an event id of this path")
@private_too
@as_json
@places
def read(
    settings: Settings,
    path: str,
    start_line: int,
    end_line: int | None,
    revision: str | None,
    private: bool,
    as_json: bool,
) -> None:
    """Print a note. With --json: as agents get it, with the hash that a write needs."""
    door = opening.beside(settings)
    parsed = reading.parse_path(path)
    if isinstance(parsed, Refusal):
        refuse(parsed, as_json)
        return
    rights = owner(settings, private)
    answer = reading.read(door, rights, parsed, reading.Range(start_line, end_line), revision)
    if isinstance(answer, Refusal) and not rights.sees(parsed):
        fail(f"{parsed} lies under the private paths; add --private to read it")
    if isinstance(answer, Refusal):
        refuse(answer, as_json)
        return
    if as_json:
        show_json(to_json(answer))
        return
    if answer.encoding != "utf-8":
        fail(f"{path} is not text; --json gives it as base64")
    sys.stdout.write(answer.content)
    if answer.next_line is not None:
        click.echo(f"muninn: cut here; go on with --start-line {answer.next_line}", err=True)


@click.command()
@click.argument("path")
@click.option("--cursor", help="`next_cursor` of the page before")
@private_too
@as_json
@places
def history(settings: Settings, path: str, cursor: str | None, private: bool, as_json: bool) -> None:
    """Show the events of a path, newest first, of archived paths as well."""
    door = opening.beside(settings)
    parsed = reading.parse_path(path)
    answer = parsed if isinstance(parsed, Refusal) else reading.history(door, owner(settings, private), parsed, cursor)
    if isinstance(answer, Refusal):
        refuse(answer, as_json)
        return
    if as_json:
        show_json(to_json(answer))
        return
    for event in answer.events:
        who = event.client or "around the door"
        why = f" ({event.reason}{': ' + event.note if event.note else ''})" if event.reason else ""
        click.echo(f"{event.at}  {event.kind:<9} {who}{why}")
        click.echo(f"    {event.before[:12]} → {event.after[:12]}  {event.event}")
    if not answer.events:
        click.echo("no events", err=True)
