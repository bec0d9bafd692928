"""Many writers on one hash through a real gateway: one wins, all others learn what stands there now."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from muninn.model.content import ContentHash

from . import model
from .model import Finding
from .said import fresh_note
from .serving import Proved, made
from .table import Row

_OVERLAP: Final = 0.8
"""The share of the writers that must have been waiting for their answers at one moment …"""
_OFTEN: Final = 0.95
"""… in this share of the rounds; else the writers came one after another and nothing was proved."""
KINDS: Final = ("overwrite", "create", "edit", "archive")


@dataclass(frozen=True, slots=True)
class Told:
    """One writer's answer, and when (monotonic) its last byte was sent and its first one came."""

    sent: float
    heard: float
    hash: str | None
    answer: dict[str, Any]


def prove(folder: Path, rounds: int, writers: int = 50, notes: int = 50) -> Row:
    """``rounds`` rounds of ``writers`` writers, the kinds of call in turn."""
    row = Row(f"{writers} writers on one hash")
    often = 0
    with made(folder, notes) as place:
        place.begin()
        for number in range(rounds):
            kind = KINDS[number % len(KINDS)]
            path = f"race/{number}.md"
            current = _prepare(place, kind, path)
            told = _all_at_once(place, kind, path, current, writers)
            at_once = _in_flight(told)
            often += at_once >= _OVERLAP * writers
            row.take(_judged(place, kind, path, told), f"round {number}, {kind}")
        row.take(model.check(place.places, within=4.0))
        row.take(place.traceback())
        row.acknowledged = len(place.said.acks)
    row.rounds = rounds
    row.notes.append(f"{often} of {rounds} rounds had {_OVERLAP * writers:.0f} or more of {writers} in flight at once")
    if often < _OFTEN * rounds:
        row.take([Finding("answer", f"only {often} of {rounds} rounds overlapped: they prove nothing")])
    return row


def _prepare(place: Proved, kind: str, path: str) -> str:
    """The note that is fought for; gives the hash that all writers present."""
    if kind == "create":
        return "missing"
    content = fresh_note("first")
    place.attempt("write", {"path": path, "content": content, "expected_hash": "missing"}, content)
    return ContentHash.of(content.encode())


def _all_at_once(place: Proved, kind: str, path: str, current: str, writers: int) -> list[Told]:
    """Every request is on its way but for its last byte when the barrier falls."""
    barrier = threading.Barrier(writers)
    told: list[Told] = []

    def write() -> None:
        tool, arguments, content = _asked(place, kind, path, current)
        sent = None if content is None else place.said.attempt(content.encode())
        request = _request(place, tool, arguments)
        with socket.create_connection(("127.0.0.1", place.port), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(request[:-1])
            barrier.wait()
            connection.sendall(request[-1:])
            began = time.monotonic()
            raw = connection.recv(1 << 16)
            heard = time.monotonic()
            while piece := connection.recv(1 << 16):
                raw += piece
        told.append(Told(began, heard, sent, _answer(raw)))

    threads = [threading.Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in told:
        place.said.answered(one.answer, one.hash)
    return told


def _asked(place: Proved, kind: str, path: str, current: str) -> tuple[str, dict[str, Any], str | None]:
    of = {"path": path, "expected_hash": current}
    if kind == "archive":
        return "archive", of | {"reason": "obsolete"}, None
    if kind == "edit":
        more = fresh_note("more").rpartition("---\n")[2]
        return "edit", of | {"edits": [{"append": more}]}, (place.vault / path).read_text() + more
    content = fresh_note(kind)
    return "write", of | {"content": content}, content


def _request(place: Proved, tool: str, arguments: dict[str, Any]) -> bytes:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    body = json.dumps(call).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        f"Authorization: Bearer {place.tokens['a']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _answer(raw: bytes) -> dict[str, Any]:
    result = json.loads(raw.partition(b"\r\n\r\n")[2])["result"]
    found: dict[str, Any] = json.loads(result["content"][0]["text"])
    return found


def _in_flight(told: list[Told]) -> int:
    """The most requests that were waiting at one moment."""
    steps = sorted([(one.sent, 1) for one in told] + [(one.heard, -1) for one in told])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def _judged(place: Proved, kind: str, path: str, told: list[Told]) -> list[Finding]:
    """One committed, all others refused with the winner's hash."""
    ways = Counter(one.answer.get("state") or one.answer["error"]["code"] for one in told)
    loss = "exists" if kind == "create" else "conflict"
    found = []
    if ways != Counter({"committed": 1, loss: len(told) - 1}):
        found.append(Finding("answer", f"{path}: {dict(ways)}"))
    now = {one.answer["hash"] for one in told if one.answer.get("state") == "committed"}
    seen = {one.answer["error"].get("current_hash") for one in told if "error" in one.answer}
    if seen != now:
        found.append(Finding("answer", f"{path}: the losers were told {seen}, the winner wrote {now}"))
    return found
