"""``muninn connect``: the configuration of an MCP client, printed or installed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from muninn.cli import tokens
from muninn.cli.options import as_json, places, plain, program, show_json
from muninn.connect import PRODUCTS, VARIABLE, Installation, Product, Way, around, install, plan, skill
from muninn.model.errors import SettingsError
from muninn.settings import Settings

_TOKEN: Final = re.compile(r"mnn_[A-Za-z0-9_-]{8,}")


@click.group()
def connect() -> None:
    """Print the configuration of an MCP client, or install it with --write.

    Nothing is written without --write: what would change is shown. The token is put into no client's file; where one
    is made here, it is kept in a file of mode 0600 in the home.
    """


def _command(product: Product) -> click.Command:
    def run(
        settings: Settings,
        url: str | None,
        client: str | None,
        token_file: str | None,
        write: bool,
        bridge: bool,
        allow_plain: bool,
        ca_file: str | None,
        as_json: bool,
        project: str | None = None,
        with_skill: bool = False,
    ) -> None:
        token = tokens.of(
            settings.places, client or product.name, named=client is not None, file=token_file, local=url is None
        )
        way = _way(settings, product, token, url, bridge, _more(product, bridge, allow_plain, ca_file))
        folder = None if project is None and product.place is not None else Path(project or ".")
        wanted = [plan(product, way, product.file(around(os.environ), folder), folder)]
        if with_skill:
            wanted.append(skill((folder or Path()) / ".claude/skills", folder))
        if write:
            tokens.make(settings.places, token)
            for one in wanted:
                if one.changes:
                    install(one)
        _say(product, way, token, wanted, written=write, in_json=as_json)

    options: list[Callable[[Any], Any]] = [
        click.option("--url", metavar="URL", help="the gateway's address; default: the one that serves the home"),
        click.option("--client", metavar="NAME", help=f"as which client of the gateway (default: {product.name})"),
        click.option("--token-file", metavar="FILE", help="where the client's token is kept"),
        click.option("--write", is_flag=True, help="install it; without, only show what would change"),
        click.option("--bridge", is_flag=True, help="start muninn bridge instead of speaking HTTP"),
        click.option("--allow-plain", is_flag=True, help="allow http to another machine: the token travels in clear"),
        click.option("--ca-file", metavar="FILE", help="with the bridge: trust certificates signed by this one, PEM"),
    ]
    if product.in_project is not None:
        where = "here" if product.place is None else "the file of every project"
        options.append(click.option("--project", metavar="DIR", help=f"the project's folder (default: {where})"))
    if product.name == "claude-code":
        options.append(click.option("--skill", "with_skill", is_flag=True, help="and the skill that teaches manners"))
    for option in reversed([*options, as_json, places]):
        run = option(run)
    kind = "started through muninn bridge" if product.over_http is None else "over HTTP"
    return click.command(name=product.name, help=f"Connect {product.title}, {kind}. Its format: {product.source}")(run)


for _product in PRODUCTS:
    connect.add_command(_command(_product))


@connect.command(name="skill", short_help="Install the skill for an agent.")
@click.option("--to", "folder", required=True, metavar="DIR", help="a folder of skills; the skill is DIR/muninn")
@click.option("--write", is_flag=True, help="install it; without, only show what would change")
@as_json
@places
def skill_(settings: Settings, folder: str, write: bool, as_json: bool) -> None:
    """Install the skill that teaches an agent how to work with the notes (Agent Skills, SKILL.md)."""
    wanted = skill(Path(folder))
    if write and wanted.changes:
        install(wanted)
    if as_json:
        show_json({"files": [_row(wanted, write)]})
    else:
        _show(wanted, write)


def _way(
    settings: Settings, product: Product, token: tokens.Token, url: str | None, bridge: bool, more: list[str]
) -> Way:
    from muninn.bridge import parse
    from muninn.cli import served

    found = parse(url or served.url(str(settings.places.home)), allow_plain="--allow-plain" in more)
    if isinstance(found, str):
        raise SettingsError(f"--url: {found}")
    if not bridge and product.over_http is not None:
        return Way(found.url)
    words = ("bridge", "--url", found.url, "--token-file", str(tokens.needed(token)), *more)
    return Way(found.url, (*program(), *words))


def _more(product: Product, bridge: bool, allow_plain: bool, ca_file: str | None) -> list[str]:
    """What a bridge is started with beside address and token. The client starts it elsewhere, so a path is whole."""
    more = ["--allow-plain"] if allow_plain else []
    if ca_file is None:
        return more
    if not bridge and product.over_http is not None:
        raise SettingsError(f"--ca-file is read by the bridge: give --bridge, or let {product.title} trust it itself")
    file = Path(ca_file).expanduser().absolute()
    if not file.is_file():
        raise SettingsError(f"--ca-file {file}: expected a certificate in PEM, and there is no file")
    return [*more, "--ca-file", str(file)]


def _say(
    product: Product, way: Way, token: tokens.Token, wanted: list[Installation], *, written: bool, in_json: bool
) -> None:
    to_do = not written and (token.word is not None or any(one.changes for one in wanted))
    kept = sorted({key for one in wanted for key in one.kept})
    steps = _steps(product, way, token, to_do, kept)
    if in_json:
        entry = {
            "client": token.client,
            "url": way.url,
            "server": product.entry(way),
            "bridge": way.command is not None,
        }
        secret = {"token_file": str(token.file) if token.file else None}
        show_json(entry | secret | {"files": [_row(one, written) for one in wanted], "next": steps})
        return
    for one in wanted:
        _show(one, written)
    for number, step in enumerate(steps, 1):
        click.echo(f"{number}. {plain(step)}")


def _steps(product: Product, way: Way, token: tokens.Token, to_do: bool, stays: list[str]) -> list[str]:
    """What is left to do, in order."""
    steps = []
    if to_do:
        made = f", and make the client {token.client} with its token in {token.file}" if token.word else ""
        steps.append(f"to install this{made}: the same command with --write")
    if stays:
        steps.append(f"the entry keeps {', '.join(stays)}, and they decide what is started or sent: look at them first")
    kept = f'"$(cat {shlex.quote(str(token.file))})"' if token.file else "its token"
    if way.command is None and product.inputs:
        where = f", kept in {token.file}" if token.file else ""
        steps.append(f"{product.title} asks for the token of {token.client}{where}, and keeps it in its own store")
    elif way.command is None:
        steps.append(f"in the shell that starts {product.title}: export {VARIABLE}={kept}")
    if token.file is None:
        rotate = f"muninn client rotate {token.client}, on the gateway's machine"
        steps.append(f"no token of {token.client} is kept here; a new one: {rotate}")
    if product.by_command is not None and way.command is None:
        steps.append(f"instead of the file, for yourself alone: {product.by_command.format(url=shlex.quote(way.url))}")
    return [*steps, product.after, "ask the agent to call status: the answer names the client and its rights"]


def _row(one: Installation, written: bool) -> dict[str, Any]:
    state = "unchanged" if not one.changes else "written" if written else "planned"
    kept = str(one.backup) if state == "written" and one.before is not None else None
    return {"file": str(one.file), "state": state, "diff": _diff(one), "backup": kept}


def _show(one: Installation, written: bool) -> None:
    row = _row(one, written)
    click.echo(plain(f"{row['file']}: {row['state']}" + (f" (before: {row['backup']})" if row["backup"] else "")))
    # The file may be another's, and its comments may hold what moves a cursor or turns a line around.
    for line in row["diff"].splitlines():
        click.echo(plain(line.replace("\t", "    ")))


def _diff(one: Installation) -> str:
    """What changes, with little around it: other servers' secrets may stand there. A token is not shown."""
    from muninn import diffs

    if not one.changes:
        return ""
    shown = diffs.unified(one.before or b"", one.after, one.file.name, context=1)
    return _TOKEN.sub("mnn_…", shown)
