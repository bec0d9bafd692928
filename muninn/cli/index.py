"""``muninn index``: the disposable layer, made again at will."""

from __future__ import annotations

import sys

import click

from muninn import external, opening
from muninn.cli.options import as_json, places, show_json
from muninn.cli.progress import bar
from muninn.settings import Settings


@click.group()
def index() -> None:
    """Rebuild, scan, or show the index. It is made from the vault alone; deleting it loses nothing."""


@index.command()
@as_json
@places
def scan(settings: Settings, as_json: bool) -> None:
    """Make one scan now, also beside a gateway. Faulty notes are listed and cost only themselves.

    Edits that came around the door are recorded in the ledger, where there is one.
    """
    door = opening.beside(settings)
    suspects = external.Suspects(door.vault.look)
    with bar("scan", as_json) as progress:
        swept = door.index.sweep(door.vault.walk, suspects.look, progress=lambda done: progress(done, None))
    if settings.places.ledger.exists():
        external.record(door, suspects.take())
    faults = [{"path": fault.path, "reason": fault.reason} for fault in swept.faults]
    if as_json:
        counts = {"notes": swept.notes, "changed": swept.changed, "gone": swept.gone}
        show_json({**counts, "seconds": round(swept.seconds, 3), "faults": faults})
        return
    for fault in faults:
        click.echo(f"{fault['path']}: {fault['reason']}", err=True)
    click.echo(f"{swept.notes} notes, {swept.changed} changed, {swept.gone} gone, {swept.seconds:.2f} s")


@index.command(short_help="Make the index again from nothing.")
@as_json
@places
def rebuild(settings: Settings, as_json: bool) -> None:
    """Make the index again from nothing; searches are answered from the old one meanwhile."""
    door = opening.beside(settings)
    with bar("index", as_json) as progress:
        door.index.rebuild(door.vault.walk, door.vault.look, lambda done: progress(done, None))
    _show(settings, as_json)


@index.command(short_help="Show how the index stands; look it through.")
@as_json
@places
def status(settings: Settings, as_json: bool) -> None:
    """Show the state of the index: it is looked through, and a word is written, found and taken back.

    Exit status 1 where it is broken; one that is being made is not.
    """
    if _show(settings, as_json) == "broken":
        sys.exit(1)


def _show(settings: Settings, in_json: bool) -> str:
    """Tell how the index stands, and give the word for it."""
    door = opening.beside(settings)
    state = door.index.state()
    reason = door.index.examine() if state.state == "ready" else None
    word = "broken" if reason is not None else state.state
    notes = state.notes
    faults = [{"path": fault.path, "reason": fault.reason} for fault in state.faults]
    if in_json:
        told = {"state": word, "age_s": state.age_s, "notes": notes, "faults": faults}
        show_json(told if reason is None else {**told, "reason": reason})
        return word
    age = "never scanned" if state.age_s is None else f"scanned {state.age_s:.0f} s ago"
    click.echo(f"index {word}: {notes} notes, {age}, {len(faults)} faults")
    if reason is not None:
        click.echo(f"{reason}; the next scan makes it anew, and until then the files are searched", err=True)
    elif word == "broken":
        click.echo("it cannot answer; the files are searched until it is made again: muninn index scan", err=True)
    return word
