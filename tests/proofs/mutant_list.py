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


_WRITING = "tests/writing/test_writing.py::"
_SHORT = "tests/test_proofs_short.py::"
_GROUP = "tests/writing/test_grouping.py::"
_APPLY = "muninn/vault/apply.py"
_TEMPS = "muninn/vault/temps.py"
_COMMIT = "muninn/writing/committing.py"
_PLAY = "muninn/writing/playing.py"
_AHEAD = "muninn/writing/seeing.py"
_TRACE = "muninn/bound/tracing.py"
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
            Edit(_PLAY, "    _look(run)\n    for", "    _look(run)\n    early = _settle(run)\n    for"),
            Edit(_PLAY, "    return _settle(run)\n", "    return early\n"),
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
                "muninn/writing/planning.py",
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
        (Edit("muninn/writing/planning.py", "        contents[view.note.hash] = view.note.content\n", ""),),
        (
            _SHORT + "test_a_fault_at_a_point_loses_nothing",
            _WRITING + "test_an_overwrite_and_an_edit_keep_the_mode_and_the_old_bytes",
        ),
    ),
    Mutant(
        "a repeated request is carried out again",
        (
            Edit(
                _COMMIT, "    if request is None or rights.client is None:\n        return None\n", "    return None\n"
            ),
        ),
        (_WRITING + "test_a_repeated_request_is_replayed",),
    ),
    Mutant(
        "recover rebases",
        (
            Edit(_PLAY, "    if strangers:\n", "    if False:\n"),
            Edit(_APPLY, "    if came_out == change.before or spelled(folder, temp) is None:", "    if True:"),
        ),
        (_WRITING + "test_an_outsider_in_between_supersedes_and_keeps_his_bytes",),
    ),
    Mutant(
        "files are looked at one by one",
        (Edit(_PLAY, "    if strangers:\n", "    if False:\n"),),
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
                "    for number_of_change, change in enumerate(course.entry.changes):\n",
                "    for number_of_change, change in reversed(list(enumerate(course.entry.changes))):\n",
            ),
            Edit(_PLAY, "        if number_of_change > 0:\n", "        if number_of_change == 0:\n"),
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
        (Edit(_COMMIT, "        door.ledger.keep_found({digest: unknown", "        dict({digest: unknown"),),
        (_WRITING + "test_a_start_keeps_unknown_bytes_of_a_temp_file_before_it_goes",),
    ),
    Mutant(
        "a settled plan is played again",
        (
            Edit(_COMMIT, '        if entry.state != "pending":\n            return entry\n', ""),
            # The table would refuse a second end by itself.
            Edit("ledger/schema.sql", "    plan     INTEGER PRIMARY KEY REFERENCES", "    plan     INTEGER REFERENCES"),
        ),
        (_WRITING + "test_a_step_that_fails_after_the_note_is_pending_and_recovered_once",),
    ),
    Mutant(
        "what a crash left is not played",
        (
            Edit(
                _COMMIT,
                "        playing.play(door, left, door.ledger.content, resumed=True, at_start=True)\n",
                "        pass\n",
            ),
        ),
        (_SHORT + "test_a_fault_at_a_point_loses_nothing",),
    ),
    Mutant(
        "a call is judged beside a plan that it meets",
        (Edit(_COMMIT, "    if ahead.meets(draft, page, rights.client, request):\n", "    if False:\n"),),
        (
            _GROUP + "test_the_same_request_twice_is_done_once",
            _GROUP + "test_of_many_on_one_hash_the_first_in_line_wins",
        ),
    ),
    Mutant(
        "twins are made in one turn",
        (Edit(_AHEAD, "self._spelled.get(same_name(way), way) != way or ", ""),),
        (_GROUP + "test_names_that_exclude_each_other_are_judged_one_after_the_other",),
    ),
    Mutant(
        "a page is made beside a plan that changes what it lists",
        (Edit(_AHEAD, " or draft.path.folder in self._closed:", ":"),),
        (_GROUP + "test_a_page_that_is_made_does_not_list_what_is_archived_with_it",),
    ),
    Mutant(
        "who builds on a plan that stopped is refused with it",
        (Edit(_COMMIT, "        if played.leaned:\n", "        if False:\n"),),
        (_GROUP + "test_one_that_fails_fails_alone",),
    ),
    Mutant(
        "what breaks for one draft stops the others",
        (Edit(_COMMIT, "            self.came = error\n", "            raise\n"),),
        (_GROUP + "test_a_note_that_cannot_be_read_stops_its_own_caller_only",),
    ),
    Mutant(
        "a page that has come past a plan is a stranger to it",
        (Edit(_PLAY, "(now != change.before and run.passed(number, change))", "False"),),
        (_GROUP + "test_after_a_death_a_start_finishes_all_that_was_kept",),
    ),
    Mutant(
        "a plan is recovered without those it builds on",
        (
            Edit(
                _COMMIT,
                "playing.connected(door.ledger.open_entries(), [change.path for change in entry.changes])",
                "[]",
            ),
        ),
        (_GROUP + "test_a_page_that_cannot_be_written_leaves_all_pending_and_any_recovery_finishes_them",),
    ),
    Mutant(
        "a folder that cannot be flushed is passed over",
        (Edit(_PLAY, "                course.leave_open(failed[path.folder])\n", "                pass\n"),),
        (_WRITING + "test_a_step_that_fails_after_the_note_is_pending_and_recovered_once",),
    ),
    Mutant(
        "plans that go together are kept one by one",
        (
            Edit(
                _COMMIT,
                "        entries = door.ledger.open_together(openings)\n",
                "        entries = [door.ledger.open_together([one])[0] for one in openings]\n",
            ),
        ),
        (_GROUP + "test_writes_of_one_folder_share_transactions_page_and_flush",),
    ),
    Mutant(
        "a plan that was pending stands in the history where it was made",
        (
            Edit(
                "ledger/history.py", "        seq, event = row[0], _event_seq(row)\n", "        seq = event = row[0]\n"
            ),
        ),
        ("tests/ledger/test_store.py::test_history_goes_by_the_ends_of_plans",),
    ),
    Mutant(
        "history stops although a plan was open",
        (Edit("ledger/history.py", 'if floor and row[_OPEN] == (row[_KIND] == "plan"):', "if floor:"),),
        ("tests/ledger/test_store.py::test_history_goes_by_the_ends_of_plans",),
    ),
    Mutant(
        "ends that came much later are not looked for",
        (
            Edit(
                "ledger/history.py",
                "    found += [row for row in reader.execute(LATE",
                "    [row for row in reader.execute(LATE",
            ),
        ),
        ("tests/ledger/test_store.py::test_history_goes_by_the_ends_of_plans",),
    ),
    Mutant(
        "a purge takes what others are packed against",
        (Edit("ledger/purge.py", "        blobs.stand_alone(writer, digest)\n", ""),),
        ("tests/ledger/test_blobs.py",),
    ),
    Mutant(
        "a revision is packed against one that needs another itself",
        (
            Edit("ledger/blobs.py", "    named = _base_named(row[1]) or named\n", ""),
            Edit(
                "ledger/blobs.py",
                "    base = base_of(connection, row[1]) if named != bytes.fromhex(earlier) else unpacked(*row)\n",
                "    base = content(connection, earlier)\n",
            ),
        ),
        ("tests/ledger/test_blobs.py",),
    ),
    Mutant(
        "one source more than the budget is looked at",
        (Edit(_TRACE, "if self.checks >= self.most_checks:", "if self.checks > self.most_checks:"),),
        ("tests/bound/test_tracing.py",),
    ),
    Mutant(
        "what the budget does not reach is taken for unchanged",
        (Edit(_TRACE, '        return "budget"\n', "        return None\n"),),
        ("tests/bound/test_tracing.py",),
    ),
    Mutant(
        "a cycle is current",
        (Edit(_TRACE, "nodes.keys() - order.keys()", "()"),),
        ("tests/bound/test_tracing.py", "tests/bound/test_summaries.py"),
    ),
    Mutant(
        "a private source leaves the summary public",
        (Edit(_TRACE, " and all(rights.sees(source.path) for source in found.sources)", ""),),
        ("tests/bound/test_summaries.py",),
    ),
    Mutant(
        "claims on private sources are listed for everybody",
        (Edit("muninn/bound/claims.py", "(claim for claim in batch if rights.sees(claim.source.path))", "batch"),),
        ("tests/bound/test_claims.py",),
    ),
    Mutant(
        "a private claim can be retracted by who may not know of it",
        (
            Edit(
                "muninn/bound/claims.py", "if found is None or not rights.sees(found.source.path):", "if found is None:"
            ),
        ),
        ("tests/bound/test_claims.py",),
    ),
    Mutant(
        "a source that changed is registered as it was read",
        (Edit("muninn/bound/summaries.py", "elif current != expected.hash:", "elif False:"),),
        ("tests/bound/test_summaries.py",),
    ),
    Mutant(
        "a write may take the request id of a claim",
        (Edit(_COMMIT, "return None if other is None else refusals.used_before(request.id)", "return None"),),
        ("tests/bound/test_claims.py",),
    ),
    Mutant(
        "request ids of claims are not compared with the chain",
        (Edit("ledger/verify.py", 'elif kind in ("claim", "retract", "summary"):', 'elif kind in ("none",):'),),
        ("tests/ledger/test_claims.py",),
    ),
)
