"""The threads that keep an index fresh, and how little a single question wakes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from index import Index, IndexSettings, keep_fresh, watch
from muninn.searching import Asked

from .room import PRIVATE, Room


def test_keep_fresh_finds_what_changed_and_waits_out_a_lost_vault(tmp_path: Path) -> None:
    room = Room(tmp_path, IndexSettings(scan_every_s=0.05))
    stop, kick = threading.Event(), threading.Event()
    thread = threading.Thread(target=keep_fresh, args=(room.index, room.walk, room.look, stop, kick))
    thread.start()
    try:
        room.put("a.md", "quokka\n")
        assert _comes_true(lambda: room.hits("quokka") == ["a.md"] and not room.ask("quokka").degraded)
        room.gone = True
        time.sleep(0.2)
        assert thread.is_alive()
        room.gone = False
        room.put("b.md", "wombat\n")
        kick.set()
        assert _comes_true(lambda: room.hits("wombat") == ["b.md"])
    finally:
        stop.set()
        kick.set()
        thread.join(5)
    assert not thread.is_alive()
    room.index.close()


def test_the_slow_round_finds_bytes_that_changed_behind_equal_stamps(room: Room) -> None:
    path = room.put("a.md", "quokka\n")
    room.sweep()
    room.put("a.md", "wombat\n")
    after = ""
    for _ in range(20):
        after = room.index.recheck(room.look, after, 5)
        if not after:
            break
    assert after == ""
    assert room.hits("wombat") == [path]


def test_a_search_needs_no_map_of_stamps(room: Room) -> None:
    room.put("a.md", "quokka\n")
    room.sweep()
    room.index.close()
    again = Index(room.cache, PRIVATE.cover, room.settings)
    room.index = again
    assert room.hits(Asked("quokka")) == ["a.md"]
    assert again._public.stamps is None


def test_importing_search_wakes_nothing_heavy() -> None:
    code = (
        "import sys, json, muninn.searching\n"
        "heavy = {'numpy', 'pydantic', 'mcp', 'rich', 'rank_bm25', 'watchfiles', 'Stemmer', 'click'}\n"
        "print(json.dumps(sorted(heavy & {name.partition('.')[0] for name in sys.modules})))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == []


def test_a_watch_kicks_when_a_file_changes(room: Room) -> None:
    kick, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=watch, args=(room.root, kick, stop))
    thread.start()
    try:
        until = time.monotonic() + 10
        while not kick.is_set() and time.monotonic() < until:
            room.put("a.md", f"{time.monotonic()}\n")
            kick.wait(0.2)
        assert kick.is_set()
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


def test_many_threads_may_ask_while_one_scans_and_one_writes(room: Room) -> None:
    for number in range(60):
        room.put(f"a/n{number}.md", f"quokka number{number}\n")
    room.sweep()
    wrong: list[object] = []
    stop = threading.Event()

    def asking() -> None:
        while not stop.is_set():
            found = room.ask(Asked("quokka", limit=3))
            if len(found.hits) != 3 or found.degraded:
                wrong.append(found)

    threads = [threading.Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(15):
        path = room.put(f"a/n{number}.md", f"quokka again{number}\n")
        room.index.nudge([path], room.look)
        room.put(f"b/n{number}.md", "quokka\n")
        room.sweep()
        assert room.hits(f"again{number}")[0] == path
    stop.set()
    for thread in threads:
        thread.join(10)
    assert wrong == []


def test_a_kick_makes_the_scan_come_at_once(tmp_path: Path) -> None:
    room = Room(tmp_path, IndexSettings(scan_every_s=600))
    stop, kick = threading.Event(), threading.Event()
    thread = threading.Thread(target=keep_fresh, args=(room.index, room.walk, room.look, stop, kick))
    thread.start()
    try:
        assert _comes_true(lambda: room.index.state().state == "ready")
        room.put("a.md", "quokka\n")
        kick.set()
        assert _comes_true(lambda: room.hits("quokka") == ["a.md"])
    finally:
        stop.set()
        kick.set()
        thread.join(5)
    assert not thread.is_alive()
    room.index.close()


def _comes_true(check: object) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if check():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False
