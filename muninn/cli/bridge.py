"""``muninn bridge``: stdio to HTTP, for clients that can only start a program."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muninn.cli.served import PORT
from muninn.model.moments import now

if TYPE_CHECKING:
    import ssl

    from muninn.bridge import Address, TokenSource

# As long as the SDK's clients wait after they closed our input, before they send SIGTERM.
_GRACE_S: Final = 2.0
_URL: Final = f"the gateway's address; default: the one that serves the home, or port {PORT}"
_MOST_LINE: Final = 64 * 1024 * 1024


@click.command()
@click.option("--url", metavar="URL", help=_URL)
@click.option("--token-file", metavar="FILE", help="a file of mode 0600 with the token (else MUNINN_TOKEN)")
@click.option("--ca-file", metavar="FILE", help="trust certificates signed by this one, PEM, beside the system's")
@click.option("--allow-plain", is_flag=True, help="allow http to another machine: token and notes travel in clear")
@click.option("--home", metavar="DIR", help="whose running gateway to ask, without --url (MUNINN_HOME)")
def bridge(url: str | None, token_file: str | None, ca_file: str | None, allow_plain: bool, home: str | None) -> None:
    """Pass an MCP client's messages from standard input on to the gateway, and its answers back.

    One message a line. Ends with status 0 when standard input does, or when told to (SIGTERM, Ctrl-C). The client's
    rights are those of its token. On standard output stands nothing but the protocol; remarks are JSON lines on
    standard error.
    """
    from muninn.bridge import Relay
    from muninn.model.errors import SettingsError

    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: os._exit(0))
    try:
        address, token = _address(url or _served(home), allow_plain), _token(token_file)
        relay = Relay(address, token, _write, _log, _trust(address, ca_file))
    except SettingsError as error:
        click.echo(f"muninn: {error}", err=True)
        sys.exit(1)
    # A line that never ends is taken in pieces, none of which is a message.
    for line in iter(lambda: sys.stdin.buffer.readline(_MOST_LINE), b""):
        relay.take(line)
    # Whoever pipes a question in wants its answer; a client that has gone does not wait for a slow one.
    relay.end(_GRACE_S)
    os._exit(0)


def _served(home: str | None) -> str:
    """The address of the gateway that serves the home, as it is kept there; else the default one."""
    from muninn.cli import served

    return served.url(home)


def _address(url: str, allow_plain: bool) -> Address:
    from muninn.bridge import parse
    from muninn.model.errors import SettingsError

    found = parse(url, allow_plain=allow_plain)
    if isinstance(found, str):
        more = "; --allow-plain takes it all the same" if "in clear" in found else ""
        raise SettingsError(f"--url {url if '@' not in url else '…'}: {found}{more}")
    return found


def _token(file: str | None) -> TokenSource:
    from muninn.bridge import VARIABLE, TokenSource
    from muninn.model.errors import SettingsError

    given = os.environ.pop(VARIABLE, None)
    if file is not None:
        return TokenSource(Path(file).expanduser().absolute())
    if not given:
        step = "make a client with `muninn client add NAME` and keep what it prints in a file of mode 0600"
        raise SettingsError(f"no token: give --token-file or set {VARIABLE}; {step}")
    return TokenSource(given=given)


def _trust(address: Address, ca_file: str | None) -> ssl.SSLContext | None:
    """Which certificates count; None for plain HTTP. They are verified, always."""
    if not address.secure:
        return None
    import ssl

    from muninn.model.errors import SettingsError

    made = ssl.create_default_context()
    if ca_file is not None:
        try:
            made.load_verify_locations(ca_file)
        except OSError as error:  # ssl's own errors are OSErrors, too
            said = error.strerror or type(error).__name__
            raise SettingsError(f"--ca-file {ca_file}: expected a certificate in PEM ({said})") from error
    return made


_writing: Final = threading.Lock()


def _write(message: bytes) -> None:
    """A line to the client, whole. A client that hears nothing any more ends the bridge."""
    left = memoryview(message + b"\n")
    with _writing:
        try:
            while left:
                left = left[os.write(1, left) :]
        except OSError:
            os._exit(0)


def _log(text: str) -> None:
    # The fields of the gateway's own log (muninn.logs.FIELDS), whose package costs more to import than all of this.
    line = json.dumps({"at": now(), "level": "WARNING", "logger": "muninn.bridge", "message": text})
    with contextlib.suppress(OSError):
        os.write(2, line.encode() + b"\n")
