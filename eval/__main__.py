"""``python -m eval --vault DIR --questions FILE.json [--json]``: the table of engines on a set of questions."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from eval.run import load, run
from eval.score import interval
from muninn.model.errors import MuninnError


@click.command()
@click.option("--vault", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--questions", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def main(vault: Path, questions: Path, as_json: bool) -> None:
    """Ask every engine the questions of a set and print how often the right note is first, or among five."""
    try:
        asked = load(questions)
    except MuninnError as error:
        raise click.ClickException(str(error)) from error
    scores = run(vault, asked)
    if as_json:
        click.echo(json.dumps({"engines": [asdict(score) for score in scores]}))
        return
    count = len(asked.answerable)
    click.echo(f"{count} questions, {len(asked.unanswerable)} unanswerable ones; CPU ms a question, median")
    click.echo(f"{'engine':<10} {'top-1':>18} {'top-5':>18} {'MRR':>6} {'ms':>6}  unsure of unanswerable/answerable")
    for score in scores:
        first, five = (
            f"{value:4.0%} ({low:.0%}–{high:.0%})"
            for value, (low, high) in ((value, interval(value, count)) for value in (score.top1, score.top5))
        )
        flagged = f"{_share(score.flagged_unanswerable)}/{_share(score.flagged_answerable)}"
        click.echo(f"{score.engine:<10} {first:>18} {five:>18} {score.mrr:6.3f} {score.ms:6.1f}  {flagged}")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


if __name__ == "__main__":
    main()
