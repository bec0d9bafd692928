"""Run one script: its child is fed with answers, watched by the clock, and killed. The sandbox's one way in.

The engine gets a function that asks the vault and knows nothing else of it. What a script may take is bounded by
``Limits``; time counts from outside. Whatever comes back from the child is data.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from muninn.model.refusal import Code, Refusal

from . import bridge
from .bridge import Call
from .pool import Pool
from .process import Child, EndedError, FloodError, TimeUpError
from .trail import Citation, Gap, Trail

Ask = Callable[[str, dict[str, Any]], dict[str, Any] | Refusal]
"""Answers one call: the name of a reader and its arguments, to the answer as JSON values or the refusal."""

Limit = Literal["time", "memory", "stack", "calls", "bytes", "value", "output", "engine"]

_ABOVE: Final = 1000
"""Lines that stand above a script's first one in the engine (``prelude.js``)."""
_FRAME: Final = re.compile(r"<input>:(\d{4,6})")
_SHOWN: Final = 200
_MESSAGE: Final = 2000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one script may take. Sizes in bytes, but ``value`` and ``logs`` in characters of JSON."""

    calls: int = 200
    handed: int = 4 * 1024 * 1024
    value: int = 64 * 1024
    logs: int = 16 * 1024
    heap: int = 40 * 1024 * 1024
    memory: int = 48 * 1024 * 1024
    """Address space beyond that of an idle child: the heap, and a few copies of a line."""
    line: int = 256 * 1024
    said: int = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """What a script took: calls of readers, bytes of answers, milliseconds on the wall."""

    calls: int
    bytes: int
    ms: int


@dataclass(frozen=True, slots=True)
class Returned:
    """A script's value, and the gateway's own record of what it was shown."""

    value: Any
    logs: tuple[str, ...]
    citations: tuple[Citation, ...]
    gaps: tuple[Gap, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Stopped:
    """A script that gave no value. ``limit`` says which limit ended it; None means an error of the script's own, in
    this ``line`` of it where that is known."""

    message: str
    limit: Limit | None
    line: int | None
    logs: tuple[str, ...]
    usage: Usage


@dataclass(slots=True)
class Engine:
    """Runs scripts, each in a fresh child. Costs nothing until the first one comes."""

    limits: Limits = field(default_factory=Limits)
    _pool: Pool = field(init=False)
    _held: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._pool = Pool(self.limits.line, self.limits.said)

    @property
    def fences(self) -> tuple[str, ...] | None:
        """What held around the last script beside its own process and the clock: some of ``limits``, ``seccomp``,
        ``bwrap``. None before the first."""
        return self._held

    @property
    def running(self) -> int:
        """How many scripts run now."""
        return self._pool.taken

    def run(self, script: str, timeout_s: float, ask: Ask) -> Returned | Stopped:
        """Run a script as the body of an async function, for at most ``timeout_s`` seconds on the wall.

        Blocks for as long; what ``ask`` raises ends the script and is raised. Raises NoEngineError where no child can
        be started.
        """
        child = self._pool.take()
        try:
            run = _Run(child, ask, self.limits, timeout_s)
            ended = run.hold(script)
            self._held = (*run.held, *(("bwrap",) if self._pool.is_walled else ()))
            return ended
        finally:
            self._pool.put_away(child)

    def close(self) -> None:
        """Kill every child. A script that runs ends as stopped."""
        self._pool.close()


class _Run:
    """One script and its child, from the first line to the last."""

    def __init__(self, child: Child, ask: Ask, limits: Limits, timeout_s: float) -> None:
        self._child, self._ask, self._limits, self._timeout_s = child, ask, limits, timeout_s
        self._trail = Trail()
        self._calls = self._handed = self._logged = self._dropped = 0
        self._logs: list[str] = []
        self._spent = False
        self._started = time.monotonic()
        self._deadline = self._started + timeout_s
        self.held: tuple[str, ...] = ()

    def hold(self, script: str) -> Returned | Stopped:
        """Give the child its script and answer it until it ends, or end it."""
        try:
            self._begin(script)
            while True:
                said = bridge.parse(self._child.receive(self._deadline))
                if not isinstance(said, bridge.Spent | bridge.Broken):
                    self._keep_log(said.logged)
                if not isinstance(said, bridge.Calls):
                    return self._ended(said)
                for call in said.calls:
                    self._child.send(self._answer(call), self._deadline)
                    if self._calls >= 2 * self._limits.calls:
                        return self._stopped("calls", f"the limit of {self._limits.calls} calls ran out")
        except TimeUpError:
            return self._out_of_time()
        except FloodError:
            return self._stopped("output", "the script sent more than the output limit allows")
        except EndedError as error:
            return self._died(error.status)

    def _begin(self, script: str) -> None:
        limits = self._limits
        cpu_s = int(self._timeout_s) + 2
        self._child.send(f"{limits.heap} {limits.memory} {cpu_s}\n".encode(), self._deadline)
        self._child.send(bridge.order(script, limits.value, limits.logs), self._deadline)
        # The child says this before it looks at the script, so it can be believed.
        self.held = bridge.fences(self._child.receive(self._deadline))

    # --- calls --------------------------------------------------------------------------------------

    def _answer(self, call: Call) -> bytes:
        """One call of the script, answered or refused; what goes out is noted."""
        self._calls += 1
        asked = bridge.arguments(call)
        if isinstance(asked, Refusal):
            return bridge.refused(asked)
        if self._calls > self._limits.calls:
            return self._over_budget(call.name, asked, f"one script may make {self._limits.calls} calls")
        if time.monotonic() >= self._deadline:
            raise TimeUpError
        answer = self._ask(call.name, asked)
        if isinstance(answer, Refusal):
            return bridge.refused(answer)
        line = bridge.answered(answer)
        if self._handed + len(line) > self._limits.handed:
            return self._over_budget(call.name, asked, f"one script may be handed {self._limits.handed} bytes")
        if not self._trail.has_room(answer):
            return self._over_budget(call.name, asked, "one script may cite 1,000 ranges")
        self._handed += len(line)
        self._trail.note(call.name, asked, answer)
        return line

    def _over_budget(self, name: str, asked: dict[str, Any], why: str) -> bytes:
        self._spent = True
        path = asked.get("path")
        # No tool has looked at this path, so it may be anything.
        shown = bridge.text_of(path[:_SHOWN]) if isinstance(path, str) else None
        self._trail.leave_out(name, shown, f"budget: {why}")
        return bridge.refused(Refusal(Code.BUDGET_EXCEEDED, f"{why}; return what there is and ask in another script"))

    # --- ends ---------------------------------------------------------------------------------------

    def _ended(self, said: bridge.Said) -> Returned | Stopped:
        match said:
            case bridge.Done(value):
                return self._returned(value)
            case bridge.Over(length):
                most = self._limits.value
                message = f"the value has {length} characters as JSON, the limit is {most}; return less"
                return self._stopped("value", message)
            case bridge.Failed():
                return self._failed(said)
            case bridge.Stuck():
                # The engine forgets a job that it has no memory for, so the two cannot always be told apart.
                message = "the script waits for a promise that nothing will settle, or that the memory limit cut off"
                return self._stopped(None, message)
            case bridge.Spent(what):
                return self._stopped("memory" if what == "memory" else "stack", f"the {what} limit ran out")
            case _:
                return self._stopped("output", "the script's process said something that is no answer; output limit")

    def _returned(self, value: Any) -> Returned | Stopped:
        flaw = bridge.flaw(value)
        if flaw is not None:
            return self._stopped(None, flaw)
        if self._dropped:
            self._trail.leave_out("console.log", None, f"{self._dropped} lines beyond {self._limits.logs} characters")
        return Returned(value, tuple(self._logs), self._trail.citations, self._trail.gaps, self._usage())

    def _failed(self, said: bridge.Failed) -> Stopped:
        told = f"{said.name[:_SHOWN]}: {said.message}" if said.name else said.message
        message = bridge.text_of(told[:_MESSAGE]) or "(no message)"
        line = _line_of(said.stack)
        where = f" (line {line} of the script)" if line is not None else ""
        limit: Limit | None = None
        if said.name == "InternalError" and "out of memory" in said.message:
            limit, message = "memory", f"the memory limit ran out: {message}"
        elif said.name == "RangeError" and "call stack" in said.message:
            limit, message = "stack", f"the stack limit ran out: {message}"
        elif said.code == Code.BUDGET_EXCEEDED and self._spent:
            limit = "calls" if self._calls > self._limits.calls else "bytes"
            message = f"a limit ran out: {message}"
        elif message == "null":
            # The engine throws null where it has no memory left to make an error.
            message = "null was thrown: by the script, or by the engine when the memory limit left no room for an error"
        elif said.code:
            message = bridge.text_of(f"{said.code[:_SHOWN]}: {said.message[:_MESSAGE]}")
        return self._stopped(limit, message + where, line)

    def _died(self, status: int | None) -> Stopped:
        if status == -signal.SIGXCPU:
            return self._out_of_time()
        named = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
        return self._stopped("engine", f"the script's process ended ({named}): its memory or stack limit")

    def _out_of_time(self) -> Stopped:
        message = f"the time limit of {self._timeout_s:g} s ran out after {self._calls} calls; do less in one script"
        return self._stopped("time", message + ", or raise timeout_s (at most 60)")

    def _stopped(self, limit: Limit | None, message: str, line: int | None = None) -> Stopped:
        return Stopped(message, limit, line, tuple(self._logs), self._usage())

    def _keep_log(self, logged: bridge.Logged) -> None:
        """Keep what was logged, within the limit once more: the child's own count is not believed."""
        self._dropped = max(self._dropped, min(logged.dropped, 1_000_000))
        for line in map(bridge.text_of, logged.lines):
            if self._logged + len(line) > self._limits.logs:
                self._dropped += 1
                continue
            self._logged += len(line) + 1
            self._logs.append(line)

    def _usage(self) -> Usage:
        return Usage(self._calls, self._handed, round((time.monotonic() - self._started) * 1000))


def _line_of(stack: str) -> int | None:
    """The script's line in the topmost frame that is not the prelude's."""
    numbers = (int(found) for found in _FRAME.findall(stack))
    return next((number - _ABOVE for number in numbers if number > _ABOVE), None)
