"""What belongs together while steps run: a world, the records so far, and the looks the checks ask for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .content import from_b64
from .looks import FileLook, StatusLook, file_look, tree
from .records import Record
from .values import Sight
from .verdict import UndefinedError, UnknownWordError
from .world import World

Check = Mapping[str, Any]
Key = tuple[int, ...]
TEMP = "$temp"


def key_of(number: Any) -> Key:
    """A step number of a check as a key: a step, then record numbers.

    >>> key_of("3.0.1")
    (3, 0, 1)
    """
    try:
        return tuple(int(part) for part in str(number).split("."))
    except ValueError as wrong:
        raise UnknownWordError(f"step {number!r}") from wrong


def flat(checks: Sequence[Check]) -> Iterator[Check]:
    """The checks, those of `either` in its place."""
    for check in checks:
        if check["check"] == "either":
            for some in check["lists"]:
                yield from flat(some)
        else:
            yield check


@dataclass(frozen=True, slots=True)
class Wish:
    """A look to be taken: before or after a step, of what kind, at which path as the case writes it."""

    when: str
    key: Key
    kind: str
    path: str = ""
    name_b64: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """A watch over a step: `alive` (reading this path) or `memory`."""

    key: Key
    kind: str
    path: str = ""


def wishes(checks: Sequence[Check]) -> frozenset[Wish]:
    """All looks that these checks ask for."""
    return frozenset(wish for check in flat(checks) for wish in _wishes_of(check))


def _wishes_of(check: Check) -> Iterator[Wish]:
    kind = check["check"]
    if kind in ("zero_side_effects", "unchanged", "ledger_delta", "passed"):
        after = key_of(check["step"])
        before = key_of(check.get("since", check["step"]))
        for looked, path in _around(kind, check):
            yield Wish("before", before, looked, path)
            yield Wish("after", after, looked, path)
    if "after" in check:
        looked = "tree" if kind == "same_tree" else "file"
        for path in [check[name] for name in ("path", "a", "b") if name in check]:
            yield Wish("after", key_of(check["after"]), looked, str(path), str(check.get("name_b64", "")))
    if "as_after" in check:
        yield wish_as_after(check)


def _around(kind: str, check: Check) -> Iterator[tuple[str, str]]:
    match kind:
        case "zero_side_effects":
            yield "status", ""
            for path in ("<vault>", *(("<home>", "<cache>", TEMP) if check.get("deep") else ())):
                yield "tree", path
        case "unchanged":
            yield "tree", str(check["path"])
        case "ledger_delta":
            yield "status", ""
        case _:
            yield "trace", ""


def wish_as_after(check: Check) -> Wish:
    """The look of `as_after`; 0 is the state before the first step."""
    key = key_of(check["as_after"])
    path = str(check["path"])
    return Wish("before", (1,), "file", path) if key == (0,) else Wish("after", key, "file", path)


def watches(checks: Sequence[Check]) -> frozenset[Watch]:
    """All watches that these checks ask for."""
    kinds = ("alive", "memory")
    asked = [check for check in flat(checks) if check["check"] in kinds]
    return frozenset(Watch(key_of(one["step"]), one["check"], str(one.get("path", ""))) for one in asked)


def look_at(path: Path, name_b64: str) -> FileLook:
    """What stands at a path, or at the raw name appended to it: below it, or directly at its end."""
    if not name_b64:
        return file_look(path)
    name = from_b64(name_b64)
    below = file_look(Path(os.fsdecode(os.fsencode(path) + b"/" + name.lstrip(b"/"))))
    return below if below.kind != "absent" else file_look(Path(os.fsdecode(os.fsencode(path) + name)))


class Scope:
    """Steps that see one another: those of a case, or the inner ones of one variant."""

    def __init__(
        self,
        world: World,
        checks: Sequence[Check],
        variants: tuple[Mapping[str, Any], ...] = (),
        names: frozenset[str] = frozenset(),
        *,
        keep: bool = False,
    ) -> None:
        self.world = world
        self.checks = checks
        self.keep = keep
        self.sight = Sight(world, self, variants, names)
        self.records: dict[Key, Record] = {}
        self.watched: dict[Watch, Any] = {}
        self.variants_judged: dict[int, list[tuple[str, str | None]]] = {}
        self.past_logs: list[bytes] = []
        self.past_reranker: list[Any] = []
        self._wishes = wishes(checks)
        self._watches = watches(checks)
        self._looks: dict[Wish, Any] = {}
        self._guard = threading.Lock()

    def record(self, keys: Sequence[str]) -> tuple[Record, Sequence[str]] | None:
        """The record at the front of the keys and the keys that are left."""
        numbers: list[int] = []
        for at, key in enumerate(keys):
            if not key.isdigit():
                return None
            numbers.append(int(key))
            if tuple(numbers) in self.records:
                return self.records[tuple(numbers)], keys[at + 1 :]
        return None

    def record_at(self, number: Any) -> Record:
        """The record a check speaks of; refuses a number that no step has."""
        first, *rest = key_of(number)
        record = self.records.get((first,))
        for at in rest:
            record = record.parts[at] if record is not None and at < len(record.parts) else None
        if record is None:
            raise UnknownWordError(f"step {number}: there is no such record")
        return record

    def remember(self, key: Key, record: Record) -> None:
        with self._guard:
            self.records[key] = record

    def watches_of(self, key: Key) -> list[Watch]:
        return sorted((one for one in self._watches if one.key == key), key=lambda one: one.kind)

    def expects_unknown_tool(self, key: Key) -> bool:
        """Whether a check looks at this step for the protocol's `Unknown tool`."""
        for check in flat(self.checks):
            inner = flat(check["checks"]) if check["check"] == "copies" else iter((check,))
            looks = any(one["check"] == "unknown_tool" for one in inner)
            if looks and key[: len(key_of(check["step"]))] == key_of(check["step"]):
                return True
        return False

    def look(self, when: str, key: Key, sight: Sight) -> None:
        """Takes the looks wished for at this moment; the runner's own `status` call stays outside the files' looks."""
        wished = [wish for wish in self._wishes if wish.when == when and wish.key == key]
        order = ["status", "trace", "file", "tree"]
        for wish in sorted(wished, key=lambda one: order.index(one.kind), reverse=when == "after"):
            try:
                seen = self._seen(wish, sight)
            except UndefinedError:
                # Its path stands for nothing now; the check that asks for the look says so.
                continue
            with self._guard:
                self._looks[wish] = seen

    def _seen(self, wish: Wish, sight: Sight) -> Any:
        match wish.kind:
            case "status":
                return StatusLook(self.world.status(), self.world.ledger_is_disturbed())
            case "trace":
                return self.world.faults.passed()
            case "file":
                return look_at(sight.path(wish.path), wish.name_b64)
            case _:
                return tree(self.world.places.temp if wish.path == TEMP else sight.path(wish.path))

    def looked(self, wish: Wish) -> Any:
        """A look that was taken; refuses one whose path stood for nothing then."""
        if wish not in self._looks:
            raise UndefinedError(f"no look at {wish.path or wish.kind} {wish.when} step {wish.key}")
        return self._looks[wish]
