"""The recovery, followed word for word in an empty place, with the key and the address of the repository alone."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from backup import key as keys
from tests.backup.yard import Yard, tree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/recover-from-a-backup.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script(yard: Yard) -> str:
    """The page's commands. What needs a network, a system or an end by hand is put in by what can be done here."""
    told = "\n".join(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    python = shlex.quote(sys.executable)
    serve = (
        f"timeout -s TERM 20 {python} -P -m muninn serve --port 0 & served=$!\n"
        'until grep -q port "$NEW/home/gateway.json" 2>/dev/null; do sleep 0.1; done; sleep 1\n'
        "kill $served; wait $served || true\n"
    )
    changes = {
        "URL=git@example.org:me/notes-backup.git": f"URL={shlex.quote(str(yard.remote))}",
        "muninn serve\n": serve,
        "muninn backup schedule install\n": "",
        "pip install cryptography zstandard\n": "",
        "python docs/bare_restore.py": f"{python} -I {shlex.quote(str(ROOT / 'docs/bare_restore.py'))}",
    }
    for old, new in changes.items():
        assert old in told, old
        told = told.replace(old, new)
    muninn = f'muninn() {{ {shlex.quote(sys.executable)} -P -m muninn "$@"; }}\n'
    return f"set -euo pipefail\n{muninn}{told}"


def test_the_recovery_works_as_it_is_written(yard: Yard, tmp_path: Path) -> None:
    yard.run()
    yard.write("door.md", "the newest\n")
    yard.run()
    written = yard.key.replace("-", " ").lower()
    empty = tmp_path / "new machine"
    empty.mkdir()
    before = tree(yard.vault)
    yard.vault.rename(tmp_path / "lost-vault")
    yard.home.rename(tmp_path / "lost-home")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MUNINN_")}
    done = subprocess.run(
        ["bash", "-c", script(yard)],
        input=f"{written}\n",
        text=True,
        capture_output=True,
        cwd=empty,
        env=environment | {"HOME": str(empty)},
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "which holds 2 sets" in done.stdout
    assert "ledger ok" in done.stdout
    assert len(re.findall(r"^ok 6 files", done.stdout, re.MULTILINE)) == 3
    found = tree(empty / "recovered/vault")
    assert {name: row for name, row in found.items() if name in before} == before
    opened = tree(empty / "opened/vault")
    assert {name: row for name, row in opened.items() if name in before} == before
    assert keys.read(empty / "recovered/home/backup/key") == keys.parse(yard.key)
