"""A run from end to end, against a real repository: what comes back, what stops it, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import backup
from backup import drill
from backup import key as keys
from backup.errors import BackupError, DamagedError, KeyFaultError, RemoteError
from backup.places import read_proof, read_state
from ledger import verify
from muninn.cli import command as muninn_command
from muninn.model import seams
from muninn.model.errors import MuninnError, VaultUnavailableError
from tests.backup.yard import Yard, lay_out, quiet, tree
from tests.conftest import at, breaking, furnish, note_text


def odd_files(vault: Path) -> None:
    """Everything that a tree can hold and that a backup tends to lose."""
    (vault / "odd").mkdir()
    for name in (
        b"-dash",
        b" space ",
        "é".encode(),
        "e\u0301".encode(),
        b"a*b?",
        b"\xff\xfe",
        b"new\nline",
        b"n" * 251,
    ):
        (vault / "odd" / os.fsdecode(name + b".md")).write_bytes(name)
    for size in (0, 1, 65_535, 65_536, 65_537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20):
        (vault / f"odd/{size}.bin").write_bytes(os.urandom(min(size, 70_000)) + bytes(max(0, size - 70_000)))
    (vault / "odd/same.bin").write_bytes(bytes(3 << 20))
    (vault / "odd/same-again.bin").write_bytes(bytes(3 << 20))
    (vault / "odd/read-only.md").write_text("x")
    (vault / "odd/read-only.md").chmod(0o440)
    (vault / "odd/nobody.md").write_text("x")
    if os.geteuid() == 0:
        (vault / "odd/nobody.md").chmod(0o000)
    (vault / "void/deep").mkdir(parents=True)
    (vault / "void/deep").chmod(0o500)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian/app.json").write_text("{}")
    (vault / ".hidden").write_text("x")
    os.utime(vault / ".hidden", ns=(1, -1_000_000_007))
    (vault / ".muninn-0123456789abcdef.tmp").write_text("half")
    (vault / "sub/.git").mkdir(parents=True)
    (vault / "sub/.git/config").write_text("[core]\n")
    (vault / "link.md").symlink_to("a.md")
    os.mkfifo(vault / "pipe")


def test_everything_comes_back_the_same_or_is_named(yard: Yard) -> None:
    odd_files(yard.vault)
    ran = yard.run()
    back = yard.restore()
    expected = {name: row for name, row in tree(yard.vault).items() if name != b".muninn-0123456789abcdef.tmp"}
    assert tree(back / "vault") == expected
    assert dict(ran.left_out) == {
        ".muninn-0123456789abcdef.tmp": "a temporary file of the gateway",
        "link.md": "a symbolic link",
        "pipe": "a special file",
        "sub/.git": "git's own",
    }
    assert ran.files == sum(row[0] == "file" for row in expected.values())
    found, live = verify(back / "ledger.db"), verify(yard.home / "ledger.db")
    assert (found.faults, found.head, found.contents) == ((), live.head, live.contents)
    assert (back / "ledger.db").stat().st_mode & 0o777 == 0o600


def test_nights_add_little_and_each_comes_back(yard: Yard) -> None:
    for number in range(300):
        yard.room.lay(f"many/{number}.md", note_text(f"note {number} " + os.urandom(400).hex()))
    nights = [yard.run()]
    states = [tree(yard.vault)]
    heads = [yard.room.door.ledger.tip().head]
    for night in range(2):
        yard.write(f"many/{night}.md", "changed\n")
        yard.room.lay("new.md", f"night {night}".encode())
        (yard.vault / f"many/{200 + night}.md").unlink()
        (yard.vault / "many" / "250.md").rename(yard.vault / "many" / f"{250}-{night}.md") if night == 0 else None
        nights.append(yard.run())
        states.append(tree(yard.vault))
        heads.append(yard.room.door.ledger.tip().head)
    assert all(later.sealed < nights[0].sealed / 5 for later in nights[1:])
    for number, (ran, state, head) in enumerate(zip(nights, states, heads, strict=True)):
        back = yard.restore(f"back{number}", ran.set)
        assert tree(back / "vault") == state
        assert verify(back / "ledger.db").head == head
    assert backup.verify(yard.places, True, quiet).faults == ()


def test_a_set_carries_a_signed_checkpoint(yard: Yard, tmp_path: Path) -> None:
    from backup.fetched import Holdings
    from backup.scratch import Scratch
    from ledger import checkpoint

    yard.run()
    fetched = drill.fetch(read_state(yard.places), tmp_path / "f.git", os.environ)
    holdings = Holdings(fetched.git, fetched.commit, keys.parse(yard.key))
    scratch = Scratch(tmp_path / "scratch")
    header = holdings.resolve(holdings.head.newest.id, scratch, "x")
    scratch.close()
    assert header.checkpoint is not None
    signed = checkpoint.parse(header.checkpoint)
    assert checkpoint.check(signed, yard.restore() / "ledger.db") == ()
    assert (signed.head, signed.rows) == (header.head, header.rows)


def test_nothing_is_in_clear(yard: Yard) -> None:
    yard.room.lay("secret-name.md", b"marker-lynx-4711")
    yard.run()
    objects = subprocess.run(
        ["git", "--git-dir", str(yard.remote), "cat-file", "--batch-all-objects", "--batch"], capture_output=True
    ).stdout
    for clear in (b"marker-lynx", b"secret-name", b"a.md", b'"files"', str(yard.room.door.vault.id).encode()):
        assert clear not in objects
    names = yard.git("ls-tree", "-r", "-t", "--name-only", "main").split("\n")
    assert {name.rpartition("/")[0] for name in names} <= {
        "",
        *(f"muninn-backup{part}" for part in ("", "/packs", "/sets")),
    }


def test_writers_go_on_while_it_runs(yard: Yard) -> None:
    """The ledger that comes back knows every write that had ended before, and is at one moment with the files."""
    stop = threading.Event()
    written: list[str] = []

    def write() -> None:
        number = 0
        while not stop.is_set():
            written.append(yard.write(f"w/{number}.md", f"w {number}\n"))
            number += 1

    before = yard.write("first.md", "before the run\n")
    writer = threading.Thread(target=write)
    at("backup.seal", writer.start)
    yard.run()
    stop.set()
    writer.join()
    back = yard.restore()
    assert len(written) > 3
    found = furnish_ledger(back)
    events = {row["body"]["path"] for row in found if row["kind"] == "plan"}
    assert before
    assert {"first.md", "door.md"} <= events
    notes = {os.fsdecode(name) for name in tree(back / "vault") if name.startswith(b"w/")}
    assert notes == {name for name in events if name.startswith("w/")}


def furnish_ledger(back: Path) -> list[dict[str, Any]]:
    from ledger import Ledger

    book = Ledger(back / "ledger.db")
    rows = book.rows(0, 100_000)
    book.close()
    return rows


def test_the_proof_is_written_at_the_very_end(yard: Yard) -> None:
    proof = read_proof(yard.places)
    assert proof is not None
    assert proof.last_ok is None
    ran = yard.run()
    proof = read_proof(yard.places)
    assert proof is not None
    assert (proof.files, proof.set, proof.counter) == (ran.files, ran.set, 1)
    assert proof.last_ok is not None
    for point in ("backup.seal", "backup.push", "backup.fetch", "backup.open", "vault.root", "vault.read"):
        at(point, breaking())
        with pytest.raises(MuninnError):
            yard.run()
        seams.arm(None)
        assert read_proof(yard.places) == proof
        assert backup.status(yard.places)["last_run"]["ok"] is False
    assert yard.run().files == ran.files


@pytest.mark.parametrize("point", ["backup.seal", "backup.push", "backup.fetch", "backup.open"])
def test_a_run_that_dies_leaves_nothing_in_the_way(yard: Yard, point: str) -> None:
    yard.run()
    proof = read_proof(yard.places)
    yard.room.lay("more.md", b"more")
    child = os.fork()
    if child == 0:
        at(point, lambda: os._exit(70))
        yard.run()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 70
    assert read_proof(yard.places) == proof
    assert (yard.places.work).exists()
    ran = yard.run()
    assert not yard.places.work.exists()
    assert tree(yard.restore() / "vault") == tree(yard.vault)
    numbers = [row.number for row in backup.known_head(yard.places).sets]  # type: ignore[union-attr]
    # A number is never used twice, and no set builds on one that was never proven.
    assert numbers == ([1, 2] if point == "backup.seal" else [1, 3])
    assert ran.counter == numbers[-1]


def test_what_a_dead_run_had_sent_may_arrive_late(yard: Yard) -> None:
    """A run is killed, its git goes on, and its commit comes in while the next run is about to push."""
    yard.run()
    child = os.fork()
    if child == 0:
        at("backup.push", lambda: os._exit(70))
        yard.run()
        os._exit(0)
    os.waitpid(child, 0)
    (late,) = read_state(yard.places).pending

    def arrive() -> None:
        own = ["git", "--git-dir", str(yard.places.repository), "push", "--quiet", str(yard.remote)]
        subprocess.run([*own, f"{late}:refs/heads/main"], check=True, capture_output=True)

    at("backup.push", arrive)
    yard.room.lay("more.md", b"more")
    yard.run()
    assert yard.git("rev-parse", "main~1") == late
    assert tree(yard.restore() / "vault") == tree(yard.vault)
    assert read_state(yard.places).pending == ()


def test_damage_elsewhere_hinders_no_restore(yard: Yard) -> None:
    """An object that the wanted set does not need: said, and no reason to give nothing back."""
    yard.room.lay("old.bin", os.urandom(9_000))
    first = yard.run()
    (yard.vault / "old.bin").unlink()
    yard.room.lay("new.md", b"new")
    second = yard.run(accept_shrink=True)
    from tests.cases import remote

    repository = remote.Repository(yard.remote)
    tip = str(repository.tip())
    name = f"muninn-backup/sets/{second.set}".encode()
    data = repository.git("cat-file", "blob", f"{tip}:{name.decode()}")
    torn = [(remote.File(name, "100644", "0" * 40), remote.flipped(data))]
    repository.move(repository.commit(tip, torn, tip))
    done = backup.restore(yard.places, yard.folder / "first", first.set, [], quiet)
    assert (done.files, [fault.partition(":")[0] for fault in done.damaged]) == (first.files, [f"sets/{second.set}"])
    with pytest.raises(DamagedError, match=f"sets/{second.set}.*|--at"):
        yard.restore("second", second.set)
    assert not (yard.folder / "second").exists()


def test_a_second_run_at_once_is_not_ok(yard: Yard) -> None:
    told: list[str] = []

    def other() -> None:
        try:
            yard.run()
        except BackupError as error:
            told.append(str(error))

    at("backup.fetch", other)
    yard.run()
    assert "another backup command is at work" in told[0]
    assert str(os.getpid()) in told[0]


def test_a_vault_that_shrank_stops_the_run(yard: Yard) -> None:
    for number in range(10):
        yard.room.lay(f"x/{number}.md", b"x")
    files = yard.run().files
    sealed: list[bool] = []
    for number in range(4):
        (yard.vault / f"x/{number}.md").unlink()
    at("backup.seal", lambda: sealed.append(True))
    with pytest.raises(BackupError, match=f"has {files - 4} files, the last set {files}.*--accept-shrink"):
        yard.run()
    assert sealed == []
    assert yard.run(accept_shrink=True).files == files - 4
    (yard.vault / "x/4.md").unlink()
    assert yard.run().files == files - 5


def test_a_vault_that_is_not_there_is_no_empty_one(yard: Yard) -> None:
    yard.run()
    yard.vault.rename(yard.folder / "away")
    with pytest.raises(VaultUnavailableError, match="vault"):
        yard.run()
    yard.vault.mkdir()
    with pytest.raises(VaultUnavailableError, match="vault"):
        yard.run(accept_shrink=True)
    yard.vault.rmdir()
    (yard.folder / "away").rename(yard.vault)
    yard.run()


def test_a_ledger_that_does_not_hold_stops_the_run(yard: Yard) -> None:
    yard.run()
    from contextlib import closing

    import apsw

    with closing(apsw.Connection(str(yard.home / "ledger.db"))) as other:
        other.execute("DROP TRIGGER rows_stay; UPDATE rows SET at = 'x' WHERE seq = 2")
    sealed: list[bool] = []
    at("backup.seal", lambda: sealed.append(True))
    with pytest.raises(BackupError, match="the ledger does not hold"):
        yard.run()
    assert sealed == []


def test_a_ledger_that_was_rolled_back_stops_the_run(yard: Yard) -> None:
    first = yard.run()
    yard.write("more.md", "more\n")
    yard.run()
    old = yard.restore("old", first.set) / "ledger.db"
    yard.room.door.ledger.close()
    for company in yard.home.glob("ledger.db*"):
        company.unlink()
    old.rename(yard.home / "ledger.db")
    with pytest.raises(BackupError, match="does not go on from the one of the last set"):
        yard.run()
    yard.run(accept_ledger=True)
    assert verify(yard.restore() / "ledger.db").head == verify(yard.home / "ledger.db").head


def test_another_vault_is_not_mixed_in(yard: Yard, tmp_path: Path) -> None:
    yard.run()
    (tmp_path / "other").mkdir()
    other = furnish(tmp_path / "other")
    yard.room.door.ledger.close()
    for company in yard.home.glob("ledger.db*"):
        company.unlink()
    other.door.ledger.close()
    (other.home / "ledger.db").rename(yard.home / "ledger.db")
    yard.room = type(other)(other.root, yard.home, other.door, other.nudges)
    other.lay("a.md", b"x")
    with pytest.raises(BackupError, match="of another vault"):
        yard.run(accept_shrink=True)
    other.door.ledger.close()


# --- the key and the remote -------------------------------------------------------------------------


def test_a_bad_key_stops_the_run_before_anything_is_sealed(yard: Yard) -> None:
    yard.run()
    sealed: list[bool] = []
    at("backup.seal", lambda: sealed.append(True), times=99)
    good = yard.places.key.read_text()
    other = keys.text(keys.new())
    for text, mode, told in (
        (other, 0o600, "not the one"),
        (good[:20], 0o600, "expected 56"),
        (good, 0o644, "chmod 600"),
    ):
        yard.places.key.write_text(text)
        yard.places.key.chmod(mode)
        with pytest.raises(KeyFaultError, match=told):
            yard.run()
        assert backup.status(yard.places)["key_fault"]
    yard.places.key.unlink()
    with pytest.raises(KeyFaultError, match="no backup key"):
        yard.run()
    assert sealed == []


def test_a_remote_with_sets_of_another_key_is_refused(yard: Yard, tmp_path: Path) -> None:
    yard.run()
    (tmp_path / "other").mkdir()
    other = lay_out(tmp_path / "other")
    before = yard.git("rev-parse", "main")
    with pytest.raises(KeyFaultError, match="holds sets already"):
        other.init(yard.remote)
    with pytest.raises(KeyFaultError, match="another key"):
        other.init(yard.remote, keys.text(keys.new()))
    assert yard.git("rev-parse", "main") == before
    assert not other.places.key.exists()
    assert not other.places.state.exists()
    other.room.door.ledger.close()


def test_a_new_machine_needs_the_key_alone(yard: Yard, tmp_path: Path) -> None:
    yard.run()
    yard.write("more.md", "more\n")
    yard.run()
    places = backup.Places(tmp_path / "home2", os.environ)
    done = backup.set_up(places, str(yard.remote), keys.parse(yard.key))
    assert (done.sets, done.key) == (2, None)
    backup.restore(places, tmp_path / "back2", None, [tmp_path / "home2"], quiet)
    assert tree(tmp_path / "back2/vault") == tree(yard.vault)
    head = backup.known_head(places)
    assert head is not None
    assert head.counter == 2


def test_init_can_be_run_again(yard: Yard) -> None:
    yard.run()
    key = yard.places.key.read_text()
    done = yard.init()
    assert (done.key, done.sets, yard.places.key.read_text()) == (None, 1, key)
    assert yard.run().counter == 2


def test_a_state_that_was_lost_is_found_by_init(yard: Yard) -> None:
    yard.run()
    yard.places.state.unlink()
    with pytest.raises(BackupError, match="not set up"):
        yard.run()
    assert yard.init().sets == 1
    assert yard.run().counter == 2


def test_a_set_that_lacks_something_is_not_carried_to_a_new_remote(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine knows it as its last set, but a content of it is in no pack: the new remote begins anew."""
    from backup import packs

    monkeypatch.setattr(drill, "prove", lambda *rest: None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packs.Packer, "add", lambda self, digest, total, blocks: None)
        yard.run()
    monkeypatch.undo()
    with pytest.raises(DamagedError, match="muninn backup init --remote"):
        yard.run()
    other = yard.folder / "other.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(other)], check=True)
    yard.init(other)
    yard.run()
    assert tree(yard.restore() / "vault") == tree(yard.vault)


def test_files_that_were_there_stay_as_they_were(tmp_path: Path) -> None:
    """A repository that was made with a README, attributes and all: they are carried along, and change no byte."""
    yard = lay_out(tmp_path)
    commit = "commit refs/heads/main\ncommitter x <x@x> 1 +0000\ndata 1\nx\n"
    files = {"README.md": "hello\n", ".gitattributes": "* text eol=crlf\n* filter=gone\n* export-ignore\n"}
    for name, text in files.items():
        commit += f"M 100644 inline {name}\ndata {len(text)}\n{text}\n"
    yard.git("fast-import", "--quiet", stdin=commit.encode())
    base = yard.git("rev-parse", "main")
    yard.init()
    yard.room.lay("crlf.md", b"a\r\nb\nc")
    yard.run()
    for number in range(4):
        yard.room.lay("crlf.md", b"a\r\nb\nc%d" % number)
        yard.run(policy=backup.Policy(1, 0))
    assert yard.git("merge-base", "--is-ancestor", base, "main") == ""
    assert yard.git("show", "main:README.md") == "hello"
    assert tree(yard.restore() / "vault") == tree(yard.vault)
    yard.room.door.ledger.close()


@pytest.mark.parametrize("url", ["ext::sh -c 'touch x'", "http://host/x", "git://host/x", "ftp://host/x", "-x:y"])
def test_an_address_that_could_run_something_is_refused(yard: Yard, url: str) -> None:
    with pytest.raises(BackupError):
        backup.set_up(yard.places, url, None)


def test_settings_of_the_person_change_no_byte(yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Global settings, templates, hooks and attributes that would each spoil a backup."""
    trap = tmp_path / "trap"
    (trap / "hooks").mkdir(parents=True)
    for name in ("pre-push", "reference-transaction", "post-checkout", "pre-commit"):
        hook = trap / "hooks" / name
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    (trap / "attributes").write_text("* text eol=crlf filter=trap ident\n")
    (trap / "config").write_text(
        f"[core]\n\thooksPath = {trap}/hooks\n\tattributesFile = {trap}/attributes\n\tautocrlf = true\n"
        f'[init]\n\ttemplateDir = {trap}\n[filter "trap"]\n\tclean = rev\n\tsmudge = rev\n\trequired = true\n'
        '[commit]\n\tgpgSign = true\n[push]\n\tdefault = nothing\n[url "https://nowhere.invalid/"]\n\tinsteadOf = /\n'
        "[transfer]\n\thideRefs = refs/heads\n"
    )
    (trap / "git").mkdir()
    (trap / "git/config").write_text((trap / "config").read_text())
    for name, value in {
        "HOME": str(trap),
        "XDG_CONFIG_HOME": str(trap),
        "GIT_CONFIG_GLOBAL": str(trap / "config"),
        "GIT_CONFIG_SYSTEM": str(trap / "config"),
        "GIT_DIR": str(trap),
        "GIT_WORK_TREE": str(trap),
        "GIT_OBJECT_DIRECTORY": str(trap),
        "GIT_TEMPLATE_DIR": str(trap),
    }.items():
        monkeypatch.setenv(name, value)
    yard.room.lay("crlf.md", b"a\r\nb\n$Id$\n")
    yard.run()
    assert tree(yard.restore() / "vault") == tree(yard.vault)


def test_a_push_that_is_refused_says_why_and_the_next_run_mends_it(yard: Yard) -> None:
    yard.run()
    hook = yard.remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho refused by rule >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RemoteError, match=r"the push was refused.*refused by rule"):
        yard.run()
    hook.unlink()
    yard.run()
    yard.remote.rename(yard.folder / "away.git")
    with pytest.raises(RemoteError, match="the remote cannot be reached"):
        yard.run()
    (yard.folder / "away.git").rename(yard.remote)
    yard.run()


def test_a_branch_that_somebody_moved_is_an_alarm(yard: Yard) -> None:
    yard.run()
    first = yard.git("rev-parse", "main")
    yard.room.lay("more.md", b"more")
    yard.run()
    yard.git("update-ref", "refs/heads/main", first)
    with pytest.raises(BackupError, match="AN OLDER STATE WAS PUT BACK"):
        yard.run()
    found = backup.verify(yard.places, False, quiet)
    assert "AN OLDER STATE WAS PUT BACK" in found.faults[0]
    with pytest.raises(BackupError, match="AN OLDER STATE WAS PUT BACK"):
        yard.init()
    yard.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(BackupError, match="is gone"):
        yard.run()
    strange = yard.git("commit-tree", yard.git("mktree"), "-m", "x")
    yard.git("update-ref", "refs/heads/main", strange)
    with pytest.raises(BackupError, match="somebody else changed it"):
        yard.run()
    assert yard.run(replace_remote=True).counter == 3
    head = backup.known_head(yard.places)
    assert head is not None
    assert [row.number for row in head.sets] == [1, 2, 3]
    assert [(one.counter, one.dropped) for one in head.rewrites] == [(3, ())]
    assert tree(yard.restore() / "vault") == tree(yard.vault)


def test_a_new_empty_remote_gets_the_sets_that_are_here(yard: Yard) -> None:
    first = yard.run()
    other = yard.folder / "other.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=trunk", str(other)], check=True)
    yard.init(other)
    yard.room.lay("more.md", b"more")
    yard.run()
    assert tree(yard.restore() / "vault") == tree(yard.vault)
    assert backup.restore(yard.places, yard.folder / "old", first.set, [], quiet).files == first.files


def test_a_repository_of_ours_that_was_lost_is_fetched_again(yard: Yard) -> None:
    yard.run()
    subprocess.run(["rm", "-rf", str(yard.places.repository)], check=True)
    yard.room.lay("more.md", b"more")
    ran = yard.run()
    assert ran.sealed < 20_000
    assert tree(yard.restore() / "vault") == tree(yard.vault)


# --- restoring --------------------------------------------------------------------------------------


def test_a_restore_goes_into_an_empty_folder_alone(yard: Yard) -> None:
    yard.run()
    for target in (yard.vault, yard.vault / "inside", yard.home / "x", yard.folder):
        with pytest.raises(BackupError, match=r"lies in|not empty"):
            backup.restore(yard.places, target, None, [yard.vault, yard.home], quiet)
    full = yard.folder / "full"
    full.mkdir()
    (full / "x").write_text("x")
    with pytest.raises(BackupError, match="not empty"):
        yard.restore("full")
    (yard.folder / "link").symlink_to(yard.vault)
    with pytest.raises(BackupError):
        yard.restore("link")
    with pytest.raises(BackupError, match="there is no set nonsense"):
        yard.restore("back", "nonsense")
    assert not (yard.folder / "back").exists()


@pytest.mark.parametrize(
    "names",
    [["../evil.md"], ["/etc/evil"], ["b/../../evil"], ["a.md -> /etc/passwd"], ["b//c.md"], ["."], ["never-sealed.md"]],
)
def test_a_set_with_names_that_leave_the_folder_is_refused_whole(yard: Yard, names: list[str]) -> None:
    yard.run()
    before = tree(yard.folder)
    seams.arm(lambda point, of: names if point == "backup.open" else None)
    with pytest.raises(DamagedError, match="refused whole"):
        yard.restore()
    assert tree(yard.folder) == before
    with pytest.raises(DamagedError, match="refused whole"):
        yard.run()


def test_a_sealed_set_with_bad_names_is_refused_whole(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where the names really are sealed: somebody with the key, or a bug, made such a set."""
    from backup import manifest

    honest = manifest.file_row
    monkeypatch.setattr(
        manifest, "file_row", lambda path, *rest: honest(b"../evil.md" if path == b"a.md" else path, *rest)
    )
    with pytest.raises(DamagedError, match=r"\.\./evil\.md.*refused whole"):
        yard.run()
    assert not list(yard.folder.rglob("evil.md"))


# --- as a command -----------------------------------------------------------------------------------


def test_the_command_says_what_it_did(yard: Yard) -> None:
    from click.testing import CliRunner

    places = {
        "MUNINN_VAULT": str(yard.vault),
        "MUNINN_HOME": str(yard.home),
        "MUNINN_CACHE": str(yard.folder / "cache"),
    }
    (yard.vault / "link.md").symlink_to("a.md")

    def muninn(*words: str, ok: bool = True) -> str:
        done = CliRunner().invoke(muninn_command, ["backup", *words], env=places)
        assert (done.exit_code == 0) is ok, done.output
        assert "Traceback" not in done.output
        return done.output

    assert "never proven" in muninn("status")
    said = muninn("run")
    assert "left out: link.md (a symbolic link)" in said
    assert "\nok 6 files" in said
    told = json.loads(muninn("run", "--json"))
    assert (told["ok"], told["files"], told["left_out"][0]["path"]) == (True, 6, "link.md")
    assert [row["number"] for row in json.loads(muninn("list", "--json"))["sets"]] == [1, 2]
    assert "6 files" in muninn("list")
    assert json.loads(muninn("status", "--json"))["last_ok"]
    assert "ok 6 files" in muninn("verify")
    assert len(json.loads(muninn("verify", "--all", "--json"))["sets"]) == 2
    assert "ok 6 files" in muninn("restore", "--to", str(yard.folder / "back"))
    yard.places.key.chmod(0o644)
    assert "not ok: the backup key can be read by others" in muninn("run", ok=False)
    failed = muninn("run", "--json", ok=False)
    assert json.loads(failed.splitlines()[0])["ok"] is False
    assert "was not ok" in muninn("status", ok=False)


def test_the_key_is_printed_once(tmp_path: Path) -> None:
    yard = lay_out(tmp_path)
    argv = [sys.executable, "-P", "-m", "muninn", "backup", "init", "--remote", str(yard.remote), "--json"]
    environment = os.environ | {"MUNINN_HOME": str(yard.home), "MUNINN_CACHE": str(tmp_path / "cache")}
    told = [json.loads(subprocess.run(argv, capture_output=True, env=environment, check=True).stdout) for _ in range(2)]
    assert keys.parse(told[0]["key"]) == keys.read(yard.places.key)
    assert told[1]["key"] is None
    assert yard.places.key.stat().st_mode & 0o777 == 0o600
    assert yard.places.folder.stat().st_mode & 0o777 == 0o700
    yard.room.door.ledger.close()
