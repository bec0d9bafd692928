"""``python -P -m tests.proofs.graphs --size N --rounds N``: summaries of summaries of any shape, within a budget.

What is looked at is counted where files are opened and read, not by the code's own counters; a model without a budget
says what each summary is. No question may look at more than 128 sources or read more than 16 MiB of them, none may
take a second, and none is answered with ``current`` where the budget ended first. Exit status 1 where one does.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal
from unittest import mock

from ledger.append import append, counters
from muninn.bound import summaries
from muninn.model.bound import StalenessAnswer, SummaryRow
from muninn.model.content import ContentHash
from muninn.model.summary import MOST_BYTES, MOST_CHECKS
from tests.conftest import Room, furnish, path

MOST_SECONDS: Final = 1.0

Graph = dict[str, list[str]]
"""For each summary its sources; a name that is no key is a plain note."""


@dataclass(slots=True)
class Counted:
    """Files that were opened and bytes that were read of them, by the operating system's own calls."""

    opened: list[str] = field(default_factory=list)
    bytes: int = 0


@contextmanager
def counting() -> Iterator[Counted]:
    """Count every file that is opened in a folder of the vault, and every byte read of it, whoever does it."""
    found, descriptors = Counted(), set[int]()
    real_open, real_read, real_close = os.open, os.read, os.close

    def opening(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = real_open(name, flags, mode, dir_fd=dir_fd)
        if not flags & os.O_DIRECTORY and not str(name).startswith(".") and dir_fd is not None:
            descriptors.add(descriptor)
            found.opened.append(str(name))
        return descriptor

    def reading(descriptor: int, size: int) -> bytes:
        content = real_read(descriptor, size)
        found.bytes += len(content) if descriptor in descriptors else 0
        return content

    def closing(descriptor: int) -> None:
        descriptors.discard(descriptor)
        real_close(descriptor)

    with mock.patch("os.open", opening), mock.patch("os.read", reading), mock.patch("os.close", closing):
        yield found


def content_of(name: str) -> bytes:
    return f"what {name} says\n".encode()


def lay(room: Room, graph: Graph, contents: Callable[[str], bytes] = content_of) -> None:
    """Write every note, and register every summary as it is now."""
    names = {*graph, *(source for sources in graph.values() for source in sources)}
    hashes = {name: ContentHash.of(contents(name)) for name in names}
    for name in names:
        room.lay(name, contents(name))
    # One transaction for all of them: what is tried here is how they are asked.
    with room.door.ledger._file.transaction("lay a graph") as writer:
        for name, sources in graph.items():
            body = {"path": name, "revision": hashes[name], "sources": [[s, hashes[s]] for s in sources], "kept": []}
            append(writer, "summary", "ada", {**body, "request": None}, (), counters(writer))


def ask(room: Room, name: str) -> tuple[SummaryRow, StalenessAnswer, Counted, float]:
    """One question, with what it cost at the file system."""
    room.door.vault.look(path(name))  # the vault's own mark is read once
    began = time.perf_counter()
    with counting() as counted:
        answer = summaries.staleness(room.door, room.rights(), path(name), detail=False, cursor=None)
    took = time.perf_counter() - began
    assert isinstance(answer, StalenessAnswer)
    (row,) = answer.summaries
    return row, answer, counted, took


def over(room: Room, answer: StalenessAnswer, counted: Counted, own: str) -> list[str]:
    """Where a question went over the budget; the asked summary's own file does not count."""
    found = []
    file = room.root / own
    size = file.stat().st_size if file.exists() else 0
    if len(counted.opened) > MOST_CHECKS + 1:
        found.append(f"{own}: {len(counted.opened)} files were opened")
    if len(set(counted.opened)) < len(counted.opened):
        found.append(f"{own}: a file was opened twice")
    if counted.bytes > MOST_BYTES + size:
        found.append(f"{own}: {counted.bytes} bytes were read")
    if answer.checks > MOST_CHECKS or answer.bytes > MOST_BYTES:
        found.append(f"{own}: it says {answer.checks} checks and {answer.bytes} bytes")
    return found


# --- the model -------------------------------------------------------------------------------------


def reached(graph: Graph, top: str) -> set[str]:
    found, waiting = set[str](), [top]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph.get(name, ())
    return found


def on_or_above_a_cycle(graph: Graph, top: str) -> bool:
    """Whether a walk down from the top can come to a summary a second time."""
    white, grey = set(graph), set[str]()
    stack: list[tuple[str, Iterator[str]]] = [(top, iter(graph.get(top, ())))]
    white.discard(top)
    grey.add(top)
    while stack:
        name, rest = stack[-1]
        below = next(rest, None)
        if below is None:
            grey.discard(name)
            stack.pop()
        elif below in grey:
            return True
        elif below in white:
            white.discard(below)
            grey.add(below)
            stack.append((below, iter(graph.get(below, ()))))
    return False


def expected(graph: Graph, top: str, changed: set[str]) -> Literal["current", "stale", "unknown"]:
    """What a summary is, by looking at everything. A source that changed is looked at no further."""
    cut = {name: sources for name, sources in graph.items() if name not in changed or name == top}
    below = {source for name in reached(cut, top) if name in cut for source in cut[name]}
    if below & changed:
        return "stale"
    return "unknown" if top in changed or on_or_above_a_cycle(cut, top) else "current"


# --- shapes ----------------------------------------------------------------------------------------


def chain(size: int, _: random.Random) -> Graph:
    return {f"n{k}.md": [f"n{k + 1}.md"] for k in range(size)}


def star(size: int, _: random.Random) -> Graph:
    graph = {"n0.md": [f"m{k}.md" for k in range(min(128, size))]}
    for k in range(min(128, size)):
        graph[f"m{k}.md"] = [f"leaf{k}-{j}.md" for j in range(max(1, size // 128))]
    return graph


def cycle(size: int, _: random.Random) -> Graph:
    return {f"n{k}.md": [f"n{(k + 1) % size}.md"] for k in range(size)}


def diamonds(size: int, _: random.Random) -> Graph:
    """Every layer of two leans on both of the next: as many ways down as two to the power of the depth."""
    graph: Graph = {"n0.md": ["a0.md", "b0.md"]}
    for k in range(max(1, size // 2)):
        graph[f"a{k}.md"] = graph[f"b{k}.md"] = [f"a{k + 1}.md", f"b{k + 1}.md"]
    return graph


def thicket(size: int, pick: random.Random) -> Graph:
    """Each leans on some of any, itself not left out; half of the names are plain notes."""
    names = [f"n{k}.md" for k in range(size)]
    most = min(size, pick.choice([2, 5, 128]))
    return {
        name: sorted(set(pick.choices(names, k=pick.randint(1, most)))) for name in names if pick.random() < 0.5
    } | {"n0.md": sorted(set(pick.choices(names, k=min(3, size))))}


def crowd(size: int, pick: random.Random) -> Graph:
    """As a thicket, but every note is a summary of several others, so that most reach most."""
    names = [f"n{k}.md" for k in range(size)]
    return {name: sorted(set(pick.choices(names, k=pick.randint(2, 12)))) for name in names}


SHAPES: Final = (chain, star, cycle, diamonds, thicket, crowd)


# --- the proof -------------------------------------------------------------------------------------


def prove(room: Room, graph: Graph, pick: random.Random, rounds: int) -> tuple[list[str], float]:
    """Change a note, ask some summaries, and again. Gives what did not hold, and the slowest question in seconds."""
    lay(room, graph)
    names = sorted({*graph, *(source for sources in graph.values() for source in sources)})
    changed: set[str] = set()
    found: list[str] = []
    slowest = 0.0
    for _ in range(rounds):
        for top in pick.sample(sorted(graph), min(4, len(graph))):
            row, answer, counted, took = ask(room, top)
            slowest = max(slowest, took)
            found += over(room, answer, counted, top)
            found += _wrong(graph, top, changed, row, answer)
        name = pick.choice(names)
        changed ^= {name}
        if name not in changed:
            room.lay(name, content_of(name))
        elif pick.random() < 0.5:
            room.lay(name, b"other\n")
        else:
            (room.root / name).unlink(missing_ok=True)
    if slowest > MOST_SECONDS:
        found.append(f"a question took {slowest:.2f} s")
    return found, slowest


def _wrong(graph: Graph, top: str, changed: set[str], row: SummaryRow, answer: StalenessAnswer) -> Iterator[str]:
    right = expected(graph, top, changed)
    # Where the budget ended, what lies beyond it was not seen: a change there is not, and nothing is called current.
    allowed = {right} if not answer.exhausted else {"unknown"} | ({"stale"} & {right})
    if row.state not in allowed:
        yield f"{top}: it is told {row.state}, and is {right}"
    if answer.exhausted and len(reached(graph, top)) <= MOST_CHECKS:
        yield f"{top}: the budget ended although all of it would have fitted"


def main() -> None:
    """Prove and print."""
    parser = argparse.ArgumentParser(prog="tests.proofs.graphs", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000, metavar="N", help="summaries in the largest graphs")
    parser.add_argument("--rounds", type=int, default=50, metavar="N", help="changes in each graph")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    asked = parser.parse_args()
    broken = False
    for shape in SHAPES:
        for size in sorted({10, 100, 1_000, asked.size}):
            pick = random.Random(asked.seed * size)
            with tempfile.TemporaryDirectory() as folder:
                room = furnish(Path(folder))
                found, slowest = prove(room, shape(size, pick), pick, asked.rounds)
                room.door.ledger.close()
            told = f"slowest {slowest * 1000:6.1f} ms, {len(found)} broken"
            print(f"{shape.__name__:<9} {size:>6}  {asked.rounds} rounds, {told}")
            for one in found[:20]:
                print(f"  BROKEN {one}")
            broken = broken or bool(found)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
