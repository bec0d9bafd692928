"""Differently broken installations: each is named by the check it concerns and by no other, and nothing is changed."""

from __future__ import annotations

import dataclasses
import fcntl
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backup import key as backup_keys
from ledger import Opening, Terms
from muninn import clients
from muninn.model.change import Change, Kind
from muninn.model.content import MISSING, ContentHash, NotePath
from tests.conftest import note_text, path

from .patient import TOKEN, Patient, faults, furnish


@dataclass(frozen=True, slots=True)
class Broken:
    """What is done to a healthy installation, which checks name it, and what the first of them says or lists."""

    name: str
    do: Callable[[Patient], object]
    checks: str
    says: str
    arguments: tuple[str, ...] = ()


def _at(file: Path, offset: int, content: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset if offset >= 0 else file.stat().st_size + offset)
        opened.write(content)


def _empty(one: Patient) -> None:
    for child in one.vault.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()


def _sql(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _drop_triggers(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    _sql(file, *(f"DROP TRIGGER {name}" for name, _ in triggers), *statements, *(sql for _, sql in triggers))


def _flip_kept_byte(one: Patient) -> None:
    _drop_triggers(
        one.home / "ledger.db",
        "UPDATE blobs SET packed = CAST(substr(packed, 1, length(packed) - 1) || x'ff' AS BLOB) WHERE id = 1",
    )


def _change_newest_row(one: Patient) -> None:
    newest = "(SELECT max(seq) FROM rows)"
    _drop_triggers(one.home / "ledger.db", f"UPDATE rows SET client = 'somebody' WHERE seq = {newest}")


def _set_up_backup(one: Patient, hours: float, ok: bool = True) -> None:
    folder, made = one.home / "backup", backup_keys.new()
    folder.mkdir(mode=0o700)
    then = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
    state: dict[str, object] = {
        "remote": "r",
        "branch": "b",
        "base": None,
        "fingerprint": backup_keys.known_by(made),
        "pending": [],
    }
    files = {
        "key": backup_keys.text(made) + "\n",
        "state.json": json.dumps(state),
        "proof.json": json.dumps({"set_up": then, "last_ok": then, "files": 3}),
        "last-run.json": json.dumps({"at": then, "ok": ok, "reason": None if ok else "the remote was away"}),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)


def _keep_canary(one: Patient, ok: bool) -> None:
    state = {"at": "2026-05-04T00:00:00Z", "ok": ok, "last_ok": None, "asked": 2, "failing": [] if ok else ["tides"]}
    (one.home / "canary-state.json").write_text(json.dumps(state))
    (one.home / "canary-state.json").chmod(0o600)


def _clear_token(one: Patient) -> None:
    file = one.home / "clients.toml"
    file.write_text(file.read_text().replace("token_sha256 =", f'token = "{TOKEN}"\n#'))


def _twice(one: Patient) -> None:
    file = one.home / "clients.toml"
    known = clients.load(file)["bot"]
    text = file.read_text()
    clients.save(file, {"other": known})
    file.write_text(text + file.read_text().replace('"bot"', '"other"'))


def _expired(one: Patient) -> None:
    file = one.home / "clients.toml"
    file.write_text(file.read_text() + 'expires = "2020-01-01T00:00:00+00:00"\n')


def _pending(one: Patient) -> None:
    content = note_text("new\n")
    digest, where = ContentHash.of(content), path("waits.md")
    door = one.door()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ledger.append.now", lambda: "2026-05-04T00:00:00.000Z")
        terms = Terms("bot", Kind.CREATE, where, MISSING, digest, "pd-1", "1")
        door.ledger.open_together([Opening(terms, (Change(where, MISSING, digest),), {digest: content})])
    door.ledger.close()


def _tomorrow(one: Patient) -> None:
    door = one.door()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ledger.append.now", lambda: "2099-05-04T00:00:00.000Z")
        door.ledger.witness([Change(NotePath("x.md"), MISSING, ContentHash.of(b"x"))], {ContentHash.of(b"x"): b"x"})
    door.ledger.close()


def _sign_and_cut(one: Patient) -> None:
    shutil.copy2(one.home / "ledger.db", one.folder / "before.db")
    door = one.door()
    door.ledger.witness([Change(NotePath("x.md"), MISSING, ContentHash.of(b"x"))], {ContentHash.of(b"x"): b"x"})
    door.ledger.close()
    assert one.runs("ledger", "checkpoint", "--to", str(one.folder / "signed")).exit_code == 0
    shutil.copy2(one.folder / "before.db", one.home / "ledger.db")


def _tls_key(one: Patient) -> None:
    (one.folder / "tls.pem").write_text("key")
    (one.folder / "tls.pem").chmod(0o640)


def _open_token(one: Patient) -> None:
    (one.home / "tokens").mkdir(mode=0o700)
    (one.home / "tokens/bot").write_text(TOKEN)
    (one.home / "tokens/bot").chmod(0o644)


def _lag(one: Patient) -> None:
    (one.vault / "a.md").write_bytes(note_text("Another song\n", "Alpha"))


def _leak(one: Patient) -> None:
    """A row of a private note in the index that everybody is answered from."""
    _sql(one.cache / "index.db", "UPDATE docs SET path = 'private/c.md' WHERE path = 'b.md'")


def _no_folder(one: Patient) -> None:
    shutil.rmtree(one.cache)
    one.cache.write_text("")


def _add_model(one: Patient) -> None:
    """As it is after the cache was thrown away: the home still says that there is one."""
    record = {"backend": "onnx", "name": "folder", "files": {"tokenizer.json": "0" * 64}}
    (one.home / "models.json").write_text(json.dumps({"encoder": record}))
    (one.home / "models.json").chmod(0o600)


def _ledger(one: Patient) -> Path:
    return one.home / "ledger.db"


def _index(one: Patient) -> Path:
    return one.cache / "index.db"


def _mark(one: Patient) -> Path:
    return one.vault / ".muninn-vault"


BROKEN = [
    Broken("the vault is missing", lambda p: p.vault.rename(p.folder / "away"), "vault", "there is none"),
    Broken("another vault", lambda p: _mark(p).write_text("0" * 32), "vault", "has the id 0000"),
    Broken("an id that is none", lambda p: _mark(p).write_text("\0"), "vault", "holds no vault id"),
    Broken("the vault was emptied", _empty, "vault", "suddenly empty"),
    Broken("garbage in the index", lambda p: _at(_index(p), 4096, b"\xa5" * 60000), "index", "index"),
    Broken("the index is no database", lambda p: _index(p).write_bytes(b"x" * 5000), "index", "NotADB"),
    Broken("a file in the cache's place", _no_folder, "index", "the cache is no folder"),
    Broken("a model that is gone", _add_model, "models", "tokenizer.json is not there; run: muninn model add"),
    Broken("half an index", lambda p: (p.cache / "index-private.db").unlink(), "index", "only index.db"),
    Broken("the index lags behind", _lag, "index-rows", "a.md: changed"),
    Broken("a note without a row", lambda p: (p.vault / "d.md").write_bytes(note_text()), "index-rows", "d.md: not in"),
    Broken("a row without a note", lambda p: (p.vault / "b.md").unlink(), "index-rows", "b.md: in the index alone"),
    Broken("a private note for everybody", _leak, "index-rows", "private notes in the public index"),
    Broken("the ledger is gone", lambda p: _ledger(p).unlink(), "ledger vault", "there is no ledger.db"),
    Broken("a garbage page", lambda p: _at(_ledger(p), 4096, b"\xa5" * 8192), "ledger vault", "ledger"),
    Broken("the newest row was changed", _change_newest_row, "ledger vault", "does not fit the chain"),
    Broken("a later ledger", lambda p: _sql(_ledger(p), "PRAGMA user_version=99"), "ledger", "update Muninn"),
    Broken("a flipped kept byte", _flip_kept_byte, "ledger-chain", "kept bytes", ("--full",)),
    Broken("the key is gone", lambda p: (p.home / "ledger.key").unlink(), "ledger-key", "there is no ledger.key"),
    Broken("another key", lambda p: (p.home / "ledger.key").write_bytes(b"k" * 32), "ledger-key", "the chain names"),
    Broken("a rolled back ledger", _sign_and_cut, "checkpoint", "cut off", ("--checkpoint", "signed")),
    Broken("a pending plan", _pending, "pending", "waits.md: pd-1 of bot"),
    Broken("a clock that went back", _tomorrow, "clock", "newest row is of 2099"),
    Broken("a home for everybody", lambda p: p.home.chmod(0o755), "modes", "the home itself: 0755"),
    Broken("a file for everybody", lambda p: (p.home / "clients.toml").chmod(0o644), "modes", "clients.toml: 0644"),
    Broken("a kept token for everybody", _open_token, "modes", "tokens/bot: 0644"),
    Broken("a TLS key for a group", _tls_key, "keys", "tls.pem: 0640", ("--tls-key", "tls.pem")),
    Broken("a token in clear", _clear_token, "clients", "client bot: its token is written in clear"),
    Broken("one token twice", _twice, "clients", "bot and other have the same token"),
    Broken("no client", lambda p: (p.home / "clients.toml").unlink(), "clients", "muninn client add"),
    Broken("every client is expired", _expired, "clients", "bot"),
    Broken("an unknown setting", lambda p: (p.home / "muninn.toml").write_text("x = 1\n"), "settings", "x is not"),
    Broken("a link", lambda p: (p.vault / "leak.md").symlink_to(p.home), "links", "leak.md"),
    Broken("a pipe", lambda p: os.mkfifo(p.vault / "pipe"), "unreachable", "pipe: a special file"),
    Broken("a name that is none", lambda p: (p.vault / "a\nb.md").write_text("x"), "unreachable", "a\\u000ab.md"),
    Broken("twins", lambda p: (p.vault / "A.md").write_bytes(note_text()), "names index-rows", "A.md"),
    Broken("bad frontmatter", lambda p: (p.vault / "a.md").write_text("---\na: [\n---\n"), "notes index-rows", "a.md:"),
    Broken("an overdue backup", lambda p: _set_up_backup(p, 40), "backup", "proven 40.0 h ago"),
    Broken("a failed backup", lambda p: _set_up_backup(p, 2, ok=False), "backup", "the remote was away"),
    Broken("a failed canary", lambda p: _keep_canary(p, ok=False), "canary", "tides"),
]


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return furnish(tmp_path)


def _arguments(one: Patient, broken: Broken) -> list[str]:
    return [str(one.folder / word) if not word.startswith("--") else word for word in broken.arguments]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda one: one.name)
def test_the_fault_is_named_and_nothing_else_is(patient: Patient, broken: Broken) -> None:
    if broken.name == "twins" and (patient.vault / "A.md").exists():
        pytest.skip("this file system does not tell a.md from A.md")
    broken.do(patient)
    before = patient.state()
    status, found = patient.doctor(*_arguments(patient, broken))
    assert patient.state() == before
    assert status == 1
    assert faults(found) == set(broken.checks.split())
    first = found["checks"][broken.checks.split()[0]]
    reasons = (f"{path}: {why}" for path, why in first.get("reasons", {}).items())
    assert broken.says in " ".join([first["says"], *first.get("paths", ()), *reasons, *first.get("details", ())])
    assert TOKEN not in json.dumps(found)


@pytest.mark.parametrize("broken", BROKEN[::6], ids=lambda one: one.name)
def test_a_process_says_so_too(patient: Patient, broken: Broken) -> None:
    broken.do(patient)
    ran = patient.process("doctor", *_arguments(patient, broken))
    assert ran.returncode == 1, ran.stderr
    assert f"fault    {broken.checks.split()[0]} " in ran.stdout
    assert broken.says in ran.stdout
    assert "Traceback" not in ran.stderr


def test_what_a_crash_left_is_named(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    (patient.vault / f".muninn-{'0' * 16}.tmp").write_text("half")
    (patient.home / "clients.toml.12.tmp").write_text("half")
    (patient.home / "clients.toml.12.tmp").chmod(0o600)
    assert patient.doctor()[0] == 0, "it may belong to a write that is at work"
    monkeypatch.setattr("muninn.doctor.contents.SETTLED_S", -1.0)
    status, found = patient.doctor()
    assert (status, faults(found)) == (1, {"leftovers"})
    assert found["checks"]["leftovers"]["paths"] == [f".muninn-{'0' * 16}.tmp", "home/clients.toml.12.tmp"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads whatever it wants")
@pytest.mark.parametrize(("name", "checks"), [("", "vault"), ("private", "unreachable"), ("a.md", "notes")], ids=str)
def test_what_cannot_be_read_is_named(patient: Patient, name: str, checks: str) -> None:
    place = patient.vault / name
    mode = place.stat().st_mode
    place.chmod(0)
    status, found = patient.doctor()
    place.chmod(mode)
    assert (status, faults(found)) == (1, {checks})


def test_a_folder_that_no_write_can_go_into_is_named_where_a_client_may_write(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Asked of the system by its own call, because root, who runs many a suite, may write wherever it wants.
    real = os.access
    shut = {patient.vault, patient.vault / "private"}
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) not in shut and real(place, mode))
    status, found = patient.doctor()
    assert (status, faults(found)) == (1, {"writable"})
    assert found["checks"]["writable"]["paths"] == [".", "private"]
    register = patient.home / "clients.toml"
    known = clients.load(register)
    clients.save(register, {name: dataclasses.replace(one, scopes=frozenset({"read"})) for name, one in known.items()})
    status, found = patient.doctor()
    assert (status, faults(found)) == (0, set())
    assert found["checks"]["writable"]["state"] == "skipped"


def test_a_full_disk_is_named(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muninn.doctor.keeping._LEAST_BYTES", 1 << 60)
    status, found = patient.doctor()
    assert (status, faults(found)) == (1, {"room"})


class _Ill(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _held(patient: Patient) -> Iterator[int]:
    """A gateway that holds the vault and answers 503."""
    server = http.server.HTTPServer(("127.0.0.1", 0), _Ill)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    descriptor = os.open(patient.vault / ".muninn-vault", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    port = server.server_port
    (patient.home / "gateway.json").write_text(json.dumps({"process": os.getpid(), "port": port}))
    (patient.home / "gateway.json").chmod(0o600)
    try:
        yield port
    finally:
        os.close(descriptor)
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_gateway_that_is_not_well_is_named(patient: Patient) -> None:
    with _held(patient) as port:
        status, found = patient.doctor()
    assert (status, faults(found)) == (1, {"gateway"})
    assert f"port {port}" in found["checks"]["gateway"]["says"]


def test_changes_of_the_last_minute_are_left_to_the_gateway(patient: Patient) -> None:
    with _held(patient):
        _lag(patient)
        (patient.vault / "b.md").unlink()
        assert faults(patient.doctor()[1]) == {"gateway"}
    assert faults(patient.doctor()[1]) == {"index-rows"}


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells how a process was started on Linux alone")
def test_the_key_of_the_gateway_that_runs_is_looked_at(patient: Patient) -> None:
    _tls_key(patient)
    words = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)", "--tls-key", "tls.pem"]
    with subprocess.Popen(words, cwd=patient.folder, stdout=subprocess.PIPE) as process, _held(patient):
        assert process.stdout is not None
        process.stdout.readline()
        lease = json.loads((patient.home / "gateway.json").read_text()) | {"process": process.pid}
        (patient.home / "gateway.json").write_text(json.dumps(lease))
        found = patient.doctor()[1]
        process.kill()
    assert found["checks"]["keys"]["paths"] == [str(patient.folder / "tls.pem")]
    assert faults(found) == {"keys", "gateway"}


_GARBAGE = b'\xff\xfe\x00[{"' * 40
FILES = [
    "home/clients.toml",
    "home/muninn.toml",
    "home/gateway.json",
    "home/canary-state.json",
    "home/ledger.db",
    "home/ledger.key",
    "home/backup/state.json",
    "home/backup/proof.json",
    "home/backup/last-run.json",
    "home/backup/key",
    "vault/.muninn-vault",
    "vault/a.md",
    "cache/index.db",
    "cache/index-private.db",
]


@pytest.mark.parametrize("how", ["garbage", "empty", "folder", "list"])
@pytest.mark.parametrize("name", FILES)
def test_whatever_lies_there_is_told_and_never_breaks_the_doctor(patient: Patient, name: str, how: str) -> None:
    _set_up_backup(patient, 2)
    _keep_canary(patient, ok=True)
    file = patient.folder / name
    file.unlink(missing_ok=True)
    if how == "folder":
        file.mkdir(mode=0o700)
    else:
        file.write_bytes({"garbage": _GARBAGE, "empty": b"", "list": b"[1, null]"}[how])
        file.chmod(0o600)
    before = patient.state()
    status, found = patient.doctor("--full")
    assert patient.state() == before
    assert status == (1 if found["fault"] else 0)
    harmless = {"home/gateway.json"} | ({"home/muninn.toml"} if how == "empty" else set())
    assert bool(found["fault"]) is (name not in harmless), found["checks"]


@pytest.mark.parametrize(("hours", "ok", "status"), [(2, True, 0), (2, False, 1), (40, True, 1)])
def test_the_backup_has_the_same_exit_status_for_itself(patient: Patient, hours: float, ok: bool, status: int) -> None:
    assert patient.runs("backup", "status").exit_code == 0, "not set up is no fault"
    _set_up_backup(patient, hours, ok)
    assert patient.runs("backup", "status").exit_code == status


@pytest.mark.parametrize("how", ["pipe", "device"])
@pytest.mark.parametrize("name", ["home/clients.toml", "home/muninn.toml", "home/backup/key", "cache/index.db"])
def test_what_no_look_comes_back_from_is_told_and_not_waited_for(patient: Patient, name: str, how: str) -> None:
    file = patient.folder / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    if how == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    before = time.monotonic()
    status, found = patient.doctor()
    assert time.monotonic() - before < 20
    assert (status, faults(found)) == (1, {"settings"})
    assert str(file) in found["checks"]["settings"]["says"]


def test_a_kept_token_that_others_can_read_is_named(patient: Patient) -> None:
    kept = patient.home / "tokens/ada"
    kept.parent.mkdir(mode=0o700)
    kept.write_text("mnn_x\n")
    for folder, file, named in ((0o700, 0o600, []), (0o700, 0o644, ["tokens/ada"]), (0o755, 0o600, ["tokens"])):
        kept.parent.chmod(folder)
        kept.chmod(file)
        assert patient.doctor()[1]["checks"]["modes"].get("paths", []) == named
