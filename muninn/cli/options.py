"""What the commands share: the places, the owner's rights, how errors end a command, and how answers are printed."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from muninn.model.errors import LedgerUnavailableError, MuninnError
from muninn.model.refusal import Refusal
from muninn.model.rights import SCOPES, Rights
from muninn.settings import Places, Settings, load

_Command = TypeVar("_Command", bound=Callable[..., Any])


def places(command: _Command) -> _Command:
    """Give a command ``--vault``, ``--home`` and ``--cache``, and hand it the Settings they come to.

    What breaks ends the command with its message and exit status 1.
    """

    @click.option("--vault", metavar="DIR", help="the vault's folder (MUNINN_VAULT)")
    @click.option("--home", metavar="DIR", help="ledger, clients and settings (MUNINN_HOME)")
    @click.option("--cache", metavar="DIR", help="the index (MUNINN_CACHE)")
    @functools.wraps(command)
    def with_places(vault: str | None, home: str | None, cache: str | None, **rest: Any) -> Any:
        settings: Settings | None = None
        try:
            settings = load(os.environ, vault, home, cache)
            return command(settings, **rest)
        except LedgerUnavailableError as error:
            fail(f"{error}; `muninn ledger verify` says what is wrong with it")
        except MuninnError as error:
            fail(str(error))
        except OSError as error:
            named = None if settings is None else _place_of(error, settings.places)
            if named is None:
                raise
            fail(f"the {named} cannot be used: {error.filename}: {error.strerror}; look at --{named} and its rights")

    return with_places  # type: ignore[return-value]


def _place_of(error: OSError, places: Places) -> str | None:
    """Which of home and cache an error is about; None where it is about neither, and so a bug."""
    if not isinstance(error.filename, str | os.PathLike):
        return None
    broken = Path(error.filename)
    for name, place in (("cache", places.cache), ("home", places.home)):
        if broken.is_relative_to(place) or place.is_relative_to(broken):
            return name
    return None


private_too = click.option("--private", is_flag=True, help="private notes as well")
as_json = click.option("--json", "as_json", is_flag=True, help="print one JSON object")


def owner(settings: Settings, private: bool) -> Rights:
    """The rights of the person at the machine; private notes only when asked for."""
    scopes = frozenset(SCOPES) if private else frozenset(SCOPES) - {"private"}
    return Rights(None, scopes, private_paths=settings.private)


def program() -> tuple[str, ...]:
    """How to start this Muninn again from anywhere, for files that name it: its script, else the interpreter.

    Never a bare ``python -m``, which would look into its folder first.
    """
    for script in (Path(sys.argv[0]).absolute(), Path(sys.executable).absolute().with_name("muninn")):
        if script.name == "muninn" and script.is_file():
            return (str(script),)
    return (sys.executable, "-P", "-m", "muninn")


def plain(text: str) -> str:
    r"""A text that can do nothing to a terminal: a file, and its name, may hold anything.

    >>> plain("a\x1b[2J\nb")
    'a\\u001b[2J\\u000ab'
    """
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in whole)


def need_ledger(settings: Settings) -> None:
    """End the command where the home has no ledger yet."""
    if not settings.places.ledger.exists():
        fail(f"there is no ledger in {settings.places.home}; it is made when the gateway first starts")


def fail(message: str) -> None:
    """End the command with a message on stderr and exit status 1."""
    click.echo(f"muninn: {plain(message)}", err=True)
    sys.exit(1)


def show_json(value: Any) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=None if not sys.stdout.isatty() else 2))


def refuse(refusal: Refusal, in_json: bool) -> None:
    """End the command with a refusal."""
    if in_json:
        show_json(
            {"error": {"code": refusal.code.value, "message": refusal.message, "changed": False, **refusal.details}}
        )
        sys.exit(1)
    fail(refusal.message)
