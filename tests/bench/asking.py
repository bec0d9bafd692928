"""Measures of search: beside bare SQL, beside its own worst and its own best, during a rescan, and without an index."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from index import Filters, fallback
from index.settings import Walk
from muninn.door import Door
from muninn.model.content import NotePath
from muninn.searching import MOST_HITS

from . import bare, laying
from . import place as places
from .gates import LARGE, Row, Skipped, row
from .place import Place, call, nasty, questions
from .timing import CPU, WALL, Clock, Effort, once, over, percentile

_SMALL: Final = 5_000
"""Notes of the vault that growth is measured from."""
_SCANNED: Final = 6
"""Questions answered without an index."""
_WORD: Final = re.compile(r"\w+")

Ask = Callable[[str], object]


def measure(place: Place, door: Door, table: bare.Table, effort: Effort) -> Iterator[Row | Skipped]:
    """P2, P6 to P9, P23."""
    ask = partial(_ask, place, door)
    asked = questions(place, effort.questions)
    normal = over(asked, ask, table.best, effort.rounds)
    p50, p95 = percentile(normal.subject, 0.5), percentile(normal.subject, 0.95)
    yield row("P6", p95, percentile(normal.anchor, 0.95), f"p50 {p50 * 1000:.2f} ms")
    naive = over(asked, lambda _: None, table.every_word, 1)
    yield row("P7", p95, percentile(naive.anchor, 0.95))
    hard = nasty(table.common_words(100))
    times = over(list(hard.values()), ask, lambda _: None, effort.rounds).subject
    worst = max(range(len(times)), key=times.__getitem__)
    yield row("P8", times[worst], p95, f"worst: {list(hard)[worst]}")
    yield _growth(place, effort, p95)
    yield _during_scans(door, ask, asked, effort)
    yield _without_index(place, door, asked)


def _ask(place: Place, door: Door, question: str) -> object:
    found = call(door, place.rights(), "search", {"query": question})
    if found.degraded:
        raise ValueError("the search was degraded: the index was not ready")
    return found


def _growth(place: Place, effort: Effort, p95: float) -> Row | Skipped:
    """The same questions' cost in a vault of 5,000 notes, made for this."""
    if len(place.notes) < LARGE:
        return Skipped(row("P9", 0, None).gate, f"growth is measured from {LARGE} notes on (--notes)")
    folder = place.folder / "small"
    folder.mkdir()
    small = places.make(folder, _SMALL, None)
    door = small.door()
    try:
        door.index.sweep(door.vault.walk, door.vault.look)
        pair = over(questions(small, effort.questions), partial(_ask, small, door), lambda _: None, effort.rounds)
    finally:
        door.index.close()
        door.ledger.close()
    return row("P9", p95, percentile(pair.subject, 0.95))


def _during_scans(door: Door, ask: Ask, asked: list[str], effort: Effort) -> Row:
    """Wall time of a call while scans follow one another without a pause, and of the same call without."""
    stop, scan = threading.Event(), threading.Event()

    def scans() -> None:
        while not stop.is_set():
            if scan.wait(0.05):
                door.index.sweep(door.vault.walk, door.vault.look, gently=True)

    thread = threading.Thread(target=scans)
    thread.start()
    times: dict[bool, list[float]] = {True: [], False: []}
    try:
        for number in range(2 * effort.rounds):
            busy = number % 2 == 1
            (scan.set if busy else scan.clear)()
            # What a scan began, it ends: the calls without one wait for that.
            with door.index._sweeping if not busy else threading.Lock():
                times[busy] += [once(partial(ask, question), WALL) for question in asked]
    finally:
        stop.set()
        scan.set()
        thread.join()
    return row("P2", percentile(times[True], 0.95), percentile(times[False], 0.95), "scans without a pause between")


def _without_index(place: Place, door: Door, asked: list[str]) -> Row:
    """Every note read and ranked, by the fallback and by a bare loop; then once with the usual limit of time."""
    index, whole = door.index, replace(door.index.settings, degraded_scan_s=3_600.0)
    sees = place.rights().sees

    def scanned(question: str, clock: Clock) -> tuple[float, bool]:
        ends: list[bool] = []
        settings = whole if clock is CPU else index.settings

        def scan() -> None:
            walk: Walk = door.vault.walk
            read = index.read(question)
            found = fallback.scan(walk, door.vault.look, read, Filters(), sees, settings, index.lexicon, MOST_HITS)
            ends.append(found.whole)

        return once(scan, clock), ends[0]

    few = asked[:_SCANNED] if len(place.notes) < LARGE else asked[:2]
    pairs = [(scanned(one, CPU)[0], once(partial(_bare_scan, place.root, place.notes, one))) for one in few]
    pairs.sort(key=lambda pair: pair[0] / pair[1])
    seconds, ended = scanned(asked[0], WALL)
    limit = index.settings.degraded_scan_s
    told = f"whole in {seconds:.1f} s" if ended else f"cut after {seconds:.1f} s of {limit:.0f}, and marked"
    return row("P23", *pairs[len(pairs) // 2], told)


def _bare_scan(root: Path, notes: tuple[str, ...], question: str) -> list[float]:
    """Read every note, keep those that hold a word of the question, rank them by BM25."""
    from rank_bm25 import BM25Okapi

    wanted = {word for word in _WORD.findall(question.lower()) if word not in laying.FUNCTION_WORDS}
    kept = []
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for path in notes:
            words = _WORD.findall(bare.read(folder, NotePath(path))[0].decode("utf-8", "replace").lower())
            if not wanted.isdisjoint(words):
                kept.append(words)
    finally:
        os.close(folder)
    return list(BM25Okapi(kept).get_scores(list(wanted))) if kept else []
