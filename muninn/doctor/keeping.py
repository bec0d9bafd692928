"""Checks of the home: settings, clients, who may read what, the backup, the canary, and the room that is left."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from muninn import canary as canaries
from muninn import clients as registered
from muninn.model.content import NotePath
from muninn.model.note import parse
from muninn.model.rights import Globs
from muninn.vault import read_lease

from .check import Finding, Named, fault, ok, skipped
from .installation import Installation, LackingError

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_BY_HAND: Final = frozenset({"muninn.toml", "canary.json"})
"""Files that the owner writes, with nothing secret in them: others may read them as far as the home lets them in."""
_NOWHERE: Final = Globs(())
_GITS: Final = frozenset({"repository.git", "work"})
_LEAST_BYTES: Final = 256 * 1024 * 1024


def settings(installation: Installation) -> Finding:
    """``muninn.toml``, the flags and the environment, as every command reads them."""
    if installation.asked.wrong is not None:
        return fault(
            installation.asked.wrong, "put it right; the checks below went on with what was named beside the file"
        )
    file = installation.places.home / "muninn.toml"
    places = f"home {installation.places.home}, cache {installation.places.cache}"
    return ok(f"{'muninn.toml was understood' if file.exists() else 'there is no muninn.toml: all defaults'}; {places}")


def contract(installation: Installation) -> Finding:
    """The contract in force: each rule takes its own good example and finds its bad one, with the owner's choices."""
    found = replace(installation.settings.contract(), private=_NOWHERE, exempt=_NOWHERE)
    where = NotePath("notes/example.md")
    wrong = []
    for rule in found.rules:
        good, bad = (found.judge(parse(where, text.encode())) for text in (rule.good, rule.bad))
        if good or rule.id not in {finding.rule for finding in bad}:
            wrong.append(rule.id)
    if wrong:
        what = f"rules that do not do what they say: {len(wrong)}"
        return fault(what, "look at [contract] in muninn.toml, and install Muninn anew", details=wrong)
    listed = ", ".join(rule.id for rule in found.rules)
    return ok(f"version {found.version}, {len(found.rules)} rules, each does what it says: {listed}")


def clients(installation: Installation) -> Finding:
    """``clients.toml``: who is let in."""
    found = registered.load(installation.places.clients)
    if not found:
        return fault("there is no client, so nobody is let in", "make one: muninn client add NAME")
    now = datetime.now(UTC)
    over = sorted(name for name, client in found.items() if client.is_expired(now))
    if len(over) == len(found):
        what = f"the time of every client is over: {', '.join(over)}"
        return fault(what, "revoke them, and make new ones: muninn client add NAME --expires DAYS")
    expired = f"; expired: {', '.join(over)}" if over else ""
    counted = "1 client" if len(found) == 1 else f"{len(found)} clients"
    return ok(f"{counted}, no token in clear, none twice{expired}")


def modes(installation: Installation) -> Finding:
    """The home and what is in it: its owner's alone."""
    home = installation.places.home
    if not home.exists():
        return skipped(f"there is no home yet at {home}")
    wrong = [Named(_shown(home, file), f"{mode:04o}") for file, mode in _open_to_others(home)]
    if not wrong:
        return ok("the home and what is in it are their owner's alone")
    step = "take the rights away: chmod -R go= HOME (and see who had them)"
    return fault(f"others may read or change what is in the home: {len(wrong)}", step, wrong)


def _open_to_others(home: Path) -> Iterator[tuple[Path, int]]:
    """The home and all in it, where others have rights they should not have. What git keeps for the backup is sealed,
    and lies in a folder that nobody else may enter."""
    folders = [home]
    while folders:
        folder = folders.pop()
        inside = sorted(folder.iterdir())
        folders += [inner for inner in inside if inner.is_dir() and not inner.is_symlink() and inner.name not in _GITS]
        for file in (folder, *(inner for inner in inside if inner.is_file())):
            try:
                mode = stat.S_IMODE(file.stat().st_mode)
            except FileNotFoundError:
                continue  # a side file of a gateway that ends meanwhile
            if mode & (_WRITE if file.name in _BY_HAND else _OTHERS):
                yield file, mode


def _shown(home: Path, file: Path) -> str:
    return "the home itself" if file == home else str(file.relative_to(home))


def keys(installation: Installation) -> Finding:
    """Keys and tokens that lie outside of the home: TLS's, and the reranker's."""
    named = installation.settings.values["rerank.token_file"]
    own = (installation.asked.tls_key, _of_the_gateway(installation), Path(named).expanduser() if named else None)
    files = sorted({file for file in own if file is not None})
    if not files:
        return skipped("none is known: --tls-key FILE looks at the key that the gateway is started with")
    modes = {file: stat.S_IMODE(file.stat().st_mode) for file in files}
    wrong = [Named(str(file), f"{mode:04o}") for file, mode in modes.items() if mode & _OTHERS]
    if wrong:
        return fault(f"others may read a key: {len(wrong)}", "chmod 600 FILE, and make a new key", wrong)
    return ok(f"{len(files)} outside of the home, their owner's alone", map(str, files))


def _of_the_gateway(installation: Installation) -> Path | None:
    """The key that the gateway here was started with, where the system tells (Linux) and there is one."""
    lease = read_lease(installation.places.lease)
    try:
        if lease is None or not installation.served:
            return None
    except LackingError:
        return None
    process = Path("/proc", str(lease.process))
    try:
        words = [os.fsdecode(word) for word in (process / "cmdline").read_bytes().split(b"\0")]
        where = (process / "cwd").readlink()
    except OSError:
        return None
    given = [after for word, after in pairwise(words) if word == "--tls-key"]
    given += [word.partition("=")[2] for word in words if word.startswith("--tls-key=")]
    return where / given[-1] if given else None


def backup(installation: Installation) -> Finding:
    """Whether one is set up, when one was last proven, and how the last run ended."""
    found = installation.asked.backup()
    if not found["set_up"]:
        return skipped("none is set up: muninn backup init --remote URL")
    last: Any = found["last_run"]
    faults = []
    if found["overdue"]:
        age = found["age_h"]
        faults.append("overdue: none was proven yet" if age is None else f"overdue: proven {age:.1f} h ago")
    if last is None and (installation.places.home / "backup" / "last-run.json").exists():
        faults.append("how the last run ended cannot be read")
    elif last is not None and not last.get("ok"):
        faults.append(f"the last run, {last.get('at')}, was not ok: {last.get('reason')}")
    if found["key_fault"]:
        faults.append(str(found["key_fault"]))
    if faults:
        return fault("; ".join(faults), "run `muninn backup run`; is `muninn backup schedule status` active?")
    if found["age_h"] is None:
        return skipped("it is set up, and none was proven yet: muninn backup run")
    return ok(f"proven {found['age_h']:.1f} h ago, {found['files']} files")


def canary(installation: Installation) -> Finding:
    """How the owner's own questions were answered last."""
    home = installation.places.home
    state = canaries.last(home)
    if state is None:
        if (home / canaries.STATE).exists():
            return fault(f"{canaries.STATE} cannot be read", "run `muninn canary run`")
        return skipped("no canary has run here: docs/how-to/keep-a-canary.md")
    if not state.ok:
        what = f"{len(state.failing)} of {state.asked} questions failed at {state.at}"
        return fault(what, "run `muninn canary run`, and look at the notes it names", details=state.failing)
    return ok(f"{state.asked} questions were answered at {state.at}")


def room(installation: Installation) -> Finding:
    """The room that is left where home, vault and cache lie."""
    places = installation.places
    short, told = [], []
    for name, place in (("home", places.home), ("vault", places.vault), ("cache", places.cache)):
        if place is None or (there := _nearest(place)) is None:
            continue
        free = shutil.disk_usage(there).free
        told.append(f"{name} {free >> 20} MiB")
        # A migration and a purge write the ledger once more.
        needed = max(_LEAST_BYTES, places.ledger.stat().st_size if name == "home" and places.ledger.exists() else 0)
        if free < needed:
            short.append(Named(str(place), f"{free >> 20} MiB left, {needed >> 20} are wanted"))
    if short:
        return fault("there is little room left", "make room: a full disk stops writes", short)
    return ok("room left: " + ", ".join(told))


def _nearest(place: Path) -> Path | None:
    """A folder that is there, on the way to one that may not be."""
    return next((folder for folder in (place, *place.parents) if folder.is_dir()), None)
