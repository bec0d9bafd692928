"""``muninn adopt``: help the notes of an existing vault to meet the contract."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import click

from muninn import adopting, holding, opening
from muninn.adopting import Adoption
from muninn.cli.differences import coloured
from muninn.cli.options import as_json, places, show_json
from muninn.cli.progress import bar
from muninn.settings import Settings


@click.command()
@click.argument("glob", default="**", metavar="[GLOB]")
@click.option("--dry-run", is_flag=True, help="show what would be written; touch no note")
@click.option("--diff", "diffs", is_flag=True, help="show each note's difference as it is written, too")
@as_json
@places
def adopt(settings: Settings, glob: str, dry_run: bool, diffs: bool, as_json: bool) -> None:
    """Propose and write the frontmatter that notes lack to meet the contract. Also beside a gateway.

    Only frontmatter is added or mended, and only what is at fault; text below it is never touched. Private notes are
    left alone. Everything can be taken back: muninn undo --client owner:adopt --since TIME.

    Exit status 1 where a note was left.
    """
    first = not dry_run and not settings.places.ledger.exists()
    door = opening.for_serving(settings) if first else opening.beside(settings)
    door.held.seconds = 0.0 if dry_run else holding.HOLD_S
    paths = adopting.chosen(door, glob)
    if not dry_run and door.index.age_s() is None:
        # Each note that is written tells the index where to look, so there must be one.
        with bar("index", as_json) as progress:
            door.index.sweep(door.vault.walk, door.vault.look, progress=lambda done: progress(done, None))
    found: list[Adoption] = []
    try:
        with bar("adopt", as_json) as progress:
            for one in adopting.adopt(door, settings.owner_rules(), paths, dry_run=dry_run):
                found.append(one)
                progress(len(found), len(paths))
    finally:
        holding.release_all(door)
    counts: Counter[str] = Counter(one.state for one in found)
    if as_json:
        show_json({"dry_run": dry_run, "notes": len(found), **_counts(counts), "rows": [_row(one) for one in found]})
    else:
        _print(found, counts, dry_run=dry_run, diffs=diffs or dry_run)
    if counts["left"]:
        sys.exit(1)


def _counts(counts: Counter[str]) -> dict[str, int]:
    return {state: counts[state] for state in ("valid", "planned", "adopted", "left")}


def _row(one: Adoption) -> dict[str, Any]:
    return {
        "path": one.path,
        "state": one.state,
        "fields": {field.key: field.value for field in one.fields},
        "sources": {field.key: field.source for field in one.fields},
        "kept": dict(one.kept),
        "diff": one.diff,
        "why": one.why,
    }


def _print(found: list[Adoption], counts: Counter[str], *, dry_run: bool, diffs: bool) -> None:
    for one in found:
        if one.state == "valid":
            continue
        why = f"  {one.why}" if one.why else ""
        kept = "".join(f", {key} kept as {name}" for key, name in one.kept)
        told = ", ".join(f"{field.key} from {field.source}" for field in one.fields) + kept if not why else ""
        click.echo(f"{one.state:<8} {click.style(one.path, bold=True)}  {told}{why}")
        if diffs and one.diff:
            click.echo(coloured(one.diff))
    done = "would be adopted" if dry_run else "adopted"
    number = counts["planned"] if dry_run else counts["adopted"]
    click.echo(f"{len(found)} notes: {counts['valid']} valid already, {number} {done}, {counts['left']} left", err=True)
    if counts["adopted"]:
        click.echo(f"take it back: muninn undo --client {adopting.CLIENT} --since 1h", err=True)
