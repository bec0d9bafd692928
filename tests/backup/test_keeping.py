"""Which sets stay, and what is left of the branch without the others."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

import backup
from backup import keeping, places
from backup.errors import BackupError
from backup.head import Head, Object, SetRow
from backup.keeping import Policy, is_due, leaving
from backup.places import read_proof
from tests.backup.yard import Entry, Yard, quiet, tree
from tests.conftest import at, breaking

NIGHTS = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]


def rows(days: list[str]) -> list[SetRow]:
    return [SetRow(f"{n:016x}", n, f"{day}T03:00:00.000Z", None, 1, 1, "", 1) for n, day in enumerate(days)]


def kept(days: list[str], policy: Policy) -> list[str]:
    gone = leaving(rows(days), policy)
    return [row.at[:10] for row in rows(days) if row.id not in gone]


def test_so_many_days_and_months_stay() -> None:
    assert kept(NIGHTS, Policy(3, 0)) == NIGHTS[-3:]
    assert kept(NIGHTS, Policy(2, 3)) == ["2026-10-28", "2026-11-28", "2026-12-27", "2026-12-28"]
    assert len(kept(NIGHTS, Policy())) == 30 + 10
    assert leaving(rows(NIGHTS[:30]), Policy()) == ()


def test_every_set_of_the_newest_day_stays_and_the_newest_two_always() -> None:
    days = ["2026-01-01", "2026-01-02", "2026-01-02", "2026-01-03", "2026-01-03", "2026-01-03"]
    assert kept(days, Policy(2, 0)) == ["2026-01-02", "2026-01-03", "2026-01-03", "2026-01-03"]
    assert kept(days[:4], Policy(1, 0)) == ["2026-01-02", "2026-01-03"]


def test_a_clock_that_jumps_makes_nothing_older() -> None:
    days = [*NIGHTS[:5], "2099-01-01", *NIGHTS[5:8]]
    assert kept(days, Policy(30, 12)) == days
    back = [*NIGHTS[100:105], "1999-01-01"]
    assert kept(back, Policy(30, 12)) == back


def test_many_small_packs_are_due() -> None:
    small = Object("packs/x", "", 5000)
    head = Head("v", 1, None, tuple(rows(NIGHTS[:2])), (small,) * keeping.MANY, ())
    assert not is_due(head, Policy())
    assert is_due(Head("v", 1, None, head.sets, (*head.packs, small), ()), Policy())


def nights(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, count: int, policy: Policy
) -> list[tuple[backup.Ran, dict[bytes, Entry]]]:
    """So many nights, each a day later, with something new, changed and gone in each."""
    done = []
    for night in range(count):
        day = (datetime(2026, 5, 4, tzinfo=UTC) + timedelta(days=night)).isoformat().replace("+00:00", "Z")
        monkeypatch.setattr(places, "now", lambda day=day: day)
        yard.room.lay("today.md", os.urandom(3000))
        yard.room.lay(f"day-{night}.md", os.urandom(1000))
        yard.write("door.md", f"night {night}\n")
        if night:
            (yard.vault / f"day-{night - 1}.md").unlink()
        done.append((yard.run(policy=policy), tree(yard.vault)))
    return done


def test_old_sets_leave_and_those_that_stay_come_back(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    done = nights(yard, monkeypatch, 6, Policy(3, 0))
    assert [len(ran.dropped) for ran, _ in done] == [0, 0, 0, 1, 1, 1]
    head = backup.known_head(yard.places)
    assert head is not None
    assert [row.id for row in head.sets] == [ran.set for ran, _ in done[3:]]
    assert [(one.counter, one.dropped) for one in head.rewrites] == [(ran.counter, ran.dropped) for ran, _ in done[3:]]
    for number, (ran, state) in enumerate(done[3:]):
        assert tree(yard.restore(f"back{number}", ran.set) / "vault") == state
    with pytest.raises(BackupError, match="there is no set"):
        yard.restore("gone", done[0][0].set)
    assert yard.git("rev-list", "--count", "main") == "1"
    assert backup.verify(yard.places, True, quiet).faults == ()
    proof = read_proof(yard.places)
    assert proof is not None
    assert proof.commit == yard.git("rev-parse", "main")


def test_what_no_set_needs_leaves_the_packs(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.room.lay("big.bin", os.urandom(3_000_000))
    yard.run()
    (yard.vault / "big.bin").unlink()
    nights(yard, monkeypatch, 3, Policy(2, 0))
    head = backup.known_head(yard.places)
    assert head is not None
    assert sum(pack.size for pack in head.packs) < 100_000
    sizes = yard.git("ls-tree", "-r", "-l", "main").split("\n")
    assert all(int(line.split()[3]) < 100_000 for line in sizes)


def test_small_packs_are_put_together(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MANY", 3)
    done = nights(yard, monkeypatch, 5, Policy(30, 12))
    head = backup.known_head(yard.places)
    assert head is not None
    assert len(head.packs) <= 3
    assert [one.why for one in head.rewrites] == ["small packs were put together"]
    for number, (ran, state) in enumerate(done):
        assert tree(yard.restore(f"back{number}", ran.set) / "vault") == state


def test_a_content_that_crosses_packs_is_not_torn(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    from backup import packs

    monkeypatch.setattr(packs.Packer.__init__, "__defaults__", (1 << 20,))
    yard.room.lay("big.bin", os.urandom(3_500_000))
    done = nights(yard, monkeypatch, 4, Policy(2, 0))
    assert tree(yard.restore(at=done[-1][0].set) / "vault") == done[-1][1]
    assert tree(yard.restore("b", at=done[-2][0].set) / "vault") == done[-2][1]


def test_a_rewrite_that_cannot_be_proven_is_not_ok(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    nights(yard, monkeypatch, 3, Policy(3, 0))
    before = read_proof(yard.places)
    passed: list[str] = []

    def second() -> None:
        passed.append("fetch")
        if len(passed) == 2:
            breaking()()

    at("backup.fetch", second, times=9)
    yard.room.lay("more.md", b"more")
    with pytest.raises(BackupError):
        yard.run(policy=Policy(2, 0))
    assert (len(passed), read_proof(yard.places)) == (2, before)
    at("backup.fetch", lambda: None)
    assert yard.run(policy=Policy(2, 0)).files
    assert tree(yard.restore() / "vault") == tree(yard.vault)
