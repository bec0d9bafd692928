"""Following a change: no small one waits for a large note, and what changes meanwhile is neither lost nor set back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from index import taking
from index.fields import digest

from .room import Room, note_path

LARGE = "wombat " * 60_000
_WAIT_S = 20.0


def during(monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None]) -> None:
    """Let something happen while a digest is being made."""

    def slow(path: Any, *more: Any) -> Any:
        act(path)
        return digest(path, *more)

    monkeypatch.setattr(taking, "digest", slow)


def nudging(room: Room, *paths: str) -> threading.Thread:
    thread = threading.Thread(target=room.index.nudge, args=([note_path(path) for path in paths], room.look))
    thread.start()
    return thread


def test_a_small_change_waits_for_no_large_note(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.sweep()
    begun, go_on = threading.Event(), threading.Event()

    def wait(path: str) -> None:
        if path.startswith("large"):
            begun.set()
            assert go_on.wait(_WAIT_S)

    during(monkeypatch, wait)
    for number in range(3):
        room.put(f"large{number}.md", LARGE)
    threads = [nudging(room, f"large{number}.md") for number in range(3)]
    assert begun.wait(_WAIT_S)
    room.put("small.md", "a quokka\n")
    small = nudging(room, "small.md")
    small.join(_WAIT_S / 4)
    waited = small.is_alive()
    found = [] if waited else room.hits("quokka")
    go_on.set()
    for thread in (*threads, small):
        thread.join(_WAIT_S)
    assert not waited, "the small change waited for a large note"
    assert found == ["small.md"]
    assert sorted(room.hits("wombat")) == ["large0.md", "large1.md", "large2.md"]


def test_large_notes_are_taken_one_at_a_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.sweep()
    now, most = 0, 0

    def count(path: str) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        time.sleep(0.05)
        now -= 1

    during(monkeypatch, count)
    for number in range(4):
        room.put(f"large{number}.md", LARGE)
    threads = [nudging(room, f"large{number}.md") for number in range(4)]
    for thread in threads:
        thread.join(_WAIT_S)
    assert most == 1
    assert len(room.hits("wombat")) == 4


def test_what_changes_while_its_digest_is_made_is_taken_again(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.sweep()
    seen = []

    def change(path: str) -> None:
        seen.append(path)
        if len(seen) == 1:
            room.put("a.md", "new wombat\n")

    path = room.put("a.md", "old quokka\n")
    during(monkeypatch, change)
    room.index.nudge([path], room.look)
    assert (room.hits("wombat"), room.hits("quokka")) == (["a.md"], [])
    assert seen == ["a.md", "a.md"]


def test_what_another_took_meanwhile_is_not_set_back(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.sweep()
    seen = []

    def overtake(path: str) -> None:
        seen.append(path)
        if len(seen) == 1:
            room.put("a.md", "new wombat\n")
            room.index.nudge([note_path("a.md")], room.look)

    path = room.put("a.md", "old quokka\n")
    during(monkeypatch, overtake)
    room.index.nudge([path], room.look)
    assert (room.hits("wombat"), room.hits("quokka")) == (["a.md"], [])
    assert len(seen) == 2, "the second one's digest was made twice"


def test_a_note_that_never_stands_still_is_found_all_the_same_and_the_scan_takes_the_last_of_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.sweep()
    seen = []

    def change(path: str) -> None:
        seen.append(path)
        room.put("a.md", "wombat " + ("quokka", "numbat", "echidna")[len(seen) - 1])

    path = room.put("a.md", "wombat\n")
    during(monkeypatch, change)
    room.index.nudge([path], room.look)
    assert room.hits("wombat") == ["a.md"]
    assert len(seen) == 3
    room.sweep()
    assert room.hits("echidna") == ["a.md"]


def test_a_note_that_goes_while_its_digest_is_made_is_not_found(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.sweep()

    def remove(path: str) -> None:
        room.remove(path)

    path = room.put("a.md", "quokka\n")
    during(monkeypatch, remove)
    room.index.nudge([path], room.look)
    assert room.hits("quokka") == []
    assert "a.md" not in dict(room.index.hashes(private=True))


def test_a_note_and_its_page_are_found_together_or_not_at_all(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.sweep()
    between: list[list[str]] = []

    def ask(path: str) -> None:
        between.append(room.hits("quokka"))

    paths = [room.put("f/a.md", "quokka\n"), room.put("f/index.md", "[[f/a]] quokka\n")]
    during(monkeypatch, ask)
    room.index.nudge(paths, room.look)
    assert between == [[], []]
    assert sorted(room.hits("quokka")) == ["f/a.md", "f/index.md"]
