"""``muninn connect``: what it prints and writes fits each client's form, and gets that client through a real door."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from muninn import clients
from muninn.cli import command
from muninn.cli.start import first_client, lay_out_sample
from muninn.connect import PRODUCTS
from muninn.connect.products import CLAUDE_DESKTOP, CODEX, Around
from tests.bridge.process import BARE
from tests.connect.forms import SCHEMAS, dial, parsed
from tests.door.gateway import HANDSHAKE, Gateway, places, served

NAMES = [product.name for product in PRODUCTS]
BOTH_WAYS = [(name, way) for name in NAMES for way in ((), ("--bridge",))]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with served(places(tmp_path_factory.mktemp("connected"))) as running:
        yield running


class Person:
    """Somebody at a machine: a folder of their own, a project in it, and a home that is served or not."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, home: Path | None = None) -> None:
        self.folder, self.project = folder / "person", folder / "person/project"
        self.project.mkdir(parents=True)
        monkeypatch.setenv("HOME", str(self.folder))
        for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "MUNINN_VAULT", "MUNINN_CACHE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("sys.platform", "linux")
        self.home = home or self.folder / "muninn"
        self.home.mkdir(exist_ok=True)
        monkeypatch.setenv("MUNINN_HOME", str(self.home))
        monkeypatch.chdir(self.project)

    def runs(self, *arguments: str) -> Result:
        return CliRunner().invoke(command, ["connect", *arguments])

    def json(self, *arguments: str) -> Any:
        done = self.runs(*arguments, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def everything(self) -> dict[str, bytes]:
        return {str(file): file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(tmp_path, monkeypatch)


@pytest.mark.parametrize(("name", "way"), BOTH_WAYS)
def test_what_is_written_gets_the_client_through_the_door(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, way: tuple[str, ...]
) -> None:
    person = Person(tmp_path, monkeypatch, gateway.home)
    client = f"{name}-{len(way)}"
    answer = person.json(name, "--write", "--client", client, *way)
    text = Path(answer["files"][0]["file"]).read_text()
    jsonschema.validate(parsed(name, text), SCHEMAS[name])
    token = Path(answer["token_file"]).read_text().strip()
    assert token not in text + json.dumps(answer)
    assert Path(answer["token_file"]).stat().st_mode & 0o777 == 0o600

    made = dial(name, text, {"MUNINN_TOKEN": token}, token)
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    who = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "status", "arguments": {}}}
    if made.url is None:
        lines = "".join(json.dumps(message) + "\n" for message in (hello, tools, who))
        done = subprocess.run(
            made.command, input=lines, env=BARE, capture_output=True, text=True, check=True, timeout=30, cwd="/"
        )
        answers = sorted(map(json.loads, done.stdout.splitlines()), key=lambda found: found["id"])
    else:
        assert made.url == f"http://127.0.0.1:{gateway.port}/mcp"
        common = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        heard = [
            gateway.ask("POST", "/mcp", common | made.headers, json.dumps(message).encode())
            for message in (hello, tools, who)
        ]
        answers = [found.json for found in heard]
    assert answers[0]["result"]["serverInfo"]["name"] == "muninn"
    assert "search" in {tool["name"] for tool in answers[1]["result"]["tools"]}
    assert answers[2]["result"]["structuredContent"]["client"]["name"] == client


@pytest.mark.parametrize(("name", "way"), BOTH_WAYS)
def test_without_write_nothing_changes_and_twice_is_once(person: Person, name: str, way: tuple[str, ...]) -> None:
    shown = person.json(name, *way)
    assert shown["files"][0]["state"] == "planned"
    assert person.everything() == {}
    assert person.json(name, "--write", *way)["files"][0]["state"] == "written"
    after = person.everything()
    assert person.json(name, "--write", *way)["files"][0]["state"] == "unchanged"
    assert person.everything() == after
    planned = "".join(line[1:] for line in shown["files"][0]["diff"].splitlines(keepends=True)[3:])
    assert planned == Path(shown["files"][0]["file"]).read_text()


def test_other_servers_comments_and_own_keys_stay(person: Person) -> None:
    file = person.project / ".vscode/mcp.json"
    file.parent.mkdir()
    before = (
        '{\n    // ours\n    "inputs": [\n        { "type": "promptString", "id": "x", "description": "X" },\n    ],\n'
        '    "servers": {\n        "other": { "command": "o" }, // keep\n        "muninn": {\n'
        '            "type": "stdio", "command": "old", "args": ["bridge"], "dev": { "watch": "*" }\n        }\n'
        "    }\n}\n"
    )
    file.write_text(before)
    file.chmod(0o640)
    row = person.json("vscode", "--write")["files"][0]
    after = file.read_text()
    assert (file.stat().st_mode & 0o777, Path(row["backup"]).read_text()) == (0o640, before)
    assert "    // ours\n" in after
    assert '        "other": { "command": "o" }, // keep\n' in after
    assert '"dev": {' in after
    assert '"command": "old"' not in after
    assert after.count('"id": "muninn-token"') == 1
    assert person.json("vscode", "--write")["files"][0]["state"] == "unchanged"


def test_a_token_written_by_hand_gives_way_and_is_not_shown(person: Person) -> None:
    file = person.folder / ".cursor/mcp.json"
    file.parent.mkdir()
    old = clients.new_token()
    headers = {"authorization": f"Bearer {old}", "X-More": "1"}
    file.write_text(json.dumps({"mcpServers": {"muninn": {"url": "http://127.0.0.1:1/mcp", "headers": headers}}}))
    shown = person.runs("cursor", "--write")
    assert old not in shown.output
    entry = json.loads(file.read_text())["mcpServers"]["muninn"]
    assert entry["headers"] == {"X-More": "1", "Authorization": "Bearer ${env:MUNINN_TOKEN}"}


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_file_is_refused_with_its_line_and_nothing_is_made(person: Person, name: str) -> None:
    file = Path(person.json(name)["files"][0]["file"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{\n  "a": 1,\n  b\n}\n' if file.suffix == ".json" else "a = 1\nb = 2\nc\n")
    before = person.everything()
    done = person.runs(name, "--write")
    assert done.exit_code == 1
    assert f"{file}: " in done.stderr
    assert "line 3" in done.stderr
    assert person.everything() == before


def test_a_project_cannot_lead_out_of_itself_and_a_persons_own_link_is_followed(person: Person) -> None:
    elsewhere = person.folder / "elsewhere.json"
    elsewhere.write_text("{}")
    (person.project / ".mcp.json").symlink_to(elsewhere)
    done = person.runs("claude-code", "--write")
    assert done.exit_code == 1
    assert "leads out of the folder" in done.stderr
    (person.folder / ".cursor").mkdir()
    (person.folder / ".cursor/mcp.json").symlink_to(elsewhere)
    assert person.json("cursor", "--write")["files"][0]["file"] == str(elsewhere)
    assert (person.folder / ".cursor/mcp.json").is_symlink()


def test_the_sample_is_connected_with_its_own_token(person: Person, tmp_path: Path) -> None:
    found = lay_out_sample(tmp_path / "run")
    (tmp_path / "run/token").write_text("t" * 40)
    (tmp_path / "run/token").chmod(0o600)
    answer = person.json("claude-desktop", "--home", str(found.home), "--write")
    assert answer["server"]["args"][-1] == answer["token_file"] == str(tmp_path / "run/token")


def test_a_client_whose_token_is_kept_nowhere_is_not_made_anew(person: Person) -> None:
    assert CliRunner().invoke(command, ["client", "add", "cursor"]).exit_code == 0
    assert "muninn client rotate cursor" in person.json("cursor")["next"][2]
    done = person.runs("cursor", "--bridge", "--write")
    assert done.exit_code == 1
    assert "give --token-file; a new token comes from: muninn client rotate cursor" in done.stderr


def test_a_kept_token_follows_a_rotation_and_goes_with_a_revocation(person: Person) -> None:
    kept = Path(person.json("claude-desktop", "--write")["token_file"])
    old = kept.read_text()
    done = CliRunner().invoke(command, ["client", "rotate", "claude-desktop", "--json"])
    assert kept.read_text() == json.loads(done.stdout)["token"] + "\n" != old
    assert str(kept) in done.stderr
    assert kept.stat().st_mode & 0o777 == 0o600
    assert person.json("claude-desktop", "--write")["files"][0]["state"] == "unchanged"
    assert CliRunner().invoke(command, ["client", "revoke", "claude-desktop"]).exit_code == 0
    assert not kept.exists()


def test_a_home_that_is_not_there_is_not_made_and_its_gateway_asked_for(person: Person) -> None:
    for write in ((), ("--write",)):
        done = person.runs("claude-code", "--home", ".run/home", *write)
        assert (done.exit_code, done.stdout) == (1, "")
        assert f"{person.project / '.run/home'} yet" in done.stderr
        assert "--home" in done.stderr
    assert person.everything() == {}


def test_a_rotation_renews_the_token_of_the_sample_but_only_the_one_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = lay_out_sample(tmp_path / ".run")
    token = first_client(sample.clients) or ""
    file = tmp_path / ".run/token"
    file.write_text(token + "\n")
    monkeypatch.setenv("MUNINN_HOME", str(sample.home))
    runner = CliRunner()
    assert runner.invoke(command, ["client", "add", "other"]).exit_code == 0
    assert runner.invoke(command, ["client", "rotate", "other"]).exit_code == 0
    assert file.read_text() == token + "\n"
    done = runner.invoke(command, ["client", "rotate", "first-agent", "--json"])
    assert file.read_text() == json.loads(done.stdout)["token"] + "\n" != token + "\n"
    assert str(file) in done.stderr


def test_a_client_is_not_connected_with_a_token_that_is_not_its_own(person: Person) -> None:
    kept = Path(person.json("claude-desktop", "--write")["token_file"])
    kept.write_text(clients.new_token())
    assert person.runs("claude-desktop", "--write").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cursor", "--url", "http://example.org/mcp"), "travel in clear"),
        (("cursor", "--client", "../../x"), "is no client name"),
        (("claude-desktop", "--url", "https://example.org/mcp"), "give --token-file"),
        (("claude-desktop", "--token-file", "nowhere"), "cannot be read"),
    ],
)
def test_a_wrong_command_line_is_said(person: Person, arguments: tuple[str, ...], says: str) -> None:
    for more in ((), ("--write",)):
        done = person.runs(*arguments, *more)
        assert done.exit_code == 1
        assert says in done.stderr
        assert person.everything() == {}


def test_a_gateway_elsewhere_makes_no_client_here(person: Person) -> None:
    answer = person.json("codex", "--url", "https://notes.example.org", "--write")
    assert answer["server"]["url"] == "https://notes.example.org/mcp"
    assert list(person.everything()) == [str(person.folder / ".codex/config.toml")]


def test_the_places_of_the_systems() -> None:
    mac = Around(Path("/h"), "darwin", {})
    linux = Around(Path("/h"), "linux", {"XDG_CONFIG_HOME": "/c", "CODEX_HOME": "/x"})
    assert CLAUDE_DESKTOP.file(mac, None) == Path("/h/Library/Application Support/Claude/claude_desktop_config.json")
    assert CLAUDE_DESKTOP.file(linux, None) == Path("/c/Claude/claude_desktop_config.json")
    assert CODEX.file(mac, None) == Path("/h/.codex/config.toml")
    assert CODEX.file(linux, None) == Path("/x/config.toml")


def test_the_skill_is_installed_beside_the_configuration_or_alone(person: Person) -> None:
    rows = person.json("claude-code", "--skill", "--write")["files"]
    installed = person.project / ".claude/skills/muninn/SKILL.md"
    assert rows[1]["file"] == str(installed)
    answer = person.json("skill", "--to", str(person.folder / "skills"), "--write")
    assert Path(answer["files"][0]["file"]).read_bytes() == installed.read_bytes()
    assert person.json("skill", "--to", ".claude/skills")["files"][0]["state"] == "unchanged"


def test_a_file_that_changed_meanwhile_stays(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    from muninn import connect

    wanted = connect.skill(person.project)
    wanted.file.parent.mkdir()
    wanted.file.write_text("somebody else's")
    with pytest.raises(connect.ConfigError, match="changed by somebody else meanwhile"):
        connect.install(wanted)
    assert os.listdir(wanted.file.parent) == ["SKILL.md"]
