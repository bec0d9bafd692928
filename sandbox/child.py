"""The child's side: one script in a fresh engine, run as ``python -I -S child.py ENGINE`` in a process of its own.

It has an empty environment and one descriptor, 0: a socket to the gateway. It holds no function that a script could
call; requests come out of the engine as JSON text, and go down the socket as they are. Nothing that is said here is
believed on the other side.
"""

from __future__ import annotations

import os
import sys

# Loaders by path, from what every interpreter has loaded already: neither `site` nor any folder is searched.
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself would cost a third of the start
    from collections.abc import Callable
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_STACK = 512 * 1024
_FULL = 0.85
"""A heap that ever held this share of what it may was full."""
_LEFT = bytearray()


def _module(name: str, path: str) -> Any:
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _receive() -> str:
    """The next line from the gateway. Ends the process where there is none: the gateway is gone."""
    while (end := _LEFT.find(b"\n")) < 0:
        more = os.read(0, 65536)
        if not more:
            os._exit(0)
        _LEFT.extend(more)
    line = _LEFT[:end].decode("ascii")
    del _LEFT[: end + 1]
    return line


def _send(line: str) -> None:
    rest = memoryview(line.encode("utf-8") + b"\n")
    while rest:
        rest = rest[os.write(0, rest) :]


def _run(context: Any, gate: Any, order: str, is_full: Callable[[], bool]) -> None:
    """Begin the script, and go on between its jobs and the gateway's answers until it has ended."""
    gate("begin", order)
    lost = False
    while True:
        lost = _run_jobs_dry(context, gate) or lost
        ended, calls = gate("ended"), gate("open")
        if not ended and not calls and (lost or is_full()):
            # What the script waits for was lost when the memory ran out; the engine says so not always.
            raise MemoryError
        _send(gate("drain"))
        if ended or not calls:
            return
        for _ in range(calls):
            gate("settle", _receive())


def _run_jobs_dry(context: Any, gate: Any) -> bool:
    """Run jobs until the script has ended or none is left. Gives whether one was lost for want of memory."""
    lost = False
    while not gate("ended"):
        try:
            if not context.execute_pending_job():
                break
        except Exception as error:
            # A job that threw, as queueMicrotask's may: it ends alone, the script goes on.
            lost = lost or _is_full(error)
    return lost


def _is_full(error: BaseException) -> bool:
    """Whether memory ran out. The engine throws null where it has none left to make an error."""
    return isinstance(error, MemoryError) or "out of memory" in str(error) or str(error).strip() == "null"


def main() -> None:
    """Make the engine ready, wait for an order, raise the fence, run."""
    os.closerange(1, 1024)
    fence = _module("fence", os.path.join(_HERE, "fence.py"))
    quickjs = _module("_quickjs", sys.argv[1])
    with open(os.path.join(_HERE, "prelude.js"), encoding="utf-8") as file:
        prelude = file.read()
    fence.follow_parent()
    context = quickjs.Context()
    context.set_max_stack_size(_STACK)
    gate = context.eval(prelude)
    _send('["ready"]')
    heap, memory, cpu_s = map(int, _receive().split())
    order = _receive()
    context.set_memory_limit(heap)
    full = fence.peak() + heap * _FULL
    held = fence.raise_fence(cpu_s, memory)
    _send('["fenced",["' + '","'.join(held) + '"]]' if held else '["fenced",[]]')
    try:
        _run(context, gate, order, lambda: fence.peak() > full)
    except BaseException as error:
        _send('["spent","memory"]' if _is_full(error) else '["spent","stack"]')
    os._exit(0)


if __name__ == "__main__":
    main()
