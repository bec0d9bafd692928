"""Guards taken away one at a time, each with the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that stands exactly once in a file, and what stands there instead."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A guard that is gone, and where that is noticed."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


_WRITING = "tests/test_writing.py::"
_SHORT = "tests/test_proofs_short.py::"
_APPLY = "muninn/vault/apply.py"
_TEMPS = "muninn/vault/temps.py"
_PLAY = "muninn/writing.py"
_OUTSIDER = (_WRITING + "test_an_outsider_in_the_instant_of_the_exchange_wins",)

MUTANTS: Final = (
    Mutant(
        "what came out is not swapped back",
        (
            Edit(
                _APPLY,
                "        exchange.exchange(folder, temp, place.name)\n    if temps",
                "        pass\n    if temps",
            ),
        ),
        _OUTSIDER,
    ),
    Mutant(
        "nobody looks at what came out",
        (Edit(_APPLY, "    if came_out == change.before or spelled(folder, temp) is None:", "    if True:"),),
        (_SHORT + "test_no_version_of_an_outsider_is_lost",),
    ),
    Mutant(
        "the plan is ended before it is carried out",
        (
            Edit(
                _PLAY,
                "        for number, change in enumerate(entry.changes):\n",
                '        event = door.ledger.settle(entry, "committed", [c.path for c in entry.changes])\n'
                "        for number, change in enumerate(entry.changes):\n",
            ),
            Edit(
                _PLAY,
                "        return _settle(door, entry, progress)\n",
                "        return Played('committed', (), event)\n",
            ),
        ),
        (_WRITING + "test_a_step_that_fails_after_the_note_is_pending_and_recovered_once",),
    ),
    Mutant(
        "the file is not flushed",
        (Edit(_TEMPS, "        flush(descriptor)\n        os.lseek", "        os.lseek"),),
        (_SHORT + "test_bytes_and_names_are_flushed_in_order",),
    ),
    Mutant(
        "the folder is not flushed",
        (
            Edit(
                _APPLY,
                "                temps.flush(folder.descriptor)\n        finally",
                "                pass\n        finally",
            ),
        ),
        (_SHORT + "test_bytes_and_names_are_flushed_in_order",),
    ),
    Mutant(
        "the expected hash is ignored",
        (
            Edit(
                "muninn/planning.py",
                "            return None if current == expected else ",
                "            return None if True else ",
            ),
        ),
        (_WRITING + "test_of_twenty_writers_on_one_hash_one_wins",),
    ),
    Mutant(
        "no writer waits for another",
        (
            Edit("muninn/vault/lock.py", "    with _here:\n", "    if True:\n"),
            Edit(
                "muninn/vault/lock.py",
                "            fcntl.flock(descriptor, fcntl.LOCK_EX)\n            yield",
                "            yield",
            ),
        ),
        ("tests/vault/test_lock.py", _SHORT + "test_of_many_writers_one_wins"),
    ),
    Mutant(
        "processes do not wait for one another",
        (
            Edit(
                "muninn/vault/lock.py",
                "            fcntl.flock(descriptor, fcntl.LOCK_EX)\n            yield",
                "            yield",
            ),
        ),
        ("tests/vault/test_lock.py",),
    ),
    Mutant(
        "the bytes before are not kept",
        (Edit("muninn/planning.py", "        contents[view.note.hash] = view.note.content\n", ""),),
        (
            _SHORT + "test_a_fault_at_a_point_loses_nothing",
            _WRITING + "test_an_overwrite_and_an_edit_keep_the_mode_and_the_old_bytes",
        ),
    ),
    Mutant(
        "a repeated request is carried out again",
        (Edit(_PLAY, "    if request is None or rights.client is None:\n        return None\n", "    return None\n"),),
        (_WRITING + "test_a_repeated_request_is_replayed",),
    ),
    Mutant(
        "recover rebases",
        (
            Edit(_PLAY, "        if strangers:\n", "        if False:\n"),
            Edit(_APPLY, "    if came_out == change.before or spelled(folder, temp) is None:", "    if True:"),
        ),
        (_WRITING + "test_an_outsider_in_between_supersedes_and_keeps_his_bytes",),
    ),
    Mutant(
        "files are looked at one by one",
        (Edit(_PLAY, "        if strangers:\n", "        if False:\n"),),
        (_WRITING + "test_every_file_is_looked_at_before_the_first_is_touched",),
    ),
    Mutant(
        "the temp file stays",
        (Edit(_TEMPS, "        os.unlink(temp, dir_fd=folder)\n", "        pass\n"),),
        (_SHORT + "test_a_fault_at_a_point_loses_nothing",),
    ),
    Mutant(
        "the page goes before the note",
        (
            Edit(
                _PLAY,
                "        for number, change in enumerate(entry.changes):\n",
                "        for number, change in reversed(list(enumerate(entry.changes))):\n",
            ),
        ),
        (_WRITING + "test_a_step_that_fails_before_the_note_refuses_and_changes_nothing",),
    ),
    Mutant(
        "the chain is not compared",
        (Edit("ledger/verify.py", "opened, body), changes) != stored:", "opened, body), changes) is None:"),),
        ("tests/ledger/test_verify.py",),
    ),
    Mutant(
        "a row does not hang on the row before",
        (
            Edit(
                "ledger/append.py",
                "(*row, chain.link(previous, row, stored))",
                "(*row, chain.link(chain.START, row, stored))",
            ),
        ),
        (_SHORT + "test_the_model_sees_what_is_wrong",),
    ),
    Mutant(
        "a creation replaces what is there",
        (
            Edit(
                "muninn/vault/exchange.py",
                "    flag = swap_flag if exchange else exclusive_flag\n",
                "    flag = swap_flag if exchange else 0\n",
            ),
        ),
        (_WRITING + "test_an_outsider_who_is_there_first_wins",),
    ),
    Mutant(
        "a held file is not looked at again",
        (
            Edit(
                _TEMPS,
                "        if content is not None and ContentHash.of(content) != aside.hash:\n",
                "        if False:\n",
            ),
        ),
        ("tests/vault/test_apply.py",),
    ),
    Mutant(
        "unknown bytes of a temp file are swept",
        (Edit(_PLAY, "        door.ledger.keep_found({digest: unknown", "        dict({digest: unknown"),),
        (_WRITING + "test_a_start_keeps_unknown_bytes_of_a_temp_file_before_it_goes",),
    ),
    Mutant(
        "a settled plan is played again",
        (
            Edit(_PLAY, '        if entry.state != "pending":\n            return entry\n', ""),
            # The table would refuse a second end by itself.
            Edit("ledger/schema.sql", "    plan     INTEGER PRIMARY KEY REFERENCES", "    plan     INTEGER REFERENCES"),
        ),
        (_WRITING + "test_a_step_that_fails_after_the_note_is_pending_and_recovered_once",),
    ),
    Mutant(
        "what a crash left is not played",
        (
            Edit(
                _PLAY,
                "            play(door, entry, door.ledger.content, resumed=True, at_start=True)\n",
                "            pass\n",
            ),
        ),
        (_SHORT + "test_a_fault_at_a_point_loses_nothing",),
    ),
)
