"""``python -m eval``: how often the right note is found, by engine, on the bundled questions or any other set."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

import muninn
from eval import baseline, models, table
from eval.online import Door
from eval.questions import BUNDLED, Questions, load
from eval.run import ask, run
from eval.score import Sheet
from muninn.model.errors import MuninnError

SAMPLE: Final = Path(muninn.__file__).with_name("sample")


@click.command()
@click.option("--vault", type=click.Path(exists=True, file_okay=False, path_type=Path), help="default: the sample")
@click.option("--questions", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="default: the bundled")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
@click.option("--half", type=click.Choice(["dev", "test"]), help="only one half: choose on dev, report on test")
@click.option("--misses", is_flag=True, help="name every question whose right note did not come first")
@click.option("--url", help="ask a running door instead of an index made here")
@click.option("--token-stdin", is_flag=True, help="with --url: clients' tokens on standard input, one a line")
@click.option("--baseline", "kept", type=click.Path(dir_okay=False, path_type=Path), help="compare with this file")
@click.option("--write-baseline", is_flag=True, help="keep the figures instead of comparing them")
def main(
    vault: Path | None,
    questions: Path | None,
    as_json: bool,
    half: str | None,
    misses: bool,
    url: str | None,
    token_stdin: bool,
    kept: Path | None,
    write_baseline: bool,
) -> None:
    """Ask every engine the questions of a set, and print how often the right note is first, or among five.

    Without options it is the bundled set, compared with the committed baseline: a fall ends with exit status 1.
    """
    file = questions or BUNDLED
    is_bundled = vault is None and questions is None and url is None and half is None
    kept = kept or (baseline.KEPT if is_bundled else None)
    tokens = _tokens(token_stdin) if url else []
    try:
        asked = load(file)
        asked = asked if half is None else asked.half("dev" if half == "dev" else "test")
        sheets = _through_door(url, tokens, asked) if url else _here(vault or SAMPLE, asked)
        own = next((sheet for sheet in sheets if sheet.engine == baseline.ENGINE), sheets[-1])
        if write_baseline:
            baseline.write(kept or baseline.KEPT, own, file)
        fallen = [] if kept is None or write_baseline else baseline.falls(kept, own, file)
    except MuninnError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"engines": [asdict(sheet.score()) for sheet in sheets]}))
    else:
        _print(sheets, asked, own, by_client=url is not None, misses=misses)
    for fall in fallen:
        click.echo(f"below the baseline: {fall}", err=True)
    if fallen:
        sys.exit(1)


def _tokens(token_stdin: bool) -> list[str]:
    """The clients' tokens. They come on standard input alone: an argument would stand in the process list."""
    if not token_stdin:
        raise click.UsageError("--url needs --token-stdin: the client's token on standard input")
    tokens = [line.strip() for line in sys.stdin.read().splitlines() if line.strip()]
    if not tokens:
        raise click.UsageError("--token-stdin: expected a client's token on standard input, found nothing")
    return tokens


def _here(vault: Path, asked: Questions) -> list[Sheet]:
    """One sheet an engine, those with a model where the person has added one."""
    with models.makers(os.environ) as more:
        return run(vault, asked, more=more)


def _through_door(url: str, tokens: list[str], asked: Questions) -> list[Sheet]:
    """One sheet a token."""
    doors = [Door(url, token) for token in tokens]
    return [ask(door.client(), door.engine(), asked, time.perf_counter) for door in doors]


def _print(sheets: list[Sheet], asked: Questions, own: Sheet, *, by_client: bool, misses: bool) -> None:
    clock = "milliseconds on the clock" if by_client else "CPU ms"
    click.echo(
        f"{len(asked.answerable)} questions, {len(asked.unanswerable)} unanswerable ones; {clock} a question, median"
    )
    _lines(table.clients(sheets) if by_client else table.engines(sheets))
    for sheet in sheets if by_client else sheets[1:]:
        _lines(table.kinds(sheet))
    if misses:
        _lines(table.misses(own))


def _lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


if __name__ == "__main__":
    main()
