"""Measures of a gateway from the outside: how soon it answers, and what memory it keeps."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

from . import bare
from .gates import Row, row
from .place import Place, questions
from .serving import Line, Served, free_port, serving
from .timing import WALL, Effort, once

_PYTHON: Final = (sys.executable, "-P", "-m")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def measure(place: Place, effort: Effort) -> Iterator[Row]:
    """P24, and the memory of an idle gateway and of a build."""
    _rebuild(place)  # what the measures before this one have left of the index does not matter
    question = questions(place, 1)[0]
    file = place.folder / "answer.json"
    file.write_text("{}", encoding="utf-8")
    starts: list[tuple[float, float]] = []
    memory: list[tuple[int, int]] = []
    for _ in range(min(effort.rounds, 3)):
        port, bare_port = free_port(), free_port()
        noop = [*_PYTHON, "tests.bench.noop", str(bare_port), str(file)]
        began = time.perf_counter()
        with serving(noop, bare_port, {}, place.folder / "noop.log") as anchor:
            _call(anchor, "", "noop", {})
            anchored = time.perf_counter() - began
            anchor_memory = _resident(anchor)
        anchored += once(lambda: bare.walk(str(place.root)), WALL)
        began = time.perf_counter()
        gateway = [*_PYTHON, "muninn", "serve", "--port", str(port)]
        with serving(gateway, port, place.environment, place.folder / "gateway.log") as door:
            answer = _call(door, place.token, "search", {"query": question})
            starts.append((time.perf_counter() - began, anchored))
            if answer["degraded"]:
                raise RuntimeError("the first call was answered without the index, though it was whole")
            door.settle()
            memory.append((_resident(door), anchor_memory))
    yield row("P24", *_middle(starts), "first answer from the index, before the first rescan has ended")
    subject, anchor_bytes = _middle(memory)
    yield row("memory", max(0, subject - anchor_bytes), None, f"{subject / 1e6:.0f} MB beside {anchor_bytes / 1e6:.0f}")
    yield row("memory/build", max(0, _rebuild(place) - anchor_bytes), None, "the command's peak")


def _middle(pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def _rebuild(place: Place) -> int:
    """Make the index anew by command; the most bytes that the process held.

    Asked of the running process: what the system tells of one that has ended counts what its parent held, too.
    """
    command = [*_PYTHON, "muninn", "index", "rebuild", "--json"]
    most = 0
    with subprocess.Popen(command, env={**os.environ, **place.environment}, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                most = max([most, *(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))])
            time.sleep(0.02)
    if process.returncode:
        raise RuntimeError(f"muninn index rebuild ended with {process.returncode}")
    return most


def _resident(served: Served) -> int:
    """Bytes of a process in memory now."""
    with open(f"/proc/{served.process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE


def _call(served: Served, token: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    params = {"name": tool, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    line = Line(served.port)
    status, answer = line.ask("POST", "/mcp", headers, body)
    line.close()
    if status != 200 or b'"structuredContent"' not in answer:
        raise RuntimeError(f"expected an answer of {tool}, found HTTP {status}: {answer[:300]!r}")
    return dict(json.loads(answer)["result"]["structuredContent"])
