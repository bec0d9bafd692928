"""A few rounds of each long proof: the suite notices when one no longer runs, or no longer holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muninn.model import seams
from muninn.model.draft import WriteDraft
from muninn.vault import temps
from tests.proofs import crash_kill, crash_points, fuzz, heard, judging, model, points, race_http, race_outside, writer
from tests.proofs.asking import Shot
from tests.proofs.points import Case
from tests.proofs.said import Said
from tests.proofs.table import Row
from tests.proofs.wire import Reply

CASES = [
    Case("overwrite", "ledger.commit", "plan", "enospc"),
    Case("overwrite", "vault.exchange", "note", "raise"),
    Case("create", "folder_index.apply", "page", "raise"),
    Case("archive", "vault.exchange", "note", "exit after"),
    Case("overwrite", "vault.exchange", "note", "exit after"),
    Case("restore", "ledger.settle", "plan", "exit"),
    Case("start", "vault.fsync_folder", "note", "exit"),
]


def broken(row: Row) -> list[str]:
    return [f"[{finding.kind}] {finding.what}" for finding in row.findings]


def test_a_fault_at_a_point_loses_nothing(tmp_path: Path) -> None:
    row = crash_points.prove(tmp_path, 50, CASES)
    assert broken(row) == []
    assert row.notes == [f"0 of {len(CASES)} cases are not on the way of their call"]


def test_the_points_are_found_in_the_code() -> None:
    found = points.names()
    assert {"ledger.commit", "vault.exchange", "ledger.settle"} <= set(found)
    assert {case.point for case in points.cases()} == set(found)


def test_a_kill_under_load_loses_nothing(tmp_path: Path) -> None:
    row = crash_kill.prove(tmp_path, 50, 3)
    assert broken(row) == []
    assert row.acknowledged > 0


def test_of_many_writers_one_wins(tmp_path: Path) -> None:
    assert broken(race_http.prove(tmp_path, 5, 20)) == []


@pytest.mark.parametrize(("manner", "meetings"), [("rename", 150), ("swap", 50)])
def test_no_version_of_an_outsider_is_lost(tmp_path: Path, manner: str, meetings: int) -> None:
    assert broken(race_outside.prove(tmp_path, meetings, manner, seconds=12)) == []


def test_hostile_requests_do_no_harm(tmp_path: Path) -> None:
    assert fuzz.prove(tmp_path, 1_500, seed=1)


# --- the proofs themselves --------------------------------------------------------------------------


def test_the_model_sees_what_is_wrong(tmp_path: Path) -> None:
    """Each promise broken by hand once: a proof that cannot fail proves nothing."""
    (tmp_path / "vault").mkdir()
    said = Said()
    heard.begin(tmp_path, said)
    places = model.Places(tmp_path / "vault", tmp_path / "home", said)
    assert model.check(places) == []
    note = tmp_path / "vault/w0/0.md"
    whole = note.read_bytes()
    note.write_bytes(whole[:20])
    assert {finding.kind for finding in model.check(places)} == {"torn", "history"}
    note.write_bytes(whole)
    (note.parent / ".muninn-0123456789abcdef.tmp").touch()
    (note.parent / "unlisted.md").write_bytes(whole)
    assert {finding.kind for finding in model.check(places)} == {"temp", "page"}
    said.refused[said.acks[0].after] = "conflict"
    assert "ghost" in {finding.kind for finding in model.check(places)}


@pytest.mark.parametrize(
    ("reply", "fine"),
    [
        (Reply(200, b'{"jsonrpc":"2.0","id":1,"result":{}}'), True),
        (Reply(401, b'{"error":"no"}'), True),
        (Reply(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}'), False),
        (Reply(500, b'{"error":"no"}'), False),
        (Reply(200, b"<html>"), False),
        (Reply(0, b""), False),
    ],
)
def test_answers_are_judged(reply: Reply, fine: bool) -> None:
    assert (judging.fault(Shot(call={}), reply) is None) is fine


def test_a_request_is_made_smaller_as_long_as_it_fails() -> None:
    big = Shot(call={"a": [1, {"b": "xxxxbadxxxx"}], "c": 2}, headers=(("Host", "x"), ("Accept", "y")))
    small = judging.smallest(big, lambda shot: b"bad" in shot.bytes())
    assert small.call == {"a": [{"b": "bad"}]}
    assert small.headers == ()


def test_bytes_and_names_are_flushed_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new file's bytes before it takes the name, the folder before the plan ends: what a power cut relies on."""
    (tmp_path / "vault").mkdir()
    heard.begin(tmp_path, Said())
    door = writer.door_of(tmp_path)
    flushed: list[int] = []
    order: list[tuple[str, frozenset[int]]] = []
    honest = temps.flush
    note, folder = tmp_path / "vault/w0/0.md", tmp_path / "vault/w0"

    def flush(descriptor: int) -> None:
        flushed.append(os.fstat(descriptor).st_ino)
        honest(descriptor)

    monkeypatch.setattr(temps, "flush", flush)
    seams.arm(lambda point, path: order.append((point, frozenset(flushed))))
    where = writer.path_of("w0/0.md")
    content = note.read_bytes().replace(b"Attempt", b"Another attempt")
    answer = writer.send(door, WriteDraft(where, where, content, writer.present(door, where)))
    seams.arm(None)
    door.ledger.close()
    door.index.close()
    assert answer["state"] == "committed"
    exchanged = next(seen for point, seen in order if point == "vault.exchange")
    settled = next(seen for point, seen in order if point == "ledger.settle")
    assert note.stat().st_ino in exchanged
    assert folder.stat().st_ino in settled
