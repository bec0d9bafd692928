"""``muninn hook``: what an agent's client runs at its events. It fails open: whatever is wrong, the session goes on.

Exit status 2 would stop a prompt or a stop in Claude Code, and output that is no JSON would land in the context. So a
command for an event ends with 0 in any case, prints one whole object or nothing, and says on stderr why nothing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muninn.cli.options import fail, places, program
from muninn.settings import Settings

if TYPE_CHECKING:
    from muninn.hook.calling import Silence
    from muninn.hook.context import Context

_Say = Callable[..., "Context | Silence"]
"""What an event says: settings, rights and call in, an object to print or silence out."""
_Parsed = TypeVar("_Parsed")

DEADLINE_S: Final = 2.0
"""Of a whole event, from its first line here on."""
_CLIENT_WAITS_S: Final = 5
"""After which the agent's client gives up on a hook: only ever met where a machine is too busy to start Python."""
_PASSED_OVER: Final = 64 * 1024 * 1024
"""Bytes of an oversized object that are still taken in: a client that writes on would meet a closed pipe."""


class _Open(click.Command):
    """A command that fails open, and that ends when its time is over, whatever it is waiting for."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        done = threading.Event()
        threading.Thread(target=_end_in_time, args=(done,), name="hook-deadline", daemon=True).start()
        try:
            made = _forgiven(super().make_context, *given, **more)
        except BaseException:
            done.set()
            raise
        made.call_on_close(done.set)
        return made

    def invoke(self, ctx: click.Context) -> None:
        try:
            super().invoke(ctx)
        except SystemExit:
            # It was said already what is wrong with the places; for the session that is no reason to stop.
            return
        except Exception as error:  # the edge itself: a bug of ours must not stop somebody's work; it is named
            _say(f"broke: {type(error).__name__}")


class _Events(click.Group):
    """The group; an event that this version does not know is said, and stops nothing."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        return _forgiven(super().make_context, *given, **more)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return _forgiven(super().resolve_command, ctx, args)


def _forgiven(parse: Callable[..., _Parsed], *given: Any, **more: Any) -> _Parsed:
    """What a parser gives; a wrong command line is said, and ends with 0."""
    try:
        return parse(*given, **more)
    except click.UsageError as error:
        _say(error.format_message())
        raise click.exceptions.Exit(0) from error


def _end_in_time(done: threading.Event) -> None:
    if not done.wait(DEADLINE_S):
        _say(f"no answer within {DEADLINE_S:g} s")
        # Nothing is waited for any more, not even a disk that does not answer, and nothing half is printed.
        os._exit(0)


_client = click.option("--client", "name", required=True, metavar="NAME", help="the client whose rights count")


@click.group(cls=_Events)
def hook() -> None:
    """What an agent's client runs at its events: context for the agent, with the rights of one client.

    The commands of the events read the client's JSON object on standard input and print one JSON object or nothing.
    They end with exit status 0 within two seconds, whatever is wrong: that is said on stderr, and the session goes on.
    """


@hook.command("session-start", cls=_Open, short_help="What changed lately, and what is pending.")
@_client
@places
def session_start(settings: Settings, name: str) -> None:
    """The manners, what changed lately, what is pending, and whether a backup is overdue."""
    from muninn.hook.greeting import at_start

    _answer(settings, name, "session-start", at_start)


@hook.command(cls=_Open, short_help="The notes that bear on the prompt.")
@_client
@click.option("--notes", default=3, show_default=True, type=click.IntRange(1, 5), help="at most so many notes")
@places
def prompt(settings: Settings, name: str, notes: int) -> None:
    """The notes that bear on the prompt, as quotations; nothing where the search is not sure of any."""
    from muninn.hook.prompting import at_prompt

    _answer(settings, name, "prompt", functools.partial(at_prompt, notes=notes))


@hook.command(cls=_Open, short_help="What of this client's writes is pending.")
@_client
@click.option("--remind", is_flag=True, help="hold the agent's stop up, once, where writes of this client are pending")
@places
def stop(settings: Settings, name: str, remind: bool) -> None:
    """What of this client's writes is pending, told to the user; nothing where nothing is."""
    from muninn.hook.parting import at_stop

    _answer(settings, name, "stop", functools.partial(at_stop, remind=remind))


@hook.command("print", short_help="Print the lines for Claude Code.")
@_client
@places
def print_settings(settings: Settings, name: str) -> None:
    """Print the lines for Claude Code's settings.json, with this installation's command and places."""
    import shlex

    from muninn.hook.calling import EVENTS, Silence, rights_of
    from muninn.indexes import vault_root

    vault = vault_root(settings.places)
    rights = rights_of(settings, name)
    if isinstance(rights, Silence):
        fail(rights.why)
    own = settings.places
    flags = ("--client", name, "--vault", str(vault), "--home", str(own.home), "--cache", str(own.cache))
    rows = {
        shown: [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": shlex.join((*program(), "hook", event, *flags)),
                        "timeout": _CLIENT_WAITS_S,
                    }
                ]
            }
        ]
        for event, shown in EVENTS.items()
    }
    click.echo(json.dumps({"hooks": rows}, indent=2, ensure_ascii=False))


def _answer(settings: Settings, name: str, event: str, say: _Say) -> None:
    from muninn.hook.context import Context

    match _heard(settings, name, event, say):
        case Context(shown):
            _print(json.dumps(shown) + "\n")
        case silence:
            _say(silence.why)


def _heard(settings: Settings, name: str, event: str, say: _Say) -> Context | Silence:
    from muninn.hook.calling import Silence, called, rights_of

    call = called(_sent(), event)
    if isinstance(call, Silence):
        return call
    rights = rights_of(settings, name)
    return rights if isinstance(rights, Silence) else say(settings, rights, call)


def _sent() -> bytes:
    """What came on standard input, and of what is too long a little more than is read."""
    from muninn.hook.calling import MOST_BYTES

    if sys.stdin is None:
        return b""
    stream = sys.stdin.buffer
    sent, left = stream.read(MOST_BYTES + 1), _PASSED_OVER
    while len(sent) > MOST_BYTES and left > 0 and (more := stream.read(MOST_BYTES)):
        left -= len(more)
    return sent


def _print(text: str) -> None:
    """Print at once and whole. Where nobody takes it, nobody is told: Python would make an exit status of it."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _say(why: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(f"muninn hook: {why}", err=True)
