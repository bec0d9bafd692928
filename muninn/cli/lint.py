"""``muninn lint``: sources that changed, and the summaries and claims to look at again."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from muninn import opening
from muninn.bound import linting
from muninn.cli.differences import coloured
from muninn.cli.options import as_json, need_ledger, owner, places, private_too, show_json
from muninn.cli.times import moment
from muninn.settings import Settings


@click.command()
@click.option("--since", metavar="TIME", help="only sources that changed since: RFC 3339, a date, or 30m, 2h, 3d ago")
@private_too
@as_json
@places
def lint(settings: Settings, since: str | None, private: bool, as_json: bool) -> None:
    """Name each source that changed, with its changed lines, and the summaries and claims that lean on it.

    A worklist made by comparing bytes and words; no model judges whether a summary is still right. Nothing is changed.

    Exit status: 0 nothing to look at; 1 the worklist is not empty, or the vault or the ledger cannot be read (said on
    stderr); 2 the command line is wrong.
    """
    need_ledger(settings)
    door = opening.beside(settings)
    found = linting.lint(door, owner(settings, private), moment(since, "--since") if since is not None else None)
    if as_json:
        show_json(
            {
                "changed": [asdict(one) for one in found.changed],
                "unclear": [asdict(one) for one in found.unclear],
                "looked_at": {"summaries": found.summaries, "claims": found.claims},
            }
        )
    else:
        _show(found)
    sys.exit(0 if found.empty else 1)


def _show(found: linting.Worklist) -> None:
    for one in found.changed:
        click.echo(click.style(f"{one.path}: {one.why}", bold=True))
        for summary in one.summaries:
            click.echo(f"  summary {summary.path}{'' if summary.direct else ' (behind another summary)'}")
            for sentence in summary.sentences:
                click.echo(f"    {sentence.line}: {sentence.text}")
        for claim in one.claims:
            click.echo(f"  claim {claim.claim_id} abstains")
        if one.diff:
            click.echo(coloured(one.diff), nl=False)
    for unclear in found.unclear:
        why = ", ".join(f"{reason.path} ({reason.why})" for reason in unclear.because[:5])
        click.echo(click.style(f"{unclear.path}: unknown", bold=True) + f", because of {why}")
    counted = f"{found.summaries} summaries and {found.claims} claims looked at"
    click.echo(f"{len(found.changed)} changed sources, {len(found.unclear)} unknown summaries; {counted}", err=True)
