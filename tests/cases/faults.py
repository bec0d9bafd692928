"""The faults that are armed, as the product's test build reads them: one JSON file, replaced whole."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from . import outside
from .places import Places
from .values import Sight
from .verdict import UnknownWordError
from .vocabulary import KINDS, POINTS

Fault = Mapping[str, Any]


class Faults:
    """The armed faults of one world, and the points that its processes have passed."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._armed: list[Fault] = []
        self._written()

    def arm(self, step: Mapping[str, Any], sight: Sight) -> None:
        """Arms a fault step until it is healed."""
        point, kind = sight.value(step["point"]), sight.value(step["kind"])
        if point not in POINTS or kind not in KINDS:
            raise UnknownWordError(f"fault {point} {kind}")
        fault: dict[str, Any] = {"point": point, "kind": kind}
        for key in ("times", "s", "path", "value"):
            if key in step:
                fault[key] = sight.value(step[key])
        if kind == "do":
            fault["run"] = self._command_line(step.get("outside", []), sight)
        self._armed.append(fault)
        self._written()

    def heal(self, point: str | None) -> None:
        """Disarms a point, or all; ends locks, too."""
        self._armed = [fault for fault in self._armed if point is not None and fault["point"] != point]
        self._written()
        outside.unlock(self._places.locks)

    def armed_at(self, prefix: str) -> bool:
        """Whether a fault is armed at a point whose name begins so."""
        return any(str(fault["point"]).startswith(prefix) for fault in self._armed)

    def passed(self) -> list[str]:
        """The names of the points passed until now, in order."""
        try:
            return self._places.trace.read_text("utf-8").split()
        except FileNotFoundError:
            return []

    def troubles(self) -> list[str]:
        """What could not be done of the outside changes of faults; each is told once."""
        told = []
        for file in sorted(self._places.troubles.iterdir()):
            told.append(file.read_text("utf-8"))
            file.unlink()
        return told

    def _command_line(self, steps: Sequence[Any], sight: Sight) -> list[str]:
        changes = [outside.plain(step, sight) for step in _outside_steps(steps, sight)]
        written = self._places.own / f"changes-{uuid.uuid4().hex}.json"
        places = self._places
        return outside.command_line(changes, written, places.remote, places.locks, places.troubles)

    def _written(self) -> None:
        fresh = self._places.faults.with_suffix(".new")
        fresh.write_text(json.dumps(self._armed), "utf-8")
        fresh.replace(self._places.faults)


def _outside_steps(steps: Sequence[Any], sight: Sight) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for held in steps:
        step = sight.step(held)
        match step["op"]:
            case "outside":
                found.append(step)
            case "seq":
                found += _outside_steps(step["steps"], sight)
            case strange:
                raise UnknownWordError(f"a fault's outside change {strange}")
    return found
