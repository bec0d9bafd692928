"""``muninn search``: quick enough for a hook on every prompt, so it imports no more than a search needs."""

from __future__ import annotations

import click

from muninn import searching
from muninn.answers import to_json
from muninn.cli.options import as_json, owner, places, private_too, refuse, show_json
from muninn.cli.progress import bar
from muninn.indexes import index_of, vault_root
from muninn.model.refusal import Refusal
from muninn.settings import Settings
from muninn.vault import Vault


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
    vault, index = Vault(vault_root(settings.places), None), index_of(settings)
    if index.age_s() is None:
        with bar("index", as_json) as progress:
            index.sweep(vault.walk, vault.look, progress=lambda done: progress(done, None))
    asked = searching.Asked(" ".join(words), limit, folder, type_, status, tags, since, until)
    found = searching.search(index, vault.look, vault.walk, owner(settings, private), asked)
    if isinstance(found, Refusal):
        refuse(found, as_json)
        return
    if as_json:
        show_json(to_json(found))
        return
    for hit in found.hits:
        click.echo(f"{click.style(hit.path, bold=True)}:{hit.start_line}  {hit.title}")
        click.echo("    " + " ".join(hit.snippet.split())[:200])
    if found.degraded:
        click.echo("the index could not answer, the files were scanned; muninn index rebuild makes it again", err=True)
    if found.query_note or not found.hits:
        click.echo(found.query_note or "no hits", err=True)
    chosen = (folder, type_, status, tags or None, since, until)
    if not found.hits and any(one is not None for one in chosen):
        click.echo("nothing fits the words and the options together; ask without the options", err=True)
