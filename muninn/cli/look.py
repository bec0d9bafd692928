"""``muninn read`` and ``history``: the person's own eyes, without a gateway."""

from __future__ import annotations

import sys

import click

from muninn import opening, reading
from muninn.answers import to_json
from muninn.cli.differences import coloured, difference
from muninn.cli.options import as_json, fail, need_ledger, owner, places, private_too, refuse, show_json
from muninn.model.content import MISSING, Basis, ContentHash
from muninn.model.refusal import Refusal
from muninn.settings import Settings


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
    if revision is not None:
        need_ledger(settings)
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
@click.option("--diff", "diffs", is_flag=True, help="with what each event changed in it")
@private_too
@as_json
@places
def history(settings: Settings, path: str, cursor: str | None, diffs: bool, private: bool, as_json: bool) -> None:
    """Show the events of a path, newest first, of archived paths as well."""
    need_ledger(settings)
    door = opening.beside(settings)
    parsed = reading.parse_path(path)
    answer = parsed if isinstance(parsed, Refusal) else reading.history(door, owner(settings, private), parsed, cursor)
    if isinstance(answer, Refusal):
        refuse(answer, as_json)
        return
    shown = [difference(door.ledger, path, _side(e.before), _side(e.after)) for e in answer.events] if diffs else []
    if as_json:
        found = to_json(answer)
        for row, text in zip(found["events"], shown, strict=False):
            row["diff"] = text
        show_json(found)
        return
    for number, event in enumerate(answer.events):
        who = event.client or ("around the door" if event.kind == "external" else "the owner")
        why = f" ({event.reason}{': ' + event.note if event.note else ''})" if event.reason else ""
        click.echo(f"{event.at}  {event.kind:<9} {who}{why}")
        click.echo(f"    {event.before[:12]} → {event.after[:12]}  {event.event}")
        if diffs:
            click.echo(coloured(shown[number]))
    if not answer.events:
        click.echo(f"no events of {path}: nothing is known to have changed it; is it its path in the vault?", err=True)


def _side(text: str) -> Basis:
    return MISSING if text == MISSING.value else ContentHash(text)
