"""Backups that were made before open for ever; and without Muninn, by the script that needs the format alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger import verify
from tests.backup.make_sample import state_of
from tests.backup.test_run import odd_files
from tests.backup.yard import Yard, lay_out

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(folder for folder in (Path(__file__).parent / "samples").iterdir() if folder.is_dir())
SCRIPT = ROOT / "docs" / "bare_restore.py"


def bare(*words: object) -> subprocess.CompletedProcess[str]:
    """The script, in a Python that finds nothing of ours."""
    argv = [sys.executable, "-I", str(SCRIPT), *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, cwd="/")


def expected(sample: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((sample / "expected.json").read_text())
    return found


def test_there_is_a_sample_of_every_version() -> None:
    assert [folder.name for folder in SAMPLES] == ["1"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda folder: folder.name)
def test_a_sample_opens_without_muninn(sample: Path, tmp_path: Path) -> None:
    for row in expected(sample):
        done = bare(sample, sample / "key", tmp_path / row["set"], row["set"])
        assert (done.returncode, done.stdout) == (0, f"ok {row['files']} files, set {row['set']}\n"), done.stderr
        assert state_of(tmp_path / row["set"] / "vault") == row["tree"]
        found = verify(tmp_path / row["set"] / "ledger.db")
        # The file has the schema of its time; its chain must hold under every later one.
        faults = [fault for fault in found.faults if not fault.startswith("file: ")]
        assert (faults, found.head) == ([], row["ledger"])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda folder: folder.name)
def test_a_sample_opens_with_muninn(sample: Path, tmp_path: Path) -> None:
    yard = lay_out(tmp_path)
    commit = b"commit refs/heads/main\ncommitter x <x@x> 1 +0000\ndata 1\nx\n"
    for file in sorted((sample / "muninn-backup").rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            name = file.relative_to(sample).as_posix()
            commit += f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n"
    yard.git("fast-import", "--quiet", stdin=commit)
    done = yard.init(given=(sample / "key").read_text())
    rows = expected(sample)
    assert done.sets == len(rows)
    for row in rows:
        back = yard.restore(row["set"], row["set"])
        assert state_of(back / "vault") == row["tree"]
        assert verify(back / "ledger.db").head == row["ledger"]
    yard.room.door.ledger.close()


def test_a_fresh_set_opens_without_muninn(yard: Yard) -> None:
    odd_files(yard.vault)
    yard.run()
    yard.write("door.md", "once more\n")
    ran = yard.run()
    clone = yard.folder / "clone.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(yard.remote), str(clone)], check=True)
    done = bare(clone, yard.places.key, yard.folder / "bare")
    assert (done.returncode, done.stdout) == (0, f"ok {ran.files} files, set {ran.set}\n"), done.stderr
    (yard.vault / ".muninn-0123456789abcdef.tmp").unlink()
    assert state_of(yard.folder / "bare/vault") == state_of(yard.vault)
    found = verify(yard.folder / "bare/ledger.db")
    assert (found.faults, found.head) == ((), verify(yard.home / "ledger.db").head)


def test_the_script_refuses_what_was_changed(yard: Yard) -> None:
    yard.run()
    clone = yard.folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(yard.remote), str(clone)], check=True)
    for file in sorted(path for path in (clone / "muninn-backup").rglob("*") if path.is_file()):
        whole = file.read_bytes()
        for place in (8, 30, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            done = bare(clone, yard.places.key, yard.folder / "bare")
            assert done.returncode != 0
            assert "ok" not in done.stdout
            subprocess.run(["rm", "-rf", str(yard.folder / "bare")], check=True)
        file.write_bytes(whole)
    assert bare(clone, yard.places.key, yard.folder / "bare").returncode == 0


def test_the_format_page_names_what_the_code_does() -> None:
    from backup import body, packs, seal

    page = (ROOT / "backup/FORMAT.md").read_text()
    for fact in (f"{seal.CHUNK:,}", f"{seal.HEADER} bytes", "4,096", "16 lower-case hex digits", "1 MiB", "0xFFFFFFFF"):
        assert fact in page
    assert (len(seal.MAGIC), packs.PIECE, body.padded(0)) == (8, 1 << 20, 4096)
    assert os.path.basename(SCRIPT) in page
