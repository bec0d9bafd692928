"""One fault in one call of a real gateway, and what is there afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muninn.model.content import ContentHash

from . import model, records
from .model import Finding
from .points import Case, names
from .said import Ack, fresh_note
from .serving import Proved


@dataclass(slots=True)
class Ended:
    """How a case went. ``fired`` says that the fault was passed at all."""

    fired: bool
    started: float = 0.0
    findings: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class Scene:
    """A folder of its own for one case, with a page, a note beside, and the note the call is about."""

    place: Proved
    case: Case
    folder: str
    pending: str = ""
    since: str = ""
    current: str = "missing"

    @property
    def note(self) -> str:
        return f"{self.folder}/n.md"

    @property
    def marker(self) -> Path:
        return self.place.folder / f"{self.folder}.fired"

    @property
    def own_faults(self) -> Path:
        """The faults of the command line; the gateway beside it has none."""
        return self.place.folder / "undo.json"

    def play(self) -> Ended:
        """Prepare, arm, call, and bring the gateway back where it died."""
        self._prepare()
        if self.case.verb == "undo":
            return self._undo()
        before = self.place.log().count("\n")
        self._arm(self.place.faults)
        answer = self._begin_again() if self.case.verb == "start" else self._call()
        ended = Ended(self.marker.exists())
        dying = self.case.harm.startswith("exit") and ended.fired
        if dying and not self.place.died(5.0):
            ended.findings.append(Finding("answer", "the process passed the point and lived"))
        self.place.arm()
        if self.place.died(0.0):
            ended.started = self._start(ended)
            ended.findings += model.check(self.place.places, within=1.0)
            ended.findings += self._settled_list()
        elif answer is None:
            ended.findings.append(Finding("answer", f"no answer, and no death ({before} lines of log before)"))
        elif answer.get("state") == "pending" and self.case.harm.startswith("exit") is False:
            ended.findings += model.exactly_once(lambda: self._recover(answer.get("pending_id") or self.pending))
        return ended

    def _prepare(self) -> None:
        place = self.place
        place.arm()
        self._write(f"{self.folder}/keep.md", "missing")
        if self.case.verb == "create":
            return
        self._write(self.note, "missing")
        if self.case.verb == "restore":
            reason = {"path": self.note, "expected_hash": self.current, "reason": "obsolete"}
            place.attempt("archive", reason)
        if self.case.verb == "undo":
            time.sleep(0.01)
            self.since = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._write(self.note, self.current)
        if self.case.verb in ("recover", "start"):
            kind = "raise" if self.case.verb == "recover" else "exit"
            place.arm({"point": "folder_index.apply", "path": f"{self.folder}/{model.PAGE}", "kind": kind, "times": 1})
            answer = self._write(self.note, self.current, landed=False)
            self.pending = (answer or {}).get("pending_id") or ""
            place.arm()
            if self.case.verb == "start":
                place.died(5.0)

    def _write(self, path: str, expected: str, *, landed: bool = True) -> dict[str, Any] | None:
        content = fresh_note(f"{self.folder} {path[-7:-3]}")
        answer = self.place.attempt("write", {"path": path, "content": content, "expected_hash": expected}, content)
        if landed:
            assert answer is not None
            assert answer.get("state") == "committed", answer
        if path == self.note:
            self.current = ContentHash.of(content.encode())
        return answer

    def _arm(self, file: Path) -> None:
        """The fault of the case; a mark beside it says that it was passed."""
        point = self.case.point
        fault: dict[str, Any] = {"point": point}
        if self.case.where != "plan":
            fault["path"] = self.note if self.case.where == "note" else f"{self.folder}/{model.PAGE}"
        if self.case.harm == "exit after":
            # Passing the point puts other faults in place: the process ends at whatever point comes next.
            following = file.with_suffix(".next")
            following.write_text(json.dumps([{"point": name, "kind": "exit"} for name in names()]))
            run = ["sh", "-c", 'touch "$0" && mv "$1" "$2"', str(self.marker), str(following), str(file)]
            self.place.arm(fault | {"kind": "do", "run": run, "times": 1}, file=file)
            return
        lasting = {} if point in ("vault.root", "vault.read") else {"times": 1}
        mark = fault | {"kind": "do", "run": ["touch", str(self.marker)], "times": 1}
        self.place.arm(mark, fault | {"kind": self.case.harm} | lasting, file=file)

    def _call(self) -> dict[str, Any] | None:
        place, of = self.place, {"path": self.note, "expected_hash": self.current}
        match self.case.verb:
            case "create" | "overwrite":
                content = fresh_note(f"{self.folder} new")
                return place.attempt("write", of | {"content": content}, content)
            case "edit":
                more = f"Edited in {self.folder}.\n"
                content = (place.vault / self.note).read_text() + more
                return place.attempt("edit", of | {"edits": [{"append": more}]}, content)
            case "archive":
                return place.attempt("archive", of | {"reason": "obsolete"})
            case "restore":
                return place.attempt("restore", {"path": self.note, "revision": self.current})
            case _:
                return self._try(lambda: place.call("recover", {"pending_id": self.pending}))

    def _try(self, call: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        try:
            return call()
        except OSError:
            return None

    def _begin_again(self) -> dict[str, Any] | None:
        """A start that dies while it plays what a crash left."""
        return None if self.place.begin().seconds is None else {}

    def _undo(self) -> Ended:
        """The command beside the running gateway; where it ends half-way, a new start plays what it left."""
        self._arm(self.own_faults)
        seams = self.place.seams(self.own_faults)
        arguments = ("undo", "--client", "a", "--since", self.since, "--json")
        done = self.place.muninn(*arguments, env=seams)
        ended = Ended(self.marker.exists())
        if done.returncode not in (0, 1, 70) or "Traceback" in done.stderr:
            ended.findings.append(Finding("answer", f"undo ended with {done.returncode}: {done.stderr[-300:]}"))
        if done.returncode in (0, 1):
            rows = json.loads(done.stdout)["reversals"] if done.stdout else []
            undone = [row for row in rows if row["state"] == "undone"]
            self.place.said.acks += [Ack(row["path"], row["now"], row["back_to"], None) for row in undone]
        if done.returncode:
            self.place.kill()
            ended.started = self._start(ended)
            ended.findings += model.check(self.place.places, within=1.0)
        return ended

    def _start(self, ended: Ended) -> float:
        start = self.place.begin()
        ended.findings += start.judged()
        if start.seconds is None:
            raise RuntimeError(f"after {self.case} the gateway does not start: {self.place.log()[-500:]}")
        return start.seconds if start.fresh else 0.0

    def _recover(self, pending_id: str) -> tuple[str, int]:
        answer = self.place.call("recover", {"pending_id": pending_id})
        state = str(answer.get("state") or answer["error"]["code"])
        return state, records.read(self.place.home / "ledger.db").events

    def _settled_list(self) -> list[Finding]:
        """After a start no plan of the client is pending, and one that was left is listed with its end."""
        rows = self.place.call("recover", {})["plans"]
        open_rows = [row["pending_id"] for row in rows if row["state"] == "pending"]
        return [Finding("pending", f"a start left {row} pending") for row in open_rows]
