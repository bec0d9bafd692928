"""Every fault point of every writing call, before and after, note and page apart."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

from muninn.model.content import ContentHash
from tests.door.gateway import until_ready

from . import model
from .points import Case, cases
from .said import fresh_note
from .scenes import Scene
from .serving import Proved, made
from .table import Row

_HOLD_S = 3.0


def prove(folder: Path, notes: int, chosen: list[Case] | None = None) -> Row:
    """Play all cases, or some, each in a folder of its own, on one vault of ``notes`` small notes."""
    row = Row("fault points")
    plan = cases() if chosen is None else chosen
    fired: dict[str, int] = defaultdict(int)
    idle: list[str] = []
    verb = plan[0].verb
    with made(folder, notes, faulty=True) as place:
        place.begin()
        for number, case in enumerate(plan):
            if case.verb != verb:
                verb = case.verb
                _settled(place.vault, row, place.places)
            scene = Scene(place, case, f"c{number}")
            ended = scene.play()
            row.rounds += 1
            row.slowest_start = max(row.slowest_start, ended.started)
            row.take(ended.findings, str(case))
            fired[case.point] += ended.fired
            if not ended.fired:
                idle.append(str(case))
        _settled(place.vault, row, place.places)
        row.take(_pending_for_a_while(place), "a plan that is pending for a while")
        row.take(place.traceback())
        verified = place.muninn("ledger", "verify")
        if verified.returncode:
            row.take([model.Finding("ledger", verified.stderr[-300:])])
        row.acknowledged = len(place.said.acks)
    if chosen is None:
        silent = sorted({case.point for case in plan if not fired[case.point]})
        row.take(model.Finding("answer", f"no call passes {point}") for point in silent)
    row.notes.append(f"{len(idle)} of {len(plan)} cases are not on the way of their call")
    return row


def _pending_for_a_while(place: Proved) -> list[model.Finding]:
    """What has landed of a pending plan is its client's, also where a scan meets it before ``recover`` does."""
    until_ready(place)
    first, second = fresh_note("while"), fresh_note("while")
    place.attempt("write", {"path": "while/n.md", "content": first, "expected_hash": "missing"}, first)
    place.arm({"point": "folder_index.apply", "kind": "raise", "times": 1})
    expected = ContentHash.of(first.encode())
    answer = place.attempt("write", {"path": "while/n.md", "content": second, "expected_hash": expected}, second)
    place.arm()
    time.sleep(_HOLD_S)
    pending_id = (answer or {}).get("pending_id")
    answer = place.call("recover", {"pending_id": pending_id})
    found = [] if answer.get("state") == "committed" else [model.Finding("pending", f"recover answered {answer}")]
    return found + model.check(place.places, within=_HOLD_S)


def _settled(vault: Path, row: Row, places: model.Places) -> None:
    """After the hold of replaced files the whole model must hold, without a start in between."""
    deadline = time.monotonic() + _HOLD_S
    while model.temps(vault) and time.monotonic() < deadline:
        time.sleep(0.1)
    row.take(model.check(places, within=1.0), "without a start")
