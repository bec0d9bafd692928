"""``muninn start``: make what is missing, say how to connect, and serve."""

from __future__ import annotations

import os
import shlex
import shutil
from importlib import resources
from pathlib import Path

import click

from muninn import clients
from muninn.cli.options import places, program
from muninn.cli.serve import Binding, gateway
from muninn.cli.served import PORT
from muninn.home import put
from muninn.indexes import vault_root
from muninn.model.listing import Entry
from muninn.settings import Places, Settings, load
from muninn.vault import Vault

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
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535))
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
            token = _still_good(token_file, settings.places.clients)
        _say_how_to_connect(port, token, token_file, settings)

    gateway(settings, Binding("127.0.0.1", port), announce)


def _still_good(file: Path, register: Path) -> str | None:
    """The token in the sample's file, None where no client has it any more."""
    token = file.read_text(encoding="utf-8").strip()
    return token if clients.digest_of(token) in {one.digest for one in clients.load(register).values()} else None


def _say_how_to_connect(port: int, token: str | None, token_file: Path | None, settings: Settings) -> None:
    """How to go on, in lines that can be copied into a terminal that stands in any folder."""
    found = settings.places
    root, home, script = vault_root(found), shlex.quote(str(found.home)), shlex.join(program())
    has_notes = any(isinstance(entry, Entry) and entry.kind == "note" for entry in Vault(root, None).walk())
    click.echo(f"Muninn    http://127.0.0.1:{port}/mcp")
    if settings.values["console"]:
        click.echo(f"Console   http://127.0.0.1:{port}/console (log in with a client's token)")
    click.echo(f"Vault     {root}{'' if has_notes else ' (no note is in it yet)'}")
    click.echo(f"Home      {found.home} (ledger, clients and settings; --home of other commands)")
    if token is None:
        click.echo(
            f"Token     was shown when the client was made; a new one: {script} client rotate NAME --home {home}"
        )
    else:
        click.echo(f"Token     {token} ({f'kept in {token_file}' if token_file else 'shown once; keep it'})")
    click.echo(f"Connect   {script} connect claude-code --home {home}")
    click.echo("          or cursor, codex, vscode, claude-desktop; it shows what would change, and --write does it.")
    click.echo("          Any other MCP client: streamable HTTP at the address, with the header")
    click.echo("          Authorization: Bearer and the token")
    click.echo("Stop      Ctrl-C\n")
