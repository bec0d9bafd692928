"""``muninn backup``: seal vault and ledger, push them, prove what arrived; bring a set back into an empty folder."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import backup as packing
from backup import schedule as scheduling
from backup.key import parse
from ledger import Ledger
from muninn.cli.options import as_json, fail, places, program, show_json
from muninn.cli.progress import Progress, bar
from muninn.model.errors import MuninnError, SettingsError
from muninn.settings import Settings
from muninn.vault import Vault


@click.group()
def backup() -> None:
    """Nightly sealed copies of vault and ledger in a private git repository, proven by restoring them.

    Exit status 1 where anything was not ok: what it was is said, and nothing is claimed.
    """


@backup.command()
@click.option("--remote", required=True, metavar="URL", help="a private git repository: ssh, https, or a folder")
@click.option("--key-stdin", is_flag=True, help="read a key that was written down before from standard input")
@as_json
@places
def init(settings: Settings, remote: str, key_stdin: bool, as_json: bool) -> None:
    """Bind this home to a repository, and make the key. It is printed this once: write it down.

    Without the key nobody can open the sets, you included. A repository with sets of another key is refused.
    """
    given = parse(sys.stdin.read()) if key_stdin else None
    done = packing.set_up(_places(settings), remote, given)
    told = {"remote": done.remote, "branch": done.branch, "fingerprint": done.fingerprint}
    if as_json:
        show_json(told | {"key": done.key, "sets": done.sets, "newest": done.newest})
        return
    held = f", which holds {done.sets} sets, the newest of {done.newest}" if done.sets else ""
    click.echo(f"backup to {done.remote}, branch {done.branch}{held}")
    if done.key is not None:
        click.echo("This is the key. It is printed this once. Write it down and keep it away from this machine:\n")
        click.echo(f"    {done.key}\n")
    if done.sets and not settings.places.ledger.exists():
        click.echo("next: muninn backup restore --to EMPTY_DIR, as docs/how-to/recover-from-a-backup.md goes on")
    else:
        click.echo("next: muninn backup run; then muninn backup schedule install")


@backup.command()
@click.option("--accept-shrink", is_flag=True, help="go on although over a fifth of the files is gone")
@click.option("--accept-ledger", is_flag=True, help="go on although the ledger does not go on from the last set's")
@click.option("--replace-remote", is_flag=True, help="put this machine's sets in place of what the remote holds")
@click.option("--keep-daily", default=30, show_default=True, type=click.IntRange(1), help="days that keep a set")
@click.option("--keep-monthly", default=12, show_default=True, type=click.IntRange(0), help="months that keep a set")
@as_json
@places
def run(
    settings: Settings,
    accept_shrink: bool,
    accept_ledger: bool,
    replace_remote: bool,
    keep_daily: int,
    keep_monthly: int,
    as_json: bool,
) -> None:
    """Seal, push, fetch back, restore, compare; only then `ok`. Also beside a running gateway.

    Sets beyond the days and months to keep leave the branch once the newest set is proven.
    """
    wish = packing.Wish(accept_shrink, accept_ledger, replace_remote, packing.Policy(keep_daily, keep_monthly))
    where = _places(settings)
    try:
        ran = packing.noted(where, lambda: _run(settings, where, wish, as_json))
    except MuninnError as error:
        if as_json:
            show_json({"ok": False, "reason": str(error)})
        fail(f"not ok: {error}")
        return
    left = [{"path": path, "reason": reason} for path, reason in ran.left_out]
    if as_json:
        show_json(
            {
                "ok": True,
                "set": ran.set,
                "counter": ran.counter,
                "files": ran.files,
                "folders": ran.folders,
                "bytes": ran.bytes,
                "sealed_bytes": ran.sealed,
                "left_out": left,
                "dropped": list(ran.dropped),
                "seconds": ran.seconds,
            }
        )
        return
    for one in left:
        click.echo(f"left out: {one['path']} ({one['reason']})", err=True)
    dropped = f", {len(ran.dropped)} old sets left" if ran.dropped else ""
    click.echo(f"ok {ran.files} files, {ran.bytes} bytes, set {ran.set}, {ran.sealed} bytes sent{dropped}")


def _run(settings: Settings, where: packing.Places, wish: packing.Wish, as_json: bool) -> packing.Ran:
    if settings.places.vault is None:
        raise SettingsError("no vault is named: give --vault DIR or MUNINN_VAULT")
    ledger = settings.places.ledger
    vault = Vault(settings.places.vault, Ledger(ledger).vault_id if ledger.exists() else None)
    return packing.run(where, vault, ledger, settings.places.ledger_key, wish, _stages(as_json))


@backup.command(short_help="Fetch what the remote holds, and open it all.")
@click.option("--all", "every", is_flag=True, help="restore every set, not the newest alone")
@as_json
@places
def verify(settings: Settings, every: bool, as_json: bool) -> None:
    """Fetch what the remote holds, open every object to its last byte, and restore the newest set."""
    found = packing.verify(_places(settings), every, _stages(as_json))
    sets = [{"set": name, "files": files} for name, files in found.sets]
    if as_json:
        show_json({"ok": not found.faults, "sets": sets, "faults": list(found.faults)})
    else:
        for one in sets:
            click.echo(f"ok {one['files']} files, set {one['set']}")
    if found.faults:
        fail("not ok: " + "; ".join(found.faults))


@backup.command("list")
@as_json
@places
def list_sets(settings: Settings, as_json: bool) -> None:
    """List the sets, oldest first."""
    head = packing.known_head(_places(settings))
    sets = [] if head is None else head.sets
    if as_json:
        rows = [{"set": s.id, "number": s.number, "at": s.at, "files": s.files, "bytes": s.bytes} for s in sets]
        rewrites = [] if head is None else head.rewrites
        told = [{"counter": r.counter, "at": r.at, "dropped": list(r.dropped), "why": r.why} for r in rewrites]
        show_json({"sets": rows, "rewrites": told})
        return
    for row in sets:
        click.echo(f"{row.number:>5} {row.id} {row.at} {row.files:>8} files {row.bytes:>12} bytes")


@backup.command(short_help="Bring a set back into an empty folder.")
@click.option("--to", "target", required=True, metavar="EMPTY_DIR", help="an empty or new folder outside the vault")
@click.option("--at", metavar="ID", help="the set, as `list` names it; the newest where not given")
@as_json
@places
def restore(settings: Settings, target: str, at: str | None, as_json: bool) -> None:
    """Bring a set back into an empty folder: EMPTY_DIR/vault and EMPTY_DIR/ledger.db. The live vault is not touched."""
    apart = [p for p in (settings.places.vault, settings.places.home, settings.places.cache) if p is not None]
    where = Path(target).expanduser().absolute()
    done = packing.restore(_places(settings), where, at, apart, _stages(as_json))
    if as_json:
        told = {"set": done.set, "at": done.at, "files": done.files}
        paths = {"vault": str(done.vault), "ledger": str(done.ledger)}
        show_json({"ok": True, **told, **paths, "damaged": list(done.damaged)})
    else:
        for fault in done.damaged:
            click.echo(f"elsewhere in the remote, not needed by this set: {fault}", err=True)
        click.echo(f"ok {done.files} files, set {done.set} of {done.at}, in {where}")


@backup.command(short_help="Show when the backup was last proven.")
@as_json
@places
def status(settings: Settings, as_json: bool) -> None:
    """Show when the backup was last proven, and how the last run ended.

    Exit status 1 where it is overdue, its key is not right, or the last run was not ok.
    """
    found = packing.status(_places(settings))
    if as_json:
        show_json(found)
    elif not found["set_up"]:
        click.echo("the backup is not set up; see muninn backup init --help")
    else:
        _say(found)
    if found["overdue"] or found.get("key_fault") or not (found.get("last_run") or {"ok": True}).get("ok"):
        sys.exit(1)


@backup.group(short_help="Run the backup every night, by a timer.")
def schedule() -> None:
    """Run the backup every night: a systemd user timer, or a launch agent on macOS."""


@schedule.command("install")
@click.option("--at", default="03:30", show_default=True, metavar="HH:MM", help="when, by this machine's clock")
@as_json
@places
def install_timer(settings: Settings, at: str, as_json: bool) -> None:
    """Set up the nightly run. What is missed while the machine sleeps is made up for."""
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", at):
        raise SettingsError(f"--at {at!r} is no time of day: expected HH:MM, as 03:30")
    packing.read_state(_places(settings))
    plan = _schedule(settings, at)
    files = [str(file) for file in scheduling.install(plan)]
    if as_json:
        show_json({"installed": True, "name": plan.name, "files": files})
    else:
        click.echo(f"every night at {at}: {plan.name}\n" + "\n".join(files))


@schedule.command("remove")
@as_json
@places
def remove_timer(settings: Settings, as_json: bool) -> None:
    """Take the nightly run away."""
    was_there = scheduling.remove(_schedule(settings, "03:30"))
    if as_json:
        show_json({"removed": was_there})
    else:
        click.echo("removed" if was_there else "there was none")


@schedule.command("status")
@as_json
@places
def timer_status(settings: Settings, as_json: bool) -> None:
    """Show whether the nightly run is set up. Exit status 1 where it is not."""
    found = scheduling.state(_schedule(settings, "03:30"))
    if as_json:
        show_json(asdict(found))
    else:
        state = "active" if found.active else "installed, but not active" if found.installed else "not installed"
        click.echo(f"{state}: {found.says}" if found.says else state)
    if not found.active:
        sys.exit(1)


def _schedule(settings: Settings, at: str) -> scheduling.Schedule:
    if settings.places.vault is None:
        raise SettingsError("no vault is named: give --vault DIR or MUNINN_VAULT")
    own = settings.places
    flags = ("--vault", str(own.vault), "--home", str(own.home), "--cache", str(own.cache))
    command = (*program(), "backup", "run", *flags)
    return scheduling.Schedule(own.home, command, at, sys.platform, os.environ)


def _say(found: dict[str, Any]) -> None:
    proven = (
        "never proven" if found["last_ok"] is None else f"proven {found['age_h']:.1f} h ago, {found['files']} files"
    )
    overdue = ", OVERDUE" if found["overdue"] else ""
    click.echo(f"backup to {found['remote']}: {proven}{overdue}")
    last = found["last_run"]
    if last is not None and not last.get("ok"):
        click.echo(f"the last run, {last.get('at')}, was not ok: {last.get('reason')}")
    if found["key_fault"]:
        click.echo(found["key_fault"], err=True)


def _places(settings: Settings) -> packing.Places:
    return packing.Places(settings.places.home, os.environ)


def _stages(quiet: bool) -> Callable[[str], AbstractContextManager[Progress]]:
    return lambda name: bar(name, quiet)
