"""``muninn ledger``: verify, show and export what happened."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from ledger import Ledger
from ledger import verify as verify_file
from muninn.cli.options import as_json, fail, places, show_json
from muninn.cli.progress import bar
from muninn.settings import Settings

_BATCH = 500


@click.group()
def ledger() -> None:
    """Verify, show and export the ledger. None of these change it."""


@ledger.command()
@as_json
@places
def verify(settings: Settings, as_json: bool) -> None:
    """Replay the chain and hash every kept byte again. Exit status 1 where anything does not hold."""
    with bar("verify", as_json) as progress:
        verdict = verify_file(settings.places.ledger, progress)
    if as_json:
        show_json(
            {
                "ok": not verdict.faults,
                "rows": verdict.rows,
                "events": verdict.events,
                "contents": verdict.contents,
                "head": verdict.head,
                "faults": list(verdict.faults),
            }
        )
    else:
        for fault in verdict.faults:
            click.echo(fault, err=True)
        state = "ok" if not verdict.faults else f"{len(verdict.faults)} faults"
        counted = f"{verdict.rows} rows, {verdict.events} events, {verdict.contents} kept contents"
        click.echo(f"ledger {state}: {counted}, head {verdict.head[:16]}")
    if verdict.faults:
        sys.exit(1)


@ledger.command()
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="how many rows")
@as_json
@places
def show(settings: Settings, last: int, as_json: bool) -> None:
    """Show the newest rows."""
    rows = list(_rows(settings))[-last:]
    if as_json:
        show_json({"rows": rows})
        return
    for row in rows:
        body = row["body"]
        what = body.get("kind") or body.get("state") or row["kind"]
        paths = ", ".join(change["path"] for change in row["changes"]) or body.get("path", "")
        click.echo(f"{row['seq']:>6} {row['at']} {row['kind']:<8} {row['client'] or '-':<16} {what:<10} {paths}")


@ledger.command()
@click.argument("file", type=click.Path(dir_okay=False, writable=True, allow_dash=True), default="-")
@places
def export(settings: Settings, file: str) -> None:
    """Write every row as a line of JSON, oldest first, to FILE or standard output."""
    with click.open_file(file, "w", encoding="utf-8") as lines:
        for row in _rows(settings):
            lines.write(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n")


def _rows(settings: Settings) -> Iterator[dict[str, Any]]:
    if not settings.places.ledger.exists():
        fail(f"there is no ledger in {settings.places.home}; it is made when the gateway first starts")
    store = Ledger(settings.places.ledger)
    seen = 0
    while rows := store.rows(seen, _BATCH):
        yield from rows
        seen = rows[-1]["seq"]
