"""The command line: one small module a group of commands, loaded when asked for. It wires and prints."""

from __future__ import annotations

import importlib
from typing import Final

import click

import muninn

_COMMANDS: Final = {
    "serve": ("serve", "start the gateway"),
    "client": ("client", "add, list, rotate and revoke clients"),
    "search": ("search", "search the notes"),
    "read": ("look", "read a note or a kept revision"),
    "history": ("look", "show who changed a path"),
    "undo": ("undo", "take back what a client, or somebody around the door, did"),
    "index": ("index", "rebuild, scan, or show the index"),
    "model": ("model", "add a model for vectors or close calls, or show what is there"),
    "adopt": ("adopt", "help the notes of an existing vault to meet the contract"),
    "lint": ("lint", "name what to look at again because its sources changed"),
    "canary": ("canary", "ask your own known-answer questions, and raise an alarm"),
    "doctor": ("doctor", "see whether all is well, without changing anything"),
    "ledger": ("ledger", "verify, show or export the ledger"),
    "backup": ("backup", "seal, push and prove copies; restore one"),
    "service": ("service", "keep the gateway running, from the login on"),
    "hook": ("hook", "what an agent's client runs at its events"),
    "connect": ("connect", "print or install the configuration of an MCP client"),
    "bridge": ("bridge", "stand between a client that speaks stdio alone and the gateway"),
    "demo": ("demo", "show the whole workflow on a sample vault"),
    "start": ("start", "make a first client, say how to connect, and serve"),
}


class _Lazy(click.Group):
    """A group that imports a command's module only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"muninn.cli.{_COMMANDS[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in _COMMANDS.items()])


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(muninn.__version__, prog_name="muninn")
def command() -> None:
    """Muninn: the door to a shared vault of Markdown notes.

    Exit status: 0 done; 1 refused, or something is wrong (said on stderr); 2 the command line is wrong.
    """
