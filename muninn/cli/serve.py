"""``muninn serve``: the gateway as a process."""

from __future__ import annotations

import functools
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muninn import clients, opening, writing
from muninn.cli.options import places
from muninn.cli.served import PORT
from muninn.door import Door
from muninn.model.errors import LedgerUnavailableError, MuninnError, SettingsError, VaultUnavailableError
from muninn.settings import Settings
from muninn.vault import GatewayLock

if TYPE_CHECKING:
    from muninn.auth import SideDoor

log = logging.getLogger("muninn.serve")

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FURTHER = "a further name it is served under"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""The hosts that stand for every address of a machine, and where it reaches itself."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a gateway listens, under which further names, and who does TLS. Port 0 takes any free one."""

    host: str
    port: int
    allowed: tuple[str, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    console: bool = True

    def url(self, port: int) -> str:
        """Where this machine reaches what listens so on a port, without a path."""
        host = _EVERYWHERE.get(self.host, self.host)
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls_cert else 'http'}://{shown}:{port}"


def bound(least_port: int) -> Callable[[_Command], _Command]:
    """Give a command the flags of a binding, and hand it the ``binding`` they come to; port 0 may be no choice."""

    def decorated(command: _Command) -> _Command:
        @click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on")
        @click.option("--port", default=PORT, show_default=True, type=click.IntRange(least_port, 65535))
        @click.option("--allow-host", "allowed", multiple=True, metavar="NAME", help=_FURTHER)
        @click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="certificate chain, PEM")
        @click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="its private key, PEM")
        @click.option("--behind-proxy", is_flag=True, help="a proxy before this gateway does TLS")
        @functools.wraps(command)
        def with_binding(
            host: str,
            port: int,
            allowed: tuple[str, ...],
            tls_cert: str | None,
            tls_key: str | None,
            behind_proxy: bool,
            **rest: Any,
        ) -> Any:
            return command(binding=Binding(host, port, allowed, tls_cert, tls_key, behind_proxy), **rest)

        return with_binding  # type: ignore[return-value]

    return decorated


@click.command()
@bound(0)
@click.option("--no-console", is_flag=True, help="serve no web console (the setting console = false does the same)")
@places
def serve(settings: Settings, binding: Binding, no_console: bool) -> None:
    """Start the gateway on a vault, and serve until it is told to stop (SIGTERM or Ctrl-C)."""
    gateway(settings, replace(binding, console=not no_console))


def gateway(settings: Settings, binding: Binding, announce: Callable[[int], None] | None = None) -> None:
    """Serve until told to stop. ``announce`` gets the port once vault, lock and address are held, before any call.

    Raises SettingsError for a binding that cannot be and, without ``announce``, where there is no client yet;
    MuninnError where vault or address cannot be had.
    """
    from muninn import logs

    check_binding(binding)
    logs.start(os.environ.get("MUNINN_LOG_LEVEL", "info"))
    if announce is None and not clients.load(settings.places.clients):
        home = settings.places.home
        raise SettingsError(f"there is no client yet; make one first with: muninn client add NAME --home {home}")
    door = opening.for_serving(settings)
    with _locked(settings, door, binding.port) as lock:
        listening = _listen(binding.host, binding.port)
        port = int(listening.getsockname()[1])
        lock.note(port)
        if announce is not None:
            announce(port)
        _play_what_a_crash_left(door)
        _run(settings, door, listening, binding)


def _run(settings: Settings, door: Door, listening: socket.socket, binding: Binding) -> None:
    import uvicorn

    from muninn import app, patience

    port = int(listening.getsockname()[1])
    register = clients.Register(settings.places.clients)
    front = app.Front(
        register,
        app.host_names(binding.host, binding.allowed),
        settings.values["rate_per_s"],
        settings.values["rate_burst"],
    )
    has_console = binding.console and settings.values["console"]
    _raise_file_limit()
    config = uvicorn.Config(
        app.build(
            door,
            front,
            port,
            baseline=settings.values["baseline"],
            console=functools.partial(_console, door, register, binding, port) if has_console else None,
        ),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        http=patience.protocol(),
        ssl_certfile=binding.tls_cert,
        ssl_keyfile=binding.tls_key,
    )
    try:
        config.load()
    except OSError as error:  # ssl's own errors are OSErrors, too
        raise SettingsError(
            f"expected a certificate chain and its private key in PEM; {binding.tls_cert} and {binding.tls_key} do not "
            f"load ({error.strerror or error}): look at --tls-cert and --tls-key"
        ) from error
    # uvicorn raises the signal it was stopped by once more when it is done; by then there is nothing left to stop.
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: None)
    more = "health at /health, console at /console" if has_console else "health at /health"
    click.echo(f"muninn: serving the vault at {_address(binding, port)} ({more})")
    uvicorn.Server(config).run(sockets=[listening])


def _console(door: Door, register: clients.Register, binding: Binding, port: int) -> SideDoor:
    from muninn import web

    return web.console(door, register, port=port, behind_proxy=binding.behind_proxy)


def _address(binding: Binding, port: int) -> str:
    if binding.host in _EVERYWHERE:
        return f"every address of this machine, port {port}"
    return f"{binding.url(port)}/mcp"


@contextmanager
def _locked(settings: Settings, door: Door, port: int) -> Iterator[GatewayLock]:
    """The vault's one gateway. Taken before anything else, so that a second one can name the first."""
    lock = GatewayLock(door.vault.root, settings.places.lease)
    lock.take(port)
    try:
        yield lock
    finally:
        lock.release()


def _play_what_a_crash_left(door: Door) -> None:
    try:
        for entry in writing.recover_all(door):
            log.warning("a plan left by a crash", extra={"pending_id": entry.terms.pending_id, "state": entry.state})
    except (LedgerUnavailableError, VaultUnavailableError) as error:
        log.error("what a crash left could not be played; writes stop", extra={"reason": str(error)})


def check_binding(binding: Binding) -> None:
    """Refuse, with SettingsError, a binding over which tokens would travel in clear, and half a certificate."""
    if (binding.tls_cert is None) != (binding.tls_key is None):
        raise SettingsError("--tls-cert and --tls-key belong together; give both or none")
    loopback = binding.host in ("127.0.0.1", "::1", "localhost")
    if not loopback and binding.tls_cert is None and not binding.behind_proxy:
        raise SettingsError(
            f"--host {binding.host} is not loopback: tokens would travel in clear. Give --tls-cert and --tls-key, or "
            "say --behind-proxy if a proxy before this gateway does TLS"
        )


def _listen(host: str, port: int) -> socket.socket:
    """The listening socket, made before anything else so that a taken port is said plainly."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise MuninnError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another --port (with make: PORT=N)"
        ) from error
    listening.set_inheritable(False)
    return listening


def _raise_file_limit() -> None:
    """As many open files as the system allows, so that idle connections do not take what a write needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
