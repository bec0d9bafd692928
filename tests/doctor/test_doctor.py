"""A healthy installation passes, nothing of it is changed, and what was not looked at does not count as passed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from muninn import contract
from muninn.doctor import still
from muninn.doctor.checks import CHECKS
from tests.door import gateway

from .patient import TOKEN, Patient, faults, furnish, told

ROOT = Path(__file__).parents[2]
NOT_SET_UP = {"files", "keys", "ledger-chain", "checkpoint", "backup", "canary", "gateway", "models"}
"""What a small installation from its sources, without a gateway, has not."""


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return furnish(tmp_path)


def test_a_healthy_installation_passes_and_is_left_as_it_was(patient: Patient) -> None:
    before = patient.state()
    ran = patient.process("doctor", "--json")
    assert patient.state() == before
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    assert [check["name"] for check in found["checks"]] == [check.name for check in CHECKS]
    assert {check["name"] for check in found["checks"] if check["state"] == "skipped"} == NOT_SET_UP
    assert (found["ok"], found["fault"], found["skipped"]) == (len(CHECKS) - len(NOT_SET_UP), 0, len(NOT_SET_UP))


def test_the_lines_say_the_same(patient: Patient) -> None:
    ran = patient.runs("doctor", "--full")
    assert ran.exit_code == 0
    lines = ran.output.splitlines()
    assert [line.split()[1] for line in lines[:-1]] == [check.name for check in CHECKS]
    skipped = len(NOT_SET_UP) - 1
    assert lines[-1] == f"{len(CHECKS) - skipped} ok, 0 faults, {skipped} skipped, which have not passed"
    assert TOKEN not in ran.output


def test_the_end_names_what_to_look_at(patient: Patient) -> None:
    (patient.home / "clients.toml").unlink()
    (patient.vault / "leak.md").symlink_to(patient.home)
    assert patient.runs("doctor").output.splitlines()[-1] == "look at: clients, links"


def test_nothing_is_made_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    patient = Patient(tmp_path)
    status, found = patient.doctor("--full")
    assert [child.name for child in tmp_path.rglob("*")] == ["vault"]
    assert (status, faults(found)) == (1, {"clients"})


def test_places_that_lie_inside_each_other_are_told_as_a_fault(patient: Patient) -> None:
    status, found = told(patient.runs("doctor", "--json", "--home", str(patient.vault / "home")))
    assert (status, faults(found), found["ok"]) == (1, {"settings"}, 0)
    assert "lie inside each other" in found["checks"]["settings"]["says"]


@contextmanager
def _served(folder: Path) -> Iterator[gateway.Gateway]:
    made = gateway.places(folder)
    (made.vault / "a.md").write_bytes(b"---\ntitle: A\ntype: note\nstatus: active\ntags: [aa, bb]\n---\nx\n")
    made.start()
    try:
        for _ in range(200):
            status = made.call("status", {})
            if status["index"]["state"] == "ready" and status["undoable"] == 1.0:
                break
            time.sleep(0.05)
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()


def test_beside_a_running_gateway_nothing_changes_and_its_health_is_asked(tmp_path: Path) -> None:
    with _served(tmp_path) as made:
        patient = Patient(tmp_path)
        for _ in range(5):  # a scan of the gateway may fall into the look: then its files have changed by themselves
            before = patient.state()
            assert any(name.endswith("ledger.db-wal") for name in before)
            status, found = told(patient.runs("doctor", "--full", "--json"))
            if patient.state() == before:
                break
        else:
            raise AssertionError("the installation was changed each time")
        assert (status, faults(found)) == (0, set()), found
        assert str(made.port) in found["checks"]["gateway"]["says"]
        assert made.call("write", {"path": "b.md", "content": "x", "expected_hash": "missing"})["error"]


def test_what_a_killed_gateway_left_is_read_and_left_as_it_was(tmp_path: Path) -> None:
    with _served(tmp_path) as made:
        assert made.process is not None
        made.process.send_signal(signal.SIGKILL)
        made.process.wait(timeout=20)
        patient = Patient(tmp_path)
        before = patient.state()
        assert {"ledger.db-wal", "ledger.db-shm", "gateway.json"} <= {Path(name).name for name in before}
        status, found = patient.doctor("--full")
        assert patient.state() == before
        assert (status, faults(found)) == (0, set()), found
        (patient.home / "ledger.db-shm").unlink()
        before = patient.state()
        assert patient.doctor("--full")[0] == 0
        assert patient.state() == before


def test_a_file_that_is_written_meanwhile_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    writer = apsw.Connection(str(file))
    writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1)").fetchall()
    writer.close()
    asked: list[int] = []

    def ask(reader: apsw.Connection) -> object:
        found = reader.execute("SELECT count(*) FROM t").get
        asked.append(found)
        if len(asked) == 1:
            late = apsw.Connection(str(file))
            late.execute("INSERT INTO t VALUES(2)").fetchall()
            late.close()
        return found

    assert still.steady(file, ask) == 2
    assert asked == [1, 2]


def test_an_older_ledger_is_well_and_stays_old(patient: Patient) -> None:
    connection = apsw.Connection(str(patient.home / "ledger.db"))
    connection.execute("DROP INDEX ends_late; PRAGMA user_version = 2").fetchall()
    connection.close()
    before = patient.state()
    status, found = patient.doctor()
    assert patient.state() == before
    assert (status, "the next start brings it from schema 2" in found["checks"]["ledger"]["says"]) == (0, True)
    assert patient.runs("history", "a.md").exit_code == 0
    assert (patient.home / "ledger.db.before-v3").exists(), "as docs/how-to/upgrade.md says"


def test_a_bug_is_not_told_as_a_fault(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object) -> None:
        raise TypeError("a bug")

    monkeypatch.setattr("muninn.doctor.keeping.shutil.disk_usage", bug)
    assert isinstance(patient.runs("doctor").exception, TypeError)


def test_a_broken_step_of_the_round_trip_is_named(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muninn.doctor.scratch._WORD", "never-written")
    status, found = patient.doctor()
    assert (status, faults(found)) == (1, {"round-trip"})
    assert "search: expected" in found["checks"]["round-trip"]["says"]
    assert not list(Path(os.environ.get("TMPDIR", "/var/empty")).glob("muninn-doctor-*"))


def test_the_rules_of_the_contract_are_tried_and_listed(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    (patient.home / "muninn.toml").write_text('private = ["**"]\n[contract]\nexempt = ["**"]\ntypes = ["note"]\n')
    row = patient.doctor()[1]["checks"]["contract"]
    assert (row["state"], "tags" in row["says"]) == ("ok", True)
    built = contract.build()
    lame = replace(built, rules=(*built.rules[:-1], replace(built.rules[-1], check=lambda _: ())))
    monkeypatch.setattr("muninn.contract.build", lambda *_: lame)
    row = patient.doctor()[1]["checks"]["contract"]
    assert (row["state"], row["details"]) == ("fault", [built.rules[-1].id])


# --- the files that are installed ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, laid out as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    with zipfile.ZipFile(made) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


def test_installed_files_are_compared_with_the_record(patient: Patient, wheel: Path) -> None:
    ran = patient.process("doctor", "--json", PYTHONPATH=str(wheel))
    row = next(check for check in json.loads(ran.stdout)["checks"] if check["name"] == "files")
    assert (ran.returncode, row["state"]) == (0, "ok")
    assert int(row["says"].split()[0]) > 300


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("ledger/shape.py", None, "cannot be read"),
        ("index/stamps.py", b"\n# from another package\n", "not the ones"),
    ],
)
def test_an_overwritten_file_is_named(
    patient: Patient, wheel: Path, name: str, content: bytes | None, says: str
) -> None:
    file = wheel / name
    kept = file.read_bytes()
    file.unlink() if content is None else file.write_bytes(kept + content)
    try:
        ran = patient.process("doctor", PYTHONPATH=str(wheel))
    finally:
        file.write_bytes(kept)
    assert ran.returncode == 1
    assert re.search(rf"{name}: .*{says}", ran.stdout + ran.stderr), ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


# --- the parts have commands of their own -------------------------------------------------------------


def test_a_broken_index_ends_its_status_with_1(patient: Patient) -> None:
    assert patient.runs("index", "status").exit_code == 0
    (patient.cache / "index.db").write_bytes(b"x" * 5000)
    ran = patient.runs("index", "status", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)["state"]) == (1, "broken")
    assert patient.runs("index", "scan").exit_code == 0
    assert patient.runs("index", "status").exit_code == 0


def test_an_index_that_is_not_made_yet_is_not_broken(patient: Patient) -> None:
    for file in patient.cache.glob("index*.db"):
        file.unlink()
    ran = patient.runs("index", "status", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)["state"]) == (0, "building")
