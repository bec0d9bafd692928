"""Measures of the index: scan, build, size, update; those of search follow on the same index."""

from __future__ import annotations

from collections.abc import Iterator
from shutil import rmtree
from typing import Final

from index import Index, IndexSettings
from muninn.door import Door
from muninn.model.content import NotePath

from . import asking, bare
from .gates import LARGE, Row, Skipped, row
from .place import Place
from .timing import Effort, in_turn

_CHANGED: Final = 10


def measure(place: Place, door: Door, effort: Effort) -> Iterator[Row | Skipped]:
    """All of them; leaves the door's index ready."""
    table = bare.Table.make(place.folder / "bare.db")
    yield _build(place, door, table, effort)
    door.index.sweep(door.vault.walk, door.vault.look)
    yield _size(place, door)
    yield _rescan(place, door, effort)
    yield _rescan_changed(place, door, table, effort)
    yield _update(place, door, table, effort)
    yield from asking.measure(place, door, table, effort)
    table.connection.close()


def _build(place: Place, door: Door, last: bare.Table, effort: Effort) -> Row:
    """Each round begins with an empty folder and nothing remembered of any word. ``last`` is left filled."""
    scratch = place.folder / "scratch"

    def build(_: int) -> None:
        rmtree(scratch, ignore_errors=True)
        index = Index(scratch, door.contract.private.cover, IndexSettings(folder_page=door.contract.folder_page))
        index.sweep(door.vault.walk, door.vault.look)
        index.close()

    def insert(_: int) -> None:
        table = bare.Table.make(place.folder / "bare-scratch.db")
        table.fill(place.root, place.notes)
        table.connection.close()

    pair = in_turn(build, insert, effort.rounds if len(place.notes) < LARGE else 1)
    last.fill(place.root, place.notes)
    return row("P4", *pair.medians())


def _size(place: Place, door: Door) -> Row:
    door.index.close()
    size = sum(file.stat().st_size for file in place.cache.iterdir() if ".db" in file.name)
    return row("P5", size, place.text)


def _rescan(place: Place, door: Door, effort: Effort) -> Row:
    door.index.sweep(door.vault.walk, door.vault.look)
    swept = []
    pair = in_turn(
        lambda _: swept.append(door.index.sweep(door.vault.walk, door.vault.look)),
        lambda _: bare.walk(str(place.root)),
        2 * effort.rounds + 1,
    )
    again = max(sweep.changed for sweep in swept)
    return row("P1", *pair.medians(), "" if not again else f"{again} notes were read again")


def _rescan_changed(place: Place, door: Door, table: bare.Table, effort: Effort) -> Row:
    paths = place.own_notes()[:_CHANGED]
    numbers = [place.notes.index(path) + 1 for path in paths]
    texts = [(place.root / path).read_bytes() for path in paths]

    def replaced(number: int) -> None:
        bare.walk(str(place.root))
        for at, text in zip(numbers, texts, strict=True):
            table.replace(at, _grown(text, number))

    def written(number: int) -> None:
        for path, text in zip(paths, texts, strict=True):
            (place.root / path).write_bytes(_grown(text, number))

    pair = in_turn(
        lambda _: door.index.sweep(door.vault.walk, door.vault.look), replaced, effort.rounds, prepare=written
    )
    return row("P3", *pair.medians())


def _update(place: Place, door: Door, table: bare.Table, effort: Effort) -> Row:
    """The file is written before the clock starts; measured is what a write does for the index."""
    paths = place.own_notes()[_CHANGED:]
    texts = [(place.root / path).read_bytes() for path in paths]
    numbers = [place.notes.index(path) + 1 for path in paths]

    def written(number: int) -> None:
        at = number % len(paths)
        (place.root / paths[at]).write_bytes(_grown(texts[at], number))

    def nudged(number: int) -> None:
        door.index.nudge([NotePath(paths[number % len(paths)])], door.vault.look)

    def replaced(number: int) -> None:
        at = number % len(paths)
        table.replace(numbers[at], _grown(texts[at], number))

    return row("update", *in_turn(nudged, replaced, 8 * effort.rounds, prepare=written).medians())


def _grown(text: bytes, number: int) -> bytes:
    return text + f"Once more, round {number}.\n".encode()
