"""A backup beside a gateway: its age in `status`, the warning in ordinary answers, and no way to it for an agent."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from muninn.tools import TOOLS
from tests.door.gateway import places, served


def test_a_run_beside_the_gateway_shows_and_an_old_one_warns(tmp_path: Path) -> None:
    made = places(tmp_path)
    (made.vault / "a.md").write_text(
        "---\ntitle: A\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\n"
    )
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "remote.git")], check=True)
    with served(made):
        assert made.call("status", {})["backup"] == {"last_ok": None, "age_h": None, "files": None}
        assert made.muninn("backup", "init", "--remote", str(tmp_path / "remote.git")).returncode == 0
        ran = made.muninn("backup", "run")
        assert (ran.returncode, ran.stdout.startswith("ok 2 files")) == (0, True), ran.stderr
        shown = made.call("status", {})
        assert shown["backup"]["last_ok"] is not None
        assert (shown["backup"]["files"], shown["backup"]["age_h"] < 1, shown["warnings"]) == (2, True, [])
        proof = made.home / "backup/proof.json"
        told = json.loads(proof.read_text())
        old = (datetime.now(UTC) - timedelta(hours=37)).isoformat()
        proof.write_text(json.dumps(told | {"last_ok": old}))
        for tool, arguments in (("read", {"path": "a.md"}), ("search", {"query": "a"}), ("list", {}), ("status", {})):
            assert [warn["code"] for warn in made.call(tool, arguments)["warnings"]] == ["backup_overdue"], tool
        assert made.muninn("backup", "status").returncode == 1
        assert made.muninn("backup", "run").returncode == 0
        assert made.call("read", {"path": "a.md"})["warnings"] == []


def test_the_gateway_never_loads_the_backup() -> None:
    code = (
        "import sys, muninn.app, muninn.tools, muninn.protocol, muninn.cli.serve\n"
        "sys.exit(any(name == 'backup' or name.startswith('backup.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
    assert [tool.name for tool in TOOLS if "backup" in tool.name] == []
