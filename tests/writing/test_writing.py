"""Writing: a plan lands whole or not at all, once, whatever breaks on the way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ledger import verify
from muninn import writing
from muninn.model import seams
from muninn.model.change import Kind, Pending, Receipt, Request
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.draft import Append, ArchiveDraft, Draft, EditDraft, Kept, RestoreDraft, WriteDraft
from muninn.model.errors import LedgerInDoubtError, LedgerUnavailableError, VaultUnavailableError
from muninn.model.refusal import Code, Refusal
from muninn.vault import exchange, temps
from tests.conftest import Room, at, breaking, furnish, note_text, path

OLD, NEW, FOREIGN = note_text("Old words.\n"), note_text("New words.\n"), b"foreign\n"
NOTE, PAGE = "d/a.md", "d/index.md"
VERBS = ["create", "overwrite", "archive", "restore"]


def draft(verb: str, name: str = NOTE, content: bytes = NEW) -> Draft:
    where = path(name)
    match verb:
        case "create":
            return WriteDraft(where, name, content, MISSING)
        case "overwrite":
            return WriteDraft(where, name, content, ContentHash.of(OLD))
        case "archive":
            return ArchiveDraft(where, ContentHash.of(OLD), "obsolete", None)
        case _:
            return RestoreDraft(where, Kept(ContentHash.of(content), content, 0o604))


def prepare(room: Room, verb: str) -> None:
    """A folder with a page, and the note where the verb needs one."""
    commit(room, WriteDraft(path("d/keep.md"), "d/keep.md", OLD, MISSING))
    if verb in ("overwrite", "archive"):
        commit(room, WriteDraft(path(NOTE), NOTE, OLD, MISSING))
    room.nudges.paths.clear()


def commit(room: Room, asked: Draft, request: Request | None = None, client: str = "ada") -> writing.Outcome:
    return writing.commit(room.door, room.rights(client), asked, request)


def vault_of(room: Room) -> dict[str, bytes]:
    return {str(f.relative_to(room.root)): f.read_bytes() for f in sorted(room.root.rglob("*")) if f.is_file()}


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes | None, bytes | None]]:
    """What note and page hold when a verb went well."""
    found = {}
    for verb in VERBS:
        room = furnish(tmp_path_factory.mktemp(verb), "index.md")
        prepare(room, verb)
        assert isinstance(commit(room, draft(verb)), Receipt)
        found[verb] = (room.bytes_of(NOTE), room.bytes_of(PAGE))
        room.door.ledger.close()
    return found


def assert_landed_once(room: Room, verb: str, ends: Any, events_before: int) -> None:
    assert (room.bytes_of(NOTE), room.bytes_of(PAGE)) == ends[verb]
    assert room.door.ledger.head()[:2] == (events_before + 1, 0)
    (of_note, *_), (of_page, *_) = (room.door.ledger.history(path(name), None, 9) for name in (NOTE, PAGE))
    assert of_note.id == of_page.id
    assert (of_note.kind, of_page.kind) == (Kind(verb), Kind.INDEX)
    assert room.temps() == []
    assert verify(room.home / "ledger.db").faults == ()


# --- when all goes well ----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_note_and_page_land_in_one_event(paged: Room, ends: Any, verb: str) -> None:
    prepare(paged, verb)
    before = paged.door.ledger.head()[0]
    outcome = commit(paged, draft(verb))
    assert isinstance(outcome, Receipt)
    assert_landed_once(paged, verb, ends, before)
    assert paged.door.ledger.history(path(NOTE), None, 1)[0].id == outcome.event
    assert paged.nudges.paths == [NOTE, PAGE]


def test_what_lands_is_byte_for_byte_what_was_sent(room: Room) -> None:
    raw = b"\xef\xbb\xbf" + NEW.replace(b"title:", b"# comment\r\ntitle:  ") + b"no end  \r"
    assert isinstance(commit(room, WriteDraft(path("a.md"), "a.md", raw, MISSING)), Receipt)
    assert room.bytes_of("a.md") == raw


def test_an_overwrite_and_an_edit_keep_the_mode_and_the_old_bytes(room: Room) -> None:
    room.lay("a.md", OLD).chmod(0o604)
    commit(room, WriteDraft(path("a.md"), "a.md", NEW, ContentHash.of(OLD)))
    commit(room, EditDraft(path("a.md"), (Append("more\n"),), ContentHash.of(NEW)))
    assert room.bytes_of("a.md") == NEW + b"more\n"
    assert (room.root / "a.md").stat().st_mode & 0o777 == 0o604
    assert room.door.ledger.content(ContentHash.of(OLD)) == OLD
    assert room.door.ledger.content(ContentHash.of(NEW)) == NEW


def test_archive_and_restore_bring_bytes_mode_and_folder_back(room: Room) -> None:
    room.lay("x/y/a.md", b"no contract\n").chmod(0o604)
    where = path("x/y/a.md")
    commit(room, ArchiveDraft(where, ContentHash.of(b"no contract\n"), "obsolete", "gone"))
    (room.root / "x/y").rmdir()
    (room.root / "x").rmdir()
    event = room.door.ledger.history(where, None, 1)[0]
    assert (event.reason, event.note) == ("obsolete", "gone")
    found = room.door.ledger.revision(where, event.id)
    assert found is not None
    content = room.door.ledger.content(found[0])
    assert content is not None
    assert isinstance(commit(room, RestoreDraft(where, Kept(found[0], content, found[1]))), Receipt)
    assert room.bytes_of("x/y/a.md") == b"no contract\n"
    assert (room.root / "x/y/a.md").stat().st_mode & 0o777 == 0o604


def test_right_hash_and_same_bytes_are_no_event(room: Room) -> None:
    file = room.lay("a.md", OLD)
    seen, head = file.stat(), room.door.ledger.head()
    outcome = commit(room, WriteDraft(path("a.md"), "a.md", OLD, ContentHash.of(OLD)))
    assert isinstance(outcome, Receipt)
    assert outcome.event is None
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (seen.st_mtime_ns, seen.st_ino)
    assert room.door.ledger.head() == head


# --- retries ---------------------------------------------------------------------------------------


def test_a_repeated_request_is_replayed(room: Room) -> None:
    first = commit(room, draft("create"), Request("r", "digest"))
    again = commit(room, draft("create"), Request("r", "digest"))
    assert isinstance(first, Receipt)
    assert isinstance(again, writing.Replayed)
    assert (again.entry.event, again.entry.state) == (first.event, "committed")
    assert room.door.ledger.head()[0] == 1


def test_a_request_with_nothing_to_change_is_replayed_as_well(room: Room) -> None:
    room.lay(NOTE, OLD)
    asked = WriteDraft(path(NOTE), NOTE, OLD, ContentHash.of(OLD))
    first = commit(room, asked, Request("r", "digest"))
    again = commit(room, asked, Request("r", "digest"))
    assert isinstance(first, Receipt)
    assert first.event is None
    assert isinstance(again, writing.Replayed)
    assert (again.entry.event, room.door.ledger.head()[:2]) == (None, (0, 0))


def test_a_request_id_for_another_call_is_refused(room: Room) -> None:
    commit(room, draft("create"), Request("r", "digest"))
    outcome = commit(room, draft("create", "b.md"), Request("r", "other"))
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.INVALID_ARGUMENTS
    assert room.bytes_of("b.md") is None


def test_a_request_id_belongs_to_one_client(room: Room) -> None:
    commit(room, draft("create"), Request("r", "digest"), "ada")
    outcome = commit(room, draft("create", "b.md"), Request("r", "digest"), "ben")
    assert isinstance(outcome, Receipt)


def test_refusals_are_not_kept_for_a_request(room: Room) -> None:
    at("vault.write", breaking())
    assert isinstance(commit(room, draft("create"), Request("r", "digest")), Refusal)
    assert isinstance(commit(room, draft("overwrite"), Request("s", "digest")), Refusal)
    assert isinstance(commit(room, draft("create"), Request("r", "digest")), Receipt)
    assert room.door.ledger.head()[0] == 1


def test_a_pending_request_answers_its_present_state(paged: Room) -> None:
    prepare(paged, "create")
    at("folder_index.apply", breaking())
    first = commit(paged, draft("create"), Request("r", "digest"))
    assert isinstance(first, Pending)
    again = commit(paged, draft("create"), Request("r", "digest"))
    assert isinstance(again, writing.Replayed)
    assert (again.entry.state, again.entry.terms.pending_id) == ("pending", first.id)
    writing.recover(paged.door, "ada", first.id)
    settled = commit(paged, draft("create"), Request("r", "digest"))
    assert isinstance(settled, writing.Replayed)
    assert settled.entry.state == "committed"


# --- when a step fails -----------------------------------------------------------------------------

TOUCHING = ["vault.write", "vault.fsync", "vault.exchange"]
BEFORE_THE_NOTE = [
    (point, verb)
    for point in ("ledger.commit", *TOUCHING)
    for verb in VERBS
    if (point, verb) not in (("vault.write", "archive"), ("vault.fsync", "archive"))
]
AFTER_THE_NOTE = [(point, PAGE) for point in TOUCHING] + [
    ("folder_index.apply", None),
    ("vault.fsync_folder", None),
    ("ledger.settle", None),
]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize(("point", "verb"), BEFORE_THE_NOTE)
def test_a_step_that_fails_before_the_note_refuses_and_changes_nothing(
    paged: Room, point: str, verb: str, code: int
) -> None:
    prepare(paged, verb)
    before, events = vault_of(paged), paged.door.ledger.head()[0]
    at(point, breaking(code), where=None if point == "ledger.commit" else NOTE)
    outcome = commit(paged, draft(verb))
    assert isinstance(outcome, Refusal)
    assert outcome.code is (Code.LEDGER_UNAVAILABLE if point == "ledger.commit" else Code.VAULT_UNAVAILABLE)
    assert str(paged.root) not in outcome.message
    assert vault_of(paged) == before
    assert paged.door.ledger.head()[:2] == (events, 0)
    assert verify(paged.home / "ledger.db").faults == ()
    assert isinstance(commit(paged, draft(verb)), Receipt)


@pytest.mark.parametrize(("code", "again"), [(errno.EIO, True), (errno.EACCES, False), (errno.EROFS, False)])
def test_a_client_is_not_told_to_try_again_where_no_try_can_help(room: Room, code: int, again: bool) -> None:
    at("vault.write", breaking(code), where=NOTE)
    outcome = commit(room, draft("create"))
    assert isinstance(outcome, Refusal)
    assert ("Try again" in outcome.message, "Only the owner" in outcome.message) == (again, not again)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("point", "where"), AFTER_THE_NOTE)
def test_a_step_that_fails_after_the_note_is_pending_and_recovered_once(
    paged: Room, ends: Any, point: str, where: str | None, verb: str
) -> None:
    prepare(paged, verb)
    events = paged.door.ledger.head()[0]
    at(point, breaking(), where=where)
    outcome = commit(paged, draft(verb))
    assert isinstance(outcome, Pending)
    assert paged.temps() == []
    assert paged.door.ledger.head()[:2] == (events, 1)
    assert paged.door.ledger.history(path(NOTE), None, 9)[: 1 if verb == "create" else 0] == []
    for _ in range(2):
        entry = writing.recover(paged.door, "ada", outcome.id)
        assert not isinstance(entry, Refusal)
        assert (entry.state, entry.landed) == ("committed", (NOTE, PAGE))
    assert_landed_once(paged, verb, ends, events)


def test_a_recovery_that_fails_stays_pending(paged: Room, ends: Any) -> None:
    prepare(paged, "create")
    events = paged.door.ledger.head()[0]
    at("folder_index.apply", breaking())
    outcome = commit(paged, draft("create"))
    assert isinstance(outcome, Pending)
    for point in ("vault.write", "vault.root", "ledger.settle"):
        at(point, breaking())
        entry = writing.recover(paged.door, "ada", outcome.id)
        assert not isinstance(entry, Refusal)
        assert entry.state == "pending"
    writing.recover(paged.door, "ada", outcome.id)
    assert_landed_once(paged, "create", ends, events)


def test_a_plan_of_which_nothing_landed_stays_pending_until_it_is_done(room: Room) -> None:
    """The vault fails, and then the ledger cannot even write that the plan has ended."""
    left = 2

    def failing(point: str, where: str | None) -> None:
        nonlocal left
        if left and point in ("vault.write", "ledger.settle"):
            left -= 1
            breaking()()

    seams.arm(failing)
    outcome = commit(room, draft("create"))
    assert isinstance(outcome, Pending)
    at("vault.write", breaking())
    entry = writing.recover(room.door, "ada", outcome.id)
    assert not isinstance(entry, Refusal)
    assert entry.state == "pending"
    room.lay(NOTE, FOREIGN)
    entry = writing.recover(room.door, "ada", outcome.id)
    assert not isinstance(entry, Refusal)
    assert (entry.state, entry.landed, entry.event) == ("superseded", (), None)
    assert room.bytes_of(NOTE) == FOREIGN


def test_a_plan_is_recovered_by_its_own_client_alone(paged: Room) -> None:
    prepare(paged, "create")
    at("folder_index.apply", breaking())
    outcome = commit(paged, draft("create"))
    assert isinstance(outcome, Pending)
    for client, pending_id in (("ben", outcome.id), (None, outcome.id), ("ada", "pn-0"), ("ada", "")):
        entry = writing.recover(paged.door, client, pending_id)
        assert isinstance(entry, Refusal)
        assert entry.code is Code.UNKNOWN_ID
    assert paged.door.ledger.head()[1] == 1


@pytest.mark.parametrize(
    ("change", "landed"), [(NOTE, ()), (PAGE, (NOTE,)), ("both", ())], ids=["note", "page", "both"]
)
@pytest.mark.parametrize("by", ["recover", "start"])
def test_an_outsider_in_between_supersedes_and_keeps_his_bytes(
    paged: Room, change: str, landed: tuple[NotePath, ...], by: str
) -> None:
    prepare(paged, "overwrite")
    at("folder_index.apply", breaking())
    outcome = commit(paged, draft("overwrite"))
    assert isinstance(outcome, Pending)
    for name in (NOTE, PAGE) if change == "both" else (change,):
        paged.lay(name, FOREIGN)
    before = vault_of(paged)
    if by == "recover":
        writing.recover(paged.door, "ada", outcome.id)
    else:
        writing.recover_all(paged.door)
    entry = paged.door.ledger.entry(outcome.id)
    assert entry is not None
    assert (entry.state, entry.landed, entry.settled_at_start) == ("superseded", landed, by == "start")
    assert vault_of(paged) == before
    assert verify(paged.home / "ledger.db").faults == ()


def test_a_superseded_request_says_so_and_is_not_done_again(paged: Room) -> None:
    prepare(paged, "create")
    at("folder_index.apply", breaking())
    outcome = commit(paged, draft("create"), Request("r", "digest"))
    assert isinstance(outcome, Pending)
    paged.lay(PAGE, FOREIGN)
    writing.recover(paged.door, "ada", outcome.id)
    again = commit(paged, draft("create"), Request("r", "digest"))
    assert isinstance(again, Refusal)
    assert again.code is Code.CONFLICT
    assert again.details["landed"] == [NOTE]


def test_a_vault_that_is_gone_is_no_success_and_no_folder(room: Room) -> None:
    room.root.rename(room.root.with_name("away"))
    with pytest.raises(VaultUnavailableError):
        commit(room, draft("create"))
    assert not room.root.exists()
    assert room.door.ledger.head()[:2] == (0, 0)


def test_a_vault_that_goes_away_in_the_middle(room: Room) -> None:
    at("ledger.commit", lambda: room.root.rename(room.root.with_name("away")))
    outcome = commit(room, draft("create"))
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.VAULT_UNAVAILABLE
    assert not room.root.exists()


# --- somebody writes around the door ---------------------------------------------------------------


def replace_by_rename(room: Room, name: str, content: bytes = FOREIGN) -> None:
    new = room.root / "outside"
    new.write_bytes(content)
    new.replace(room.root / name)


@pytest.mark.parametrize("verb", ["overwrite", "archive"])
@pytest.mark.parametrize("exchanging", [True, False])
def test_an_outsider_in_the_instant_of_the_exchange_wins(
    paged: Room, verb: str, exchanging: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanging:
        monkeypatch.setattr(exchange, "_call", lambda: None)
    prepare(paged, verb)
    events, page = paged.door.ledger.head()[0], paged.bytes_of(PAGE)
    at("vault.exchange", lambda: replace_by_rename(paged, NOTE), where=NOTE)
    outcome = commit(paged, draft(verb))
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.CONFLICT
    assert outcome.details["current_hash"] == ContentHash.of(FOREIGN)
    assert outcome.details["expected_hash"] == ContentHash.of(OLD)
    assert "+foreign" in outcome.details["diff"]
    assert (paged.bytes_of(NOTE), paged.bytes_of(PAGE)) == (FOREIGN, page)
    assert paged.door.ledger.content(ContentHash.of(FOREIGN)) == FOREIGN
    assert paged.door.ledger.head()[:2] == (events, 0)
    assert paged.temps() == []


@pytest.mark.parametrize("verb", ["create", "restore"])
def test_an_outsider_who_is_there_first_wins(paged: Room, verb: str) -> None:
    prepare(paged, verb)
    at("vault.exchange", lambda: paged.lay(NOTE, FOREIGN), where=NOTE)
    outcome = commit(paged, draft(verb))
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.EXISTS
    assert outcome.details["current_hash"] == ContentHash.of(FOREIGN)
    assert paged.bytes_of(NOTE) == FOREIGN
    assert paged.temps() == []


@pytest.mark.parametrize(("verb", "code"), [("create", Code.EXISTS), ("overwrite", Code.CONFLICT)])
def test_a_folder_that_is_there_first_is_named(paged: Room, verb: str, code: Code) -> None:
    prepare(paged, verb)

    def act() -> None:
        (paged.root / NOTE).unlink(missing_ok=True)
        (paged.root / NOTE).mkdir()

    at("vault.exchange", act, where=NOTE)
    outcome = commit(paged, draft(verb))
    assert isinstance(outcome, Refusal)
    assert outcome.code is code
    assert "folder" in outcome.message
    assert (paged.root / NOTE).is_dir()
    assert paged.temps() == []


def test_a_note_that_vanishes_in_the_instant_is_a_conflict(room: Room) -> None:
    room.lay(NOTE, OLD)
    at("vault.exchange", (room.root / NOTE).unlink)
    outcome = commit(room, draft("overwrite"))
    assert isinstance(outcome, Refusal)
    assert (outcome.code, outcome.details["current_hash"]) == (Code.CONFLICT, "missing")
    assert room.bytes_of(NOTE) is None


def test_bytes_of_two_outsiders_survive_an_archive(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.lay(NOTE, OLD)
    honest = temps.hash_of

    def slow_look(folder: int, name: str) -> ContentHash | None:
        room.lay(NOTE, b"second\n")
        return honest(folder, name)

    monkeypatch.setattr(temps, "hash_of", slow_look)
    at("vault.exchange", lambda: replace_by_rename(room, NOTE))
    assert isinstance(commit(room, draft("archive")), Refusal)
    assert room.bytes_of(NOTE) == b"second\n"
    assert room.door.ledger.content(ContentHash.of(FOREIGN)) == FOREIGN
    assert room.temps() == []


def test_every_file_is_looked_at_before_the_first_is_touched(paged: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(paged, "create")
    honest = paged.door.ledger.open_together

    def overtaken(*values: Any) -> Any:
        entry = honest(*values)
        paged.lay(PAGE, FOREIGN)
        return entry

    monkeypatch.setattr(paged.door.ledger, "open_together", overtaken)
    touched: list[str] = []
    seams.arm(lambda point, where: touched.append(point) if point in TOUCHING else None)
    assert isinstance(commit(paged, draft("create")), Refusal)
    assert touched == []


def test_an_outsiders_edit_that_a_write_finds_is_an_event_once(room: Room) -> None:
    commit(room, WriteDraft(path(NOTE), NOTE, OLD, MISSING))
    room.lay(NOTE, FOREIGN)
    for _ in range(2):
        assert isinstance(commit(room, draft("overwrite")), Refusal)
    (theirs, ours) = room.door.ledger.history(path(NOTE), None, 9)
    assert (theirs.kind, theirs.client, theirs.before, theirs.after) == (
        Kind.EXTERNAL,
        None,
        ContentHash.of(OLD),
        ContentHash.of(FOREIGN),
    )
    assert ours.client == "ada"
    assert room.door.ledger.content(ContentHash.of(FOREIGN)) == FOREIGN
    assert verify(room.home / "ledger.db").faults == ()


# --- many at once ----------------------------------------------------------------------------------


def test_of_twenty_writers_on_one_hash_one_wins(room: Room) -> None:
    room.lay(NOTE, OLD)
    barrier = threading.Barrier(20)
    outcomes: list[tuple[bytes, writing.Outcome]] = []

    def write(number: int) -> None:
        content = note_text(f"Writer {number}.\n")
        asked = WriteDraft(path(NOTE), NOTE, content, ContentHash.of(OLD))
        barrier.wait()
        outcomes.append((content, commit(room, asked, client=f"client-{number}")))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [content for content, outcome in outcomes if isinstance(outcome, Receipt)]
    refusals = [outcome for _, outcome in outcomes if isinstance(outcome, Refusal)]
    assert len(winners) == 1
    assert len(refusals) == 19
    assert room.bytes_of(NOTE) == winners[0]
    assert {refusal.code for refusal in refusals} == {Code.CONFLICT}
    assert {refusal.details["current_hash"] for refusal in refusals} == {ContentHash.of(winners[0])}
    assert room.door.ledger.head()[:2] == (1, 0)
    assert room.temps() == []


def test_writers_of_one_folder_keep_every_line(paged: Room) -> None:
    def write(number: int) -> None:
        commit(paged, WriteDraft(path(f"d/{number}.md"), f"d/{number}.md", OLD, MISSING))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (paged.bytes_of(PAGE) or b"").count(b"- [[d/") == 8
    assert paged.door.ledger.head()[:2] == (8, 0)


# --- when the process dies -------------------------------------------------------------------------

DEATHS = [("ledger.commit", 1)]
DEATHS += [(point, nth) for point in TOUCHING for nth in (1, 2)]
DEATHS += [("folder_index.apply", 1), ("vault.fsync_folder", 1), ("ledger.settle", 1)]
DYING = [
    (verb, point, nth)
    for verb in VERBS
    for point, nth in DEATHS
    if (verb, nth) != ("archive", 2) or point == TOUCHING[2]
]


def die(folder: Path, verb: str, point: str, nth: int) -> None:
    """Write, and end the process at the n-th passing of a point. Runs in a process of its own."""
    room = furnish(folder, "index.md")
    left = nth

    def hook(passed: str, where: str | None) -> None:
        nonlocal left
        left -= passed == point
        if left == 0:
            os._exit(70)

    seams.arm(hook)
    commit(room, draft(verb))


_DRIVER = """
import json, os, pathlib, sys
from tests.writing.test_writing import die
for folder, verb, point, nth in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        die(pathlib.Path(folder), verb, point, nth)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="module")
def graves(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, int], Path]:
    """Rooms in each of which a process has died, all made by one helper process that forks."""
    found = {}
    for verb, point, nth in DYING:
        folder = tmp_path_factory.mktemp("grave")
        room = furnish(folder, "index.md")
        prepare(room, verb)
        room.door.ledger.close()
        found[verb, point, nth] = folder
    orders = json.dumps([(str(folder), *death) for death, folder in found.items()])
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-P", "-c", _DRIVER]
    done = subprocess.run(
        command, input=orders, text=True, capture_output=True, check=True, env={"PYTHONPATH": root}, timeout=60
    )
    assert done.stdout.split() == ["70"] * len(DYING)
    return found


@pytest.mark.parametrize(("verb", "point", "nth"), DYING)
def test_after_a_death_note_and_page_land_together_or_not_at_all(
    graves: dict[tuple[str, str, int], Path], ends: Any, verb: str, point: str, nth: int
) -> None:
    room = furnish(graves[verb, point, nth], "index.md")
    events = room.door.ledger.head()[0]
    settled = writing.recover_all(room.door)
    if point == "ledger.commit":
        assert settled == []
        assert room.bytes_of(NOTE) == (None if verb in ("create", "restore") else OLD)
        assert room.door.ledger.head()[:2] == (events, 0)
        assert isinstance(commit(room, draft(verb)), Receipt)
    else:
        assert [(entry.state, entry.settled_at_start) for entry in settled] == [("committed", True)]
        assert writing.recover_all(room.door) == []
        listed = room.door.ledger.settled_at_start("ada", 9)
        assert [entry.seq for entry in listed] == [settled[0].seq]
    assert_landed_once(room, verb, ends, events)
    if verb == "restore":
        assert (room.root / NOTE).stat().st_mode & 0o777 == 0o604
    room.door.ledger.close()


def test_a_start_keeps_unknown_bytes_of_a_temp_file_before_it_goes(paged: Room) -> None:
    prepare(paged, "create")
    at("folder_index.apply", breaking())
    commit(paged, draft("create"))
    paged.lay("d/.muninn-0123456789abcdef.tmp", b"unknown bytes\n")
    writing.recover_all(paged.door)
    assert paged.temps() == []
    assert paged.door.ledger.content(ContentHash.of(b"unknown bytes\n")) == b"unknown bytes\n"


def test_a_start_that_cannot_keep_bytes_removes_none(paged: Room) -> None:
    prepare(paged, "create")
    at("folder_index.apply", breaking())
    commit(paged, draft("create"))
    paged.lay("d/.muninn-0123456789abcdef.tmp", b"unknown bytes\n")
    at("ledger.commit", breaking())
    with pytest.raises(LedgerUnavailableError):
        writing.recover_all(paged.door)
    assert len(paged.temps()) == 1
    assert len(paged.door.ledger.open_entries()) == 1


def test_bytes_that_the_ledger_lost_leave_the_plan_pending(paged: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(paged, "create")
    at("folder_index.apply", breaking())
    outcome = commit(paged, draft("create"))
    assert isinstance(outcome, Pending)
    monkeypatch.setattr(paged.door.ledger, "content", lambda digest: None)
    entry = writing.recover(paged.door, "ada", outcome.id)
    assert not isinstance(entry, Refusal)
    assert entry.state == "pending"


def test_a_ledger_that_cannot_be_read_stops_a_request(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(client: str, request_id: str) -> None:
        raise LedgerUnavailableError("the ledger cannot be read")

    monkeypatch.setattr(room.door.ledger, "request", broken)
    with pytest.raises(LedgerUnavailableError):
        commit(room, draft("create"), Request("r", "digest"))
    assert room.bytes_of(NOTE) is None


@pytest.mark.parametrize("verb", ["overwrite", "archive"])
def test_a_write_that_landed_is_not_told_as_failed_because_its_temp_file_stays(
    room: Room, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    room.lay(NOTE, OLD)
    honest = os.unlink

    def stuck(name: str, **more: Any) -> None:
        if name.endswith(".tmp"):
            raise OSError(errno.EIO, "stuck")
        honest(name, **more)

    monkeypatch.setattr(os, "unlink", stuck)
    assert isinstance(commit(room, draft(verb)), Receipt)
    assert room.bytes_of(NOTE) == (NEW if verb == "overwrite" else None)
    monkeypatch.undo()
    writing.recover_all(room.door)
    assert room.temps() == []


def test_an_edit_of_a_note_that_is_not_there_points_to_write(room: Room) -> None:
    outcome = commit(room, EditDraft(path("none.md"), (Append("x"),), MISSING))
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.NOT_FOUND


def test_a_write_over_a_pending_one_finishes_it_first(room: Room) -> None:
    room.lay(NOTE, OLD)
    at("ledger.settle", breaking())
    assert isinstance(commit(room, draft("overwrite")), Pending)
    seams.arm(None)
    third = note_text("Third.\n")
    outcome = commit(room, WriteDraft(path(NOTE), NOTE, third, ContentHash.of(NEW)))
    assert isinstance(outcome, Receipt)
    events = room.door.ledger.history(path(NOTE), None, 9)
    assert [(event.before, event.after) for event in events] == [
        (ContentHash.of(NEW), ContentHash.of(third)),
        (ContentHash.of(OLD), ContentHash.of(NEW)),
    ]


def test_a_pending_plan_that_cannot_be_finished_holds_its_note(room: Room) -> None:
    room.lay(NOTE, OLD)

    def stuck(point: str, _: str | None) -> None:
        if point == "ledger.settle":
            raise OSError(errno.EIO, "stuck")

    seams.arm(stuck)
    assert isinstance(commit(room, draft("overwrite")), Pending)
    held = commit(room, WriteDraft(path(NOTE), NOTE, note_text("Third.\n"), ContentHash.of(NEW)))
    assert isinstance(held, Refusal)
    assert "pending" in held.message


def test_a_note_replaced_right_after_it_landed_is_committed_and_then_external(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.lay(NOTE, OLD)
    honest = room.door.vault.flush

    def overtaken(paths: list[NotePath]) -> None:
        honest(paths)
        replace_by_rename(room, NOTE)

    monkeypatch.setattr(room.door.vault, "flush", overtaken)
    assert isinstance(commit(room, draft("overwrite")), Receipt)
    kinds = [event.kind for event in room.door.ledger.history(path(NOTE), None, 9)]
    assert kinds == [Kind.EXTERNAL, Kind.OVERWRITE]
    assert room.door.ledger.content(ContentHash.of(FOREIGN)) == FOREIGN


def test_a_commit_whose_flush_fails_is_pending_because_it_may_yet_land(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubtful(*_: Any, **__: Any) -> Any:
        raise LedgerInDoubtError("the disk reports an error")

    monkeypatch.setattr(room.door.ledger, "open_together", doubtful)
    assert isinstance(commit(room, draft("create")), Pending)
    assert room.bytes_of(NOTE) is None
