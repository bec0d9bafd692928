"""Checks of the vault: that it is this home's, and what in it no client reaches or no reader understands."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from index.fields import read as read_fields
from index.glimpse import Row
from muninn import clients as registered
from muninn.indexes import chosen, vault_root
from muninn.model.content import same_name
from muninn.model.errors import reason
from muninn.model.listing import LINK, Entry
from muninn.model.sight import File
from muninn.vault import mark_of

from .check import Finding, Named, fault, ok, skipped
from .installation import BROKEN, SETTLED_S, Installation

_TOLD_EVERY: Final = 200


def vault(installation: Installation) -> Finding:
    """Whether the root is there and carries the id that the ledger knows."""
    root = vault_root(installation.places)
    found = mark_of(root)
    try:
        standing = installation.standing
    except BROKEN:
        return fault(
            f"the vault at {root} carries the id {found}, and the ledger cannot be asked whether it is its own",
            "see ledger",
        )
    if standing is None:
        return skipped(f"the vault at {root} is there, and no ledger here knows it yet: start the gateway once")
    expected = standing.vault_id
    if found is None:
        what = f"the vault at {root} carries no .muninn-vault: it is suddenly empty, or another folder"
        step = f"mount the right one; if it is the right one, write the id {expected} into .muninn-vault"
        return fault(what, step)
    if found != expected:
        what = f"the vault at {root} has the id {found}, and this home belongs to the vault {expected}"
        return fault(what, "name the right --vault, or give this vault a home of its own")
    notes = len(installation.survey.notes)
    return ok(f"{root}, id {found}, {notes} notes")


def links(installation: Installation) -> Finding:
    """Symbolic links below the root."""
    found = [one.path for one in installation.survey.faults if one.reason == LINK]
    if not found:
        return ok("no symbolic link below the root")
    step = "put what they lead to in their place, or take them out of the vault"
    return fault(f"symbolic links below the root are followed by nobody: {len(found)}", step, found)


def unreachable(installation: Installation) -> Finding:
    """Names and files that no client can reach."""
    found = [Named(one.path, one.reason) for one in installation.survey.faults if one.reason != LINK]
    if not found:
        return ok("every other name can be reached through the door")
    step = "rename them, make them readable for whoever runs the gateway, or take them out"
    return fault(f"no client reaches these: {len(found)}", step, found)


def writable(installation: Installation) -> Finding:
    """Folders that this user may not write into, where there is a client that may: each of its writes would fail."""
    try:
        found = registered.load(installation.places.clients).values()
    except BROKEN:
        return skipped("who may write is not known: see clients")
    folders = [entry.stored for entry in installation.survey.entries if entry.kind == "folder"]
    if not any(client.scopes & {"write", "archive"} for client in found):
        return skipped("no client may write")
    shut = [name for name in ("", *folders) if not os.access(installation.root / name, os.W_OK | os.X_OK)]
    if not shut:
        return ok(f"whoever runs this may write into the root and {len(folders)} folders")
    step = "let the user who runs the gateway write there, or give the clients the scope read alone"
    what = f"folders that cannot be written into, so no note there can change: {len(shut)}"
    return fault(what, step, [_printable(name) or "." for name in shut])


def names(installation: Installation) -> Finding:
    """Names that only case or Unicode form tells apart; those not in NFC are named, and are well."""
    groups: dict[str, set[str]] = defaultdict(set)
    for entry in installation.survey.entries:
        groups[same_name(entry.path)].add(entry.stored)
    twins = sorted(name for group in groups.values() if len(group) > 1 for name in group)
    if twins:
        what = f"names that only case or Unicode form tells apart: {len(twins)}"
        return fault(what, "rename all but one of each: a reader may get the other one", map(_printable, twins))
    odd = sorted(entry.stored for entry in installation.survey.entries if entry.stored != entry.path)
    if odd:
        return ok(f"no twins; names that are stored otherwise than in NFC, and are read all the same: {len(odd)}", odd)
    return ok("no twins, and every name is in NFC")


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def notes(installation: Installation) -> Finding:
    """Notes whose frontmatter cannot be understood, and notes that cannot be read, each with the reason."""
    found = list(_faulty(installation))
    if not found:
        return ok(f"every one of {len(installation.survey.notes)} notes was read and understood")
    step = "put them right in an editor; until then they are found by their text alone"
    return fault(f"notes that cannot be read or understood: {len(found)}", step, found)


def _faulty(installation: Installation) -> Iterator[Named]:
    known = _known(installation)
    total = len(installation.survey.notes)
    with installation.stage("read") as progress:
        for number, entry in enumerate(installation.survey.notes):
            if number % _TOLD_EVERY == 0:
                progress(number, total)
            row = known.get(entry.path)
            if row is not None and entry.stamp is not None and row.stamp == entry.stamp.number:
                why = row.fault
            else:
                why = _read(installation, entry)
            if why is not None:
                yield Named(entry.path, why)


def _known(installation: Installation) -> Mapping[str, Row]:
    """What the index knows of the notes, so that not every file is read again; nothing where it cannot be asked."""
    try:
        return {path: row for shelf in installation.shelves if shelf is not None for path, row in shelf.notes.items()}
    except BROKEN:
        return {}


def _read(installation: Installation, entry: Entry) -> str | None:
    """What is wrong with a note, by its file."""
    try:
        sight = installation.vault.look(entry.path)
    except OSError as error:
        return f"it cannot be read ({reason(error)})"
    if not isinstance(sight, File):
        return None
    own = chosen(installation.settings)
    return read_fields(entry.path, sight.content, sight.hash, sight.mtime_ns, own).fault


def leftovers(installation: Installation) -> Finding:
    """Temp files that a crash left in vault and home."""
    names = [name for name, _ in installation.vault.sweep_leftovers(installation.survey.folders)]
    old = sorted(name for name in names if _age_s(installation.root / name) > SETTLED_S)
    old += sorted(
        f"{file.parent.name}/{file.name}"
        for file in (*installation.places.home.glob("*.tmp"), *installation.places.home.glob("backup/*.tmp"))
        if _age_s(file) > SETTLED_S
    )
    if not old:
        return ok("no temp file is left over")
    step = (
        "start the gateway again: it keeps the bytes of those beside the last writes and removes them; look at the "
        "others, and remove them by hand"
    )
    return fault(f"temp files that a crash left: {len(old)}", step, old)


def _age_s(file: os.PathLike[str]) -> float:
    """Seconds since a file got its name or was written; 0 for one that is gone meanwhile."""
    try:
        return time.time() - os.lstat(file).st_ctime
    except FileNotFoundError:
        return 0.0


def exchange(installation: Installation) -> Finding:
    """Whether two names can be exchanged in one step where the vault lies."""
    if installation.vault.can_exchange():
        return ok("names are exchanged in one step here")
    return ok("names cannot be exchanged in one step on this file system: a write looks first, and then renames")
