"""``muninn adopt``: existing vaults meet the contract, by the ordinary way down, and an undo brings every byte back."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muninn import contract
from muninn.cli import command
from muninn.model import note as notes
from muninn.model.content import BadPath, NotePath
from tests.conftest import note_text
from tests.door.gateway import places, served, until_ready
from tests.shared import shared


class Owner:
    """Somebody with a vault at the machine."""

    def __init__(self, folder: Path) -> None:
        self.vault, self.home, self.cache = folder / "vault", folder / "home", folder / "cache"
        self.vault.mkdir(exist_ok=True)

    def lay(self, name: str, content: bytes) -> None:
        (self.vault / name).parent.mkdir(parents=True, exist_ok=True)
        (self.vault / name).write_bytes(content)

    def runs(self, *arguments: str) -> Result:
        places = {"MUNINN_VAULT": str(self.vault), "MUNINN_HOME": str(self.home), "MUNINN_CACHE": str(self.cache)}
        return CliRunner().invoke(command, list(arguments), env=places)

    def json(self, *arguments: str, status: int = 0) -> Any:
        ran = self.runs(*arguments, "--json")
        assert ran.exit_code == status, ran.output
        return json.loads(ran.stdout)

    def tree(self) -> dict[str, bytes]:
        """Every file of the vault but the mark."""
        files = (file for file in self.vault.rglob("*") if file.is_file() and file.name != ".muninn-vault")
        return {file.relative_to(self.vault).as_posix(): file.read_bytes() for file in files}


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    made = Owner(tmp_path)
    made.lay("boats/pilot.md", b"# Pilot boat\n\nDraws two metres.\n")
    made.lay("boats/ferry.md", "---\ncreated: 2021-03-05\n---\nFähre\r\n".encode())
    made.lay("good.md", note_text())
    made.lay("broken.md", b"---\na: [\n---\nx\n")
    made.lay("private/pay.md", b"salaries\n")
    made.lay("pic.png", b"\x89PNG")
    return made


def test_a_dry_run_shows_the_plan_and_touches_nothing(owner: Owner) -> None:
    before = owner.tree()
    found = owner.json("adopt", "--dry-run", status=1)
    assert {row["path"]: row["state"] for row in found["rows"]} == {
        "boats/pilot.md": "planned", "boats/ferry.md": "planned", "good.md": "valid", "broken.md": "left",
    }  # fmt: skip
    assert (found["notes"], found["planned"], found["valid"], found["adopted"], found["left"]) == (4, 2, 1, 0, 1)
    pilot = next(row for row in found["rows"] if row["path"] == "boats/pilot.md")
    assert pilot["fields"]["title"] == "Pilot boat"
    assert "+title: Pilot boat\n" in pilot["diff"]
    assert owner.tree() == before
    assert not owner.home.exists()
    assert not (owner.vault / ".muninn-vault").exists()
    said = owner.runs("adopt", "--dry-run")
    assert said.exit_code == 1
    assert "+title: Pilot boat" in said.output
    assert "2 would be adopted, 1 left" in said.output


def test_adoption_is_written_kept_and_taken_back(owner: Owner) -> None:
    before = owner.tree()
    found = owner.json("adopt", status=1)
    assert (found["adopted"], found["left"]) == (2, 1)
    after = owner.tree()
    assert {name for name in after if after[name] != before[name]} == {"boats/pilot.md", "boats/ferry.md"}
    assert after.keys() == before.keys()  # no folder page was made
    assert (
        after["boats/ferry.md"]
        == (
            "---\ncreated: 2021-03-05\ntitle: ferry\ntype: note\nstatus: active\ntags: [boats, note]\n"
            "date: 2021-03-05\n---\nFähre\r\n"
        ).encode()
    )
    (event,) = owner.json("history", "boats/ferry.md")["events"]
    assert (event["client"], event["kind"], event["before_kept"]) == ("owner:adopt", "overwrite", True)
    assert owner.json("adopt", status=1)["adopted"] == 0
    assert len(owner.json("undo", "--client", "owner:adopt", "--since", "1h")["reversals"]) == 2
    assert owner.tree() == before
    assert owner.json("ledger", "verify")["ok"]


def test_a_glob_narrows_it(owner: Owner) -> None:
    found = owner.json("adopt", "boats/f*")
    assert [row["path"] for row in found["rows"]] == ["boats/ferry.md"]
    assert owner.json("adopt", "private/**", "--dry-run")["rows"] == []


def test_no_client_can_bear_its_name(owner: Owner) -> None:
    assert owner.runs("client", "add", "owner:adopt").exit_code == 1


def test_a_folders_page_follows_and_is_not_lost(owner: Owner) -> None:
    page = note_text(title="Index of boats") + b"<!-- muninn:index -->\n<!-- /muninn:index -->\nmine\n"
    owner.lay("boats/index.md", page)
    owner.json("adopt", "boats/**")
    text = (owner.vault / "boats/index.md").read_text()
    assert "- [[boats/pilot|Pilot boat]]" in text
    assert text.endswith("mine\n")


def test_beside_a_gateway(tmp_path: Path) -> None:
    made = places(tmp_path)
    (made.vault / "old.md").write_text("# An old note about wombats\n")
    with served(made):
        until_ready(made)
        ran = made.muninn("adopt", "--json")
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["adopted"] == 1
        read = made.call("read", {"path": "old.md"})
        assert read["frontmatter"]["title"] == "An old note about wombats"
        edit = {"path": "old.md", "edits": [{"append": "more\n"}], "expected_hash": read["hash"]}
        assert made.call("edit", edit)["state"] == "committed"
        left = made.muninn("undo", "--client", "owner:adopt", "--since", "1h", "--json")
        assert left.returncode == 1
        assert json.loads(left.stdout)["reversals"][0]["why"] == "changed since then by a"


@pytest.mark.parametrize(
    ("name", "glob", "left"), [("kepano", "**", 28), ("logseq-docs", "pages/T*", 0), ("handbook", "team/**", 0)]
)
def test_real_vaults_are_valid_afterwards_and_come_back(tmp_path: Path, name: str, glob: str, left: int) -> None:
    with tarfile.open(shared(f"vaults/{name}.tar.gz")) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / name).rename(tmp_path / "vault")
    owner = Owner(tmp_path)
    before, rules = owner.tree(), contract.build()
    found = owner.json("adopt", glob, status=1 if left else 0)
    assert (found["left"], found["valid"]) == (left, 0)
    assert found["adopted"] > 0
    after = owner.tree()
    assert after.keys() == before.keys()
    for row in found["rows"]:
        path = NotePath.parse(row["path"])
        assert not isinstance(path, BadPath)
        old, new = notes.parse(path, before[path]), notes.parse(path, after[path])
        assert new.body == old.body
        if row["state"] == "adopted":
            assert rules.judge(new) == ()
        else:
            # A template's {{date}} is no YAML that could be read.
            assert "a key must be a word" in row["why"], row
            assert before[path] == after[path]
    assert owner.json("undo", "--client", "owner:adopt", "--since", "1h")["reversals"]
    assert owner.tree() == before
