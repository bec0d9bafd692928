"""Each kind of hostile script once, and the proof itself: it must see a script that came out otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.proofs import attack_js
from tests.proofs.hostile_js import ATTACKS, CITATIONS, Attack, Gives, RunsOut


def _one_of_each() -> list[Attack]:
    return list({attack.kind: attack for attack in reversed(ATTACKS)}.values())


def test_each_kind_of_attack_is_held(tmp_path: Path) -> None:
    attacks = _one_of_each()
    assert len(attacks) == 12
    tally = attack_js.prove(tmp_path, attacks)
    found = (tally.escapes, tally.citations, tally.ends, tally.deaths)
    assert not any(found), found
    assert tally.others


def test_the_corpus_is_large_and_says_nothing_twice() -> None:
    assert len(ATTACKS) >= 100
    assert len({attack.script for attack in ATTACKS}) == len(ATTACKS)


def test_the_proof_sees_what_came_out_otherwise(tmp_path: Path) -> None:
    """A wrong value, a missing citation, a limit that did not run out, a secret that shows: each is told."""
    read = next(attack for attack in CITATIONS if attack.cites)
    attacks = [
        replace(read, due=Gives("another")),
        replace(read, cites=()),
        Attack("cpu", "return 1", RunsOut(("time",))),
        Attack("paths", "return 'wombat' + 'secret'", Gives("wombatsecret")),
    ]
    tally = attack_js.prove(tmp_path, attacks)
    assert (len(tally.ends), len(tally.citations), len(tally.escapes)) == (2, 1, 1)
    assert not tally.holds
