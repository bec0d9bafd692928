"""``muninn start``: make what is missing, say how to connect, and serve."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import resources
from pathlib import Path

import click

from muninn import clients
from muninn.cli.options import places
from muninn.cli.serve import Binding, gateway
from muninn.home import put
from muninn.indexes import vault_root
from muninn.settings import Places, Settings, load

FIRST_CLIENT = "first-agent"


def lay_out_sample(run: Path) -> Places:
    """A copy of the bundled sample vault with home and cache beside it, below ``run``. What is there stays."""
    found = Places((run / "vault").absolute(), (run / "home").absolute(), (run / "cache").absolute())
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    if found.vault is not None and not found.vault.exists():
        with resources.as_file(resources.files("muninn") / "sample") as sample:
            shutil.copytree(sample, found.vault)
    return found


def first_client(path: Path) -> str | None:
    """A first client where there is none yet; gives its token, None where there are clients."""
    known = clients.load(path)
    if known:
        return None
    token = clients.new_token()
    clients.save(path, clients.added(known, clients.make(FIRST_CLIENT, token)))
    return token


@click.command()
@click.option("--sample", metavar="DIR", help="use a copy of the sample vault, kept below this folder")
@click.option("--port", default=8460, show_default=True, type=click.IntRange(0, 65535))
@places
def start(settings: Settings, sample: str | None, port: int) -> None:
    """Make a first client where there is none, say how to connect, and serve."""
    if sample:
        found = lay_out_sample(Path(sample))
        settings = load(os.environ, str(found.vault), str(found.home), str(found.cache))
    vault_root(settings.places)
    token_file = Path(sample) / "token" if sample else None

    def announce(port: int) -> None:
        # Only now: a token that is shown for a gateway that then does not start would never be seen again.
        token = first_client(settings.places.clients)
        if token is not None and token_file is not None:
            put(token_file, token + "\n")
        elif token_file is not None and token_file.exists():
            token = token_file.read_text(encoding="utf-8").strip()
        _say_how_to_connect(port, token, token_file, settings)

    gateway(settings, Binding("127.0.0.1", port), announce)


def _say_how_to_connect(port: int, token: str | None, token_file: Path | None, settings: Settings) -> None:
    found = settings.places
    address = f"http://127.0.0.1:{port}/mcp"
    click.echo(f"Muninn    {address}")
    if settings.values["console"]:
        click.echo(f"Console   http://127.0.0.1:{port}/console (log in with a client's token)")
    click.echo(f"Vault     {found.vault}")
    if token is None:
        command = f"{sys.argv[0]} client rotate NAME --home {found.home}"
        click.echo(f"Token     was shown when the client was made; a new one: {command}")
        shown = "YOUR-TOKEN"
    else:
        kept = f" (kept in {token_file})" if token_file else " (shown once; keep it)"
        click.echo(f"Token     {token}{kept}")
        shown = token
    click.echo("Connect   any MCP client: streamable HTTP at the address, with the header")
    click.echo(f"          Authorization: Bearer {shown}")
    click.echo("          Claude Code:")
    click.echo(f'          claude mcp add --transport http muninn {address} --header "Authorization: Bearer {shown}"')
    click.echo(f"          or let it be done: {sys.argv[0]} connect --help (with --home {found.home})")
    click.echo("Stop      Ctrl-C\n")
