"""Bring one path from its bytes before to its bytes after, and look at what came out.

The new bytes go into a temp file beside the target and are flushed first. Then the two names are
exchanged, and what came out must be the revision the plan was made for; if somebody wrote around the door
in that instant the names are exchanged back and nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, replace

from muninn.model import seams
from muninn.model.change import Change
from muninn.model.content import MISSING, Basis, ContentHash, NotePath
from muninn.model.sight import Absent, Blocked

from . import exchange, temps
from .look import Opened, look, open_folder, spelled


@dataclass(frozen=True, slots=True)
class Placed:
    """The path holds the bytes of ``after``. ``aside`` is the file that was there, where it was to be held.

    ``lost`` names what the new file could not take over from it: owner, hard links, extended attributes.
    """

    aside: temps.Aside | None = None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drifted:
    """The path held neither ``before`` nor ``after``: it was left alone. ``content`` is what was found there.

    ``aside`` is a file of somebody else's that could not be put back: it goes once its bytes are kept.
    """

    found: Basis | None
    content: bytes | None = field(default=None, repr=False)
    aside: temps.Aside | None = None


Applied = Placed | Drifted


def apply(root: int, change: Change, content: bytes | None, hold: bool = False) -> Applied:
    """Carry out one change below the root's descriptor. Raises OSError with the path as it was before.

    ``hold`` leaves the file that was replaced or taken away under its temp name, for ``release`` to look at again.
    """
    folder = open_folder(root, change.path)
    if not isinstance(folder, Absent) or change.after is MISSING:
        return _apply_in(root, folder, change, content, hold)
    made: list[str] = []
    try:
        applied = _apply_in(root, _make_folders(root, change.path, made), change, content, hold)
    except OSError:
        _unmake_folders(root, made)
        raise
    if isinstance(applied, Drifted):
        _unmake_folders(root, made)
    return applied


def _apply_in(
    root: int, folder: Opened | Absent | Blocked, change: Change, content: bytes | None, hold: bool
) -> Applied:
    match folder:
        case Opened():
            pass
        case Absent():
            return Placed() if change.after is MISSING else Drifted(MISSING)
        case Blocked():
            return Drifted(None)
    try:
        place = _Place(root, folder, spelled(folder.descriptor, change.path.name) or change.path.name, change, hold)
        if change.after is MISSING:
            return _take_away(place)
        if content is None:
            raise ValueError(f"no bytes came along for {change.path}")
        return _put(place, content)
    finally:
        os.close(folder.descriptor)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a change happens: the opened folder, the name as spelled there, and whether to hold what comes out."""

    root: int
    opened: Opened
    name: str
    change: Change
    hold: bool

    @property
    def folder(self) -> int:
        return self.opened.descriptor

    def aside(self, temp: str, digest: ContentHash | None) -> temps.Aside:
        return temps.Aside(f"{self.opened.stored}/{temp}" if self.opened.stored else temp, digest)


def _put(place: _Place, content: bytes) -> Applied:
    folder, change = place.folder, place.change
    temp, lost = temps.write(folder, change, content, None if change.before is MISSING else place.name)
    try:
        seams.at("vault.exchange", change.path)
        if change.before is MISSING:
            exchange.rename_into_nothing(folder, temp, place.name)
            return Placed()
        if not exchange.exchange(folder, temp, place.name):
            return _check_then_rename(place, temp)
    except FileExistsError:
        temps.discard(folder, temp)
        return _drift(place.root, change.path)
    except FileNotFoundError:
        temps.discard(folder, temp)
        return Drifted(MISSING)
    except OSError:
        temps.discard(folder, temp)
        raise
    found = _look_at_what_came_out(place, temp)
    return replace(found, lost=lost) if lost and isinstance(found, Placed) else found


def _look_at_what_came_out(place: _Place, temp: str) -> Applied:
    """After the exchange the temp name holds what the path held: the plan's ``before``, or an outsider's bytes."""
    folder, change = place.folder, place.change
    came_out = temps.hash_of(folder, temp)
    if came_out == change.before or spelled(folder, temp) is None:
        return _set_aside(place, temp, came_out)
    # From here on the temp file may hold bytes nobody else has: it is removed only once it is known to be ours.
    with contextlib.suppress(FileNotFoundError):
        exchange.exchange(folder, temp, place.name)
    if temps.hash_of(folder, temp) == change.after:
        temps.discard(folder, temp)
        return _drift(place.root, change.path)
    return _strangers(place, temp)


def _check_then_rename(place: _Place, temp: str) -> Applied:
    """Where nothing can exchange: look, then rename. Leaves no temp file, and holds nothing."""
    if getattr(look(place.root, place.change.path), "hash", None) != place.change.before:
        temps.discard(place.folder, temp)
        return _drift(place.root, place.change.path)
    os.rename(temp, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    return Placed()


def _set_aside(place: _Place, temp: str, digest: ContentHash | None) -> Placed:
    """The plan's own old bytes: gone at once, or held for a while under the temp name."""
    if place.hold and digest is not None:
        return Placed(place.aside(temp, digest))
    temps.discard(place.folder, temp)
    return Placed()


def _strangers(place: _Place, temp: str) -> Drifted:
    """Somebody's file under our temp name, while something newer stands at the path: both survive."""
    content = temps.content_of(place.folder, temp)
    digest = None if content is None else ContentHash.of(content)
    return Drifted(digest, content, place.aside(temp, digest))


def _take_away(place: _Place) -> Applied:
    """Rename to a temp name, look, and remove; or rename back where the bytes are not those that were kept."""
    folder, change = place.folder, place.change
    temp = temps.new_name()
    seams.at("vault.exchange", change.path)
    try:
        exchange.rename_into_nothing(folder, place.name, temp)
    except FileNotFoundError:
        return Placed()
    came_out = temps.hash_of(folder, temp)
    if came_out == change.before:
        return _set_aside(place, temp, came_out)
    try:
        exchange.rename_into_nothing(folder, temp, place.name)
    except FileExistsError:
        return _strangers(place, temp)
    return _drift(place.root, change.path)


def _drift(root: int, path: NotePath) -> Drifted:
    found = look(root, path)
    match found:
        case Absent():
            return Drifted(MISSING)
        case _:
            content = getattr(found, "content", None)
            return Drifted(getattr(found, "hash", None), content)


def flush_folders(root: int, paths: list[NotePath]) -> None:
    """Flush the folder of each path, and the folders above it, each once: a new folder's name is durable, too."""
    flushed: set[str] = set()
    for path in paths:
        folder = open_folder(root, path)
        if not isinstance(folder, Opened):
            continue
        try:
            if folder.stored not in flushed:
                flushed.add(folder.stored)
                seams.at("vault.fsync_folder", path)
                temps.flush(folder.descriptor)
        finally:
            os.close(folder.descriptor)


def _make_folders(root: int, path: NotePath, made: list[str]) -> Opened | Absent | Blocked:
    """Make the folders that are missing on the way, and flush the ones that got a new name. ``made`` is told each."""
    descriptor = os.dup(root)
    try:
        for way, segment in zip(path.folders, path.split("/")[:-1], strict=True):
            name = spelled(descriptor, segment)
            if name is None:
                name = segment
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o777, dir_fd=descriptor)
                    made.append(way)
                    temps.flush(descriptor)
            try:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except NotADirectoryError:
                break
            os.close(descriptor)
            descriptor = inner
    finally:
        os.close(descriptor)
    return open_folder(root, path)


def _unmake_folders(root: int, made: list[str]) -> None:
    """Take the folders that a failed creation made out again, innermost first, as far as nobody put something in."""
    for folder in reversed(made):
        path = NotePath(folder)
        above = open_folder(root, path)
        if isinstance(above, Opened):
            try:
                with contextlib.suppress(OSError):
                    os.rmdir(path.name, dir_fd=above.descriptor)
            finally:
                os.close(above.descriptor)
