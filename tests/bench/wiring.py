"""Measures over HTTP: processor time of the server a call, beside a server that does nothing with the same payload."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from .gates import Row, row
from .place import Place
from .serving import Line, Served, free_port, serving
from .timing import Effort

_PYTHON: Final = (sys.executable, "-P", "-m")
_PREFIX: Final = "io.modelcontextprotocol/"

Ask = Callable[[], None]


def measure(place: Place, effort: Effort) -> Iterator[Row]:
    """P11 for both eras of the protocol, and P12."""
    port, bare_port = free_port(), free_port()
    gateway = [*_PYTHON, "muninn", "serve", "--port", str(port)]
    with serving(gateway, port, place.environment, place.folder / "gateway.log") as door:
        path = _middle_note(place)
        payload = _ready(place, door, path)
        file = place.folder / "payload.json"
        file.write_text(json.dumps(payload), encoding="utf-8")
        noop = [*_PYTHON, "tests.bench.noop", str(bare_port), str(file)]
        with serving(noop, bare_port, {}, place.folder / "noop.log") as anchor:
            for number, revision in (("P11/2025", "2025-11-25"), ("P11/2026", "2026-07-28")):
                subject, bare = _per_call(
                    (door, _reader(door, path, revision, place.token)),
                    (anchor, _reader(anchor, path, revision, "no")),
                    effort,
                )
                yield row(number, subject, bare, f"{len(json.dumps(payload))} bytes of answer")
            subject, bare = _per_call((door, _turned_away(door)), (anchor, _hello(anchor)), effort)
            again, fresh = _per_call((door, _turned_away(door)), (anchor, _hello(anchor, anew=True)), effort)
            yield row("P12", subject, bare, f"{again / fresh:.2f} beside a hello on a new connection each time")


def _per_call(subject: tuple[Served, Ask], anchor: tuple[Served, Ask], effort: Effort) -> tuple[float, float]:
    """Seconds of processor time a call: the middle of several rounds in turn. The first round is not counted."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(effort.rounds + 3):
        for times, (served, ask) in zip(found, (subject, anchor), strict=True):
            before = served.cpu()
            for _ in range(effort.calls):
                ask()
            time.sleep(0.02)
            times.append((served.cpu() - before) / effort.calls)
    return statistics.median(found[0][1:]), statistics.median(found[1][1:])


def _reader(served: Served, path: str, revision: str, token: str) -> Ask:
    line = Line(served.port)
    params: dict[str, Any] = {"name": "read", "arguments": {"path": path}}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
    }
    if revision >= "2026":
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "read"}
        client = {f"{_PREFIX}clientInfo": {"name": "bench", "version": "1"}, f"{_PREFIX}clientCapabilities": {}}
        params["_meta"] = {f"{_PREFIX}protocolVersion": revision, **client}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()

    def ask() -> None:
        status, answer = line.ask("POST", "/mcp", headers, body)
        if status != 200 or b'"structuredContent"' not in answer:
            raise RuntimeError(f"expected an answer, found HTTP {status}: {answer[:300]!r}")

    return ask


def _turned_away(served: Served) -> Ask:
    line = Line(served.port)
    headers = {"Authorization": "Bearer mnn_" + "x" * 43, "Content-Type": "application/json"}

    def ask() -> None:
        status, _ = line.ask("POST", "/mcp", headers, b"{}")
        if status != 401:
            raise RuntimeError(f"expected 401, found {status}")

    return ask


def _hello(served: Served, *, anew: bool = False) -> Ask:
    line = Line(served.port)
    headers = {"Connection": "close"} if anew else {}

    def ask() -> None:
        line.ask("GET", "/hello", headers)

    return ask


def _middle_note(place: Place) -> str:
    """A note of some 2 KB."""
    return min(place.notes, key=lambda path: abs((place.root / path).stat().st_size - 2_000))


def _ready(place: Place, door: Served, path: str) -> dict[str, Any]:
    """Wait for all that a start sets going, so that it is not measured; gives the answer of a read."""
    line = Line(door.port)
    headers = {
        "Authorization": f"Bearer {place.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }

    def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        status, answer = line.ask("POST", "/mcp", headers, body)
        if status != 200 or b'"structuredContent"' not in answer:
            raise RuntimeError(f"expected an answer of {tool}, found HTTP {status}: {answer[:300]!r}")
        return dict(json.loads(answer)["result"]["structuredContent"])

    end = time.monotonic() + 60
    while time.monotonic() < end and call("status", {})["index"]["state"] != "ready":
        time.sleep(0.2)
    door.settle()
    return call("read", {"path": path})
