"""``muninn canary``: the owner's own questions, asked of the live vault on a schedule."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from muninn import canary as canaries
from muninn.cli.options import as_json, fail, owner, places, private_too, show_json
from muninn.cli.progress import bar
from muninn.indexes import index_of, vault_root
from muninn.settings import Settings
from muninn.vault import Vault


@click.group()
def canary() -> None:
    """Ask questions whose right notes you know, and raise an alarm where one is not found any more."""


@canary.command(short_help="Ask every question of canary.json.")
@private_too
@as_json
@places
def run(settings: Settings, private: bool, as_json: bool) -> None:
    """Ask every question of canary.json in the home, also beside a gateway.

    Exit status 1, and the question named, where a right note is not among the first five hits or the index could not be
    asked.
    """
    asked = canaries.questions(settings.places.home)
    vault, index = Vault(vault_root(settings.places), None), index_of(settings)
    if not (settings.places.cache / "index.db").exists():
        # One that is there and broken is not mended here: that is what a canary is for.
        with bar("index", as_json) as progress:
            index.sweep(vault.walk, vault.look, progress=lambda done: progress(done, None))
    total = len(asked.all)
    with bar("ask", as_json) as progress:
        ended = canaries.run(
            asked, index, vault.look, vault.walk, owner(settings, private), lambda done: progress(done, total)
        )
    try:
        state = canaries.keep(settings.places.home, ended)
    except OSError as error:
        fail(
            f"{len(ended.failing)} failing, and how it ended cannot be kept in {settings.places.home}: {error.strerror}"
        )
        return
    if as_json:
        rows = [asdict(one) for one in ended.failing]
        show_json({**asdict(state), "ok": ended.ok, "failing": rows, "sure_of_unanswerable": list(ended.sure)})
    else:
        for one in ended.failing:
            click.echo(f"{one.id}: {one.why}\n    {one.q}\n    {', '.join(one.path)}")
        since = f"; last ok {state.last_ok or 'never'}" if not ended.ok else ""
        click.echo(f"{ended.asked} questions, {len(ended.failing)} failing{since}", err=True)
    if not ended.ok:
        sys.exit(1)


@canary.command()
@as_json
@places
def status(settings: Settings, as_json: bool) -> None:
    """Show how the last run ended, without asking. Exit status 1 where it failed, or where there was none."""
    state = canaries.last(settings.places.home)
    if state is None:
        if as_json:
            show_json({"ok": None, "at": None, "last_ok": None, "asked": 0, "failing": []})
            sys.exit(1)
        fail("no canary has run here yet: muninn canary run")
        return
    if as_json:
        show_json(asdict(state))
    else:
        how = "ok" if state.ok else f"failing: {', '.join(state.failing)}"
        click.echo(f"{state.at}  {how}  ({state.asked} questions, last ok {state.last_ok or 'never'})")
    if not state.ok:
        sys.exit(1)
