"""Guards of the backup, each with the test that must notice that it is gone."""

from __future__ import annotations

from typing import Final

from .mutant_list import Edit, Mutant

_RUN: Final = "tests/backup/test_run.py::"
_SEAL: Final = "tests/backup/test_seal.py"
_SHORT: Final = ("tests/backup/test_proofs_short.py::test_no_false_ok",)
_RUNNING: Final = "backup/running.py"


def _one(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(f"backup: {name}", (Edit(file, old, new),), tests)


BACKUP: Final = (
    _one(
        "no shrink alarm",
        _RUNNING,
        "if files < before * SHRINK:",
        "if False:",
        _RUN + "test_a_vault_that_shrank_stops_the_run",
    ),
    _one(
        "a key that others can read",
        "backup/key.py",
        "if stat.S_IMODE(seen.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):",
        "if False:",
        _RUN + "test_a_bad_key_stops_the_run_before_anything_is_sealed",
    ),
    _one(
        "another key",
        _RUNNING,
        "if keys.known_by(key) != state.fingerprint:",
        "if False:",
        _RUN + "test_a_bad_key_stops_the_run_before_anything_is_sealed",
    ),
    _one(
        "a broken ledger is sealed",
        _RUNNING,
        "fault = snapshot.first_fault(one.ledger, bar)",
        "fault = None",
        _RUN + "test_a_ledger_that_does_not_hold_stops_the_run",
    ),
    _one(
        "a ledger that was rolled back",
        _RUNNING,
        "if copy.chain_at(last.rows) != last.head:",
        "if copy.tip().rows < 1:",
        _RUN + "test_a_ledger_that_was_rolled_back_stops_the_run",
    ),
    _one(
        "the files are not compared",
        "backup/drill.py",
        "faults += different(scratch, expected.table)",
        "pass",
        *_SHORT,
    ),
    _one(
        "the ledgers are not compared",
        "backup/drill.py",
        "unlike = snapshot.unlike(expected.ledger, place.ledger)",
        "unlike = None",
        "tests/backup/test_drill.py",
    ),
    _one(
        "what does not belong is passed over",
        "backup/drill.py",
        "faults += holdings.out_of_place(expected.base)",
        "pass",
        "tests/backup/test_drill.py",
    ),
    _one(
        "the commit that came back is not looked at",
        "backup/drill.py",
        "faults = [] if fetched.commit == expected.commit else [_moved(fetched.commit, expected.commit)]",
        "faults: list[str] = []",
        "tests/backup/test_drill.py",
    ),
    _one(
        "an older head is taken",
        "backup/drill.py",
        "if holdings.head.counter != expected.counter:",
        "if False:",
        "tests/backup/test_drill.py",
    ),
    _one(
        "an object of another hash is taken",
        "backup/fetched.py",
        "if reader.ended() != one.sha256:",
        "if reader.ended() and False:",
        "tests/backup/test_drill.py",
    ),
    _one(
        "names are not judged",
        "backup/restoring.py",
        "        _judge_names(scratch, table)\n",
        "        pass\n",
        _RUN + "test_a_sealed_set_with_bad_names_is_refused_whole",
    ),
    _one(
        "contents are not hashed",
        "backup/restoring.py",
        "    if found != digest:\n",
        "    if False:\n",
        "tests/backup/test_drill.py",
    ),
    _one(
        "the branch may be anywhere",
        "backup/branch.py",
        "    if found == state.expects:\n        return state\n",
        "    return replace(state, expects=found)\n",
        _RUN + "test_a_branch_that_somebody_moved_is_an_alarm",
    ),
    _one(
        "an unproven set is built on",
        "backup/branch.py",
        "        return replace(state, expects=found)\n",
        "        return replace(state, expects=found, tip=found)\n",
        *_SHORT,
    ),
    _one(
        "a cut is not noticed",
        "backup/seal.py",
        "        last = not self._ahead\n",
        "        last = False if self._ahead else (self._number > 0 or len(sealed) <= CHUNK)\n",
        _SEAL,
    ),
    _one(
        "a chunk is not bound to its object",
        "backup/seal.py",
        'place = name.encode("ascii")',
        'place = b""',
        _SEAL,
    ),
    _one(
        "the cut is taken without the write lock",
        "backup/cut.py",
        "with self._opened() as root, write_lock(self._home):",
        "with self._opened() as root:",
        "tests/backup/test_cut.py",
    ),
    _one(
        "nobody looks again",
        "backup/cut.py",
        "                self._look_again(root)\n",
        "                pass\n",
        "tests/backup/test_cut.py",
    ),
    _one(
        "two runs at once",
        "backup/places.py",
        "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        _RUN + "test_a_second_run_at_once_is_not_ok",
    ),
    _one(
        "the proof comes before the drill",
        _RUNNING,
        '    seams.at("backup.push")\n',
        "    placing.write_proof(one.places, placing.Proof(placing.now(), placing.now(), 1))\n",
        _RUN + "test_the_proof_is_written_at_the_very_end",
    ),
    _one(
        "a person's git settings count",
        "backup/git.py",
        '        "GIT_CONFIG_GLOBAL": os.devnull,\n',
        "",
        _RUN + "test_settings_of_the_person_change_no_byte",
    ),
    _one(
        "old sets leave before the newest is proven",
        "backup/keeping.py",
        "    kept = {row.id for row in sets[-_NEWEST:]}\n",
        "    kept: set[str] = set()\n",
        "tests/backup/test_keeping.py",
    ),
)
