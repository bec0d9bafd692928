"""A gateway on a copy of the sample vault in which made-up clients have worked, through the door and around it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from muninn.model.rights import DEFAULT_SCOPES
from tests.door import gateway as gateways
from tests.door.gateway import Gateway

EVIL: Final = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>\"'><svg onload=window.pwned=1>"
"""Runs where anything of it is taken for more than text."""
EVIL_NAME: Final = "'onmouseover=window.pwned=1 x='<img src=x onerror=pwned=1>.md"
"""The same in a file's name; no slash may stand in it."""


@dataclass(slots=True)
class Stage:
    """The gateway, and how its console is addressed."""

    gateway: Gateway

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.gateway.port}"

    def address(self, path: str, /, **query: str) -> str:
        return f"{self.origin}/console{path}" + (f"?{urlencode(query)}" if query else "")

    def write(self, client: str, path: str, body: str, title: str = "", kind: str = "note") -> dict[str, Any]:
        """A note that meets the contract, put at a path as it is now."""
        head = f"title: {json.dumps(title or Path(path).stem)}\ntype: {kind}\nstatus: active\ntags: [harbour, ops]\n"
        content = f"---\n{head}date: 2026-05-04\n---\n{body}"
        return self.put(client, path, content)

    def put(self, client: str, path: str, content: str) -> dict[str, Any]:
        found = self.gateway.call("read", {"path": path}, client)
        expected = "missing" if "error" in found else found["hash"]
        answer = self.gateway.call("write", {"path": path, "content": content, "expected_hash": expected}, client)
        assert answer.get("state") == "committed", answer
        return answer

    def append(self, client: str, path: str, text: str) -> dict[str, Any]:
        arguments = {"path": path, "expected_hash": self.hash(client, path), "edits": [{"append": text}]}
        answer = self.gateway.call("edit", arguments, client)
        assert answer.get("state") == "committed", answer
        return answer

    def replace(self, client: str, path: str, find: str, text: str) -> None:
        arguments = {"path": path, "expected_hash": self.hash(client, path), "edits": [{"replace": find, "with": text}]}
        answer = self.gateway.call("edit", arguments, client)
        assert answer.get("state") == "committed", answer

    def archive(self, client: str, path: str, reason: str = "obsolete") -> str:
        """Archive a note, and give the hash of what it held."""
        digest = self.hash(client, path)
        answer = self.gateway.call("archive", {"path": path, "expected_hash": digest, "reason": reason}, client)
        assert answer.get("state") == "committed", answer
        return digest

    def hash(self, client: str, path: str) -> str:
        found = self.gateway.call("read", {"path": path}, client)
        return str(found["hash"])

    def claim(self, client: str, path: str, statement: str) -> None:
        arguments = {"statement": statement, "path": path, "revision": self.hash(client, path)}
        answer = self.gateway.call("claim", arguments, client)
        assert answer.get("state") == "committed", answer

    def register(self, client: str, path: str, *sources: str) -> None:
        rows = [{"path": source, "hash": self.hash(client, source)} for source in sources]
        arguments = {"path": path, "hash": self.hash(client, path), "sources": rows}
        answer = self.gateway.call("register_summary", arguments, client)
        assert answer.get("state") == "committed", answer

    def outside(self, path: str, text: str) -> None:
        """An edit around the door, and wait until the gateway knows of it."""
        file = self.gateway.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_bytes() if file.exists() else b""
        file.write_bytes(before + text.encode())
        for _ in range(200):
            events = self.gateway.call("history", {"path": path}, "person").get("events", [])
            if events and events[0]["kind"] == "external":
                return
            self.gateway.muninn("index", "scan")
            time.sleep(0.2)
        raise AssertionError(f"the gateway did not notice {path}")


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """The stage, with its gateway running."""
    made = gateways.places(folder)
    shutil.rmtree(made.vault)
    with resources.as_file(resources.files("muninn") / "sample") as sample:
        shutil.copytree(sample, made.vault)
    for name in ("person", "scribe", "archivist"):
        made.add(name)
    made.add("reader", frozenset({"read"}))
    made.add("owner", DEFAULT_SCOPES | {"private"})
    made.add("narrow", write="desk/**")
    with gateways.served(made):
        gateways.until_ready(made)
        stage = Stage(made)
        _until_begun(stage)
        yield stage


def _until_begun(stage: Stage) -> None:
    """Wait for the first scan's baseline, after which files that come are events."""
    for _ in range(200):
        if stage.gateway.call("status", {}, "person")["undoable"] == 1.0:
            return
        time.sleep(0.1)
    raise AssertionError("the baseline was not kept")


def worked(stage: Stage) -> None:
    """What a day leaves: notes made and changed by two agents, one archived, one changed in an editor; claims and
    summaries, a proven backup and a canary."""
    stage.write("scribe", "meetings/2026-05-04-tide-gauge.md", "The gauge at pier 3 reads 4 cm low.\n", "Tide gauge")
    stage.append("scribe", "glossary.md", "\nResidual: the measured level less the predicted tide.\n")
    stage.write(
        "archivist", "summaries/gauges.md", "Pier 3 reads low; pier 1 is sound.\n", "Gauges in short", "summary"
    )
    stage.write("archivist", "summaries/week.md", "The week in short: gauges and glossary.\n", "The week", "summary")
    stage.register("archivist", "summaries/gauges.md", "meetings/2026-05-04-tide-gauge.md", "glossary.md")
    stage.register("archivist", "summaries/week.md", "summaries/gauges.md", "welcome.md")
    stage.claim("scribe", "meetings/2026-05-04-tide-gauge.md", "The gauge at pier 3 reads 4 cm low.")
    stage.claim("archivist", "welcome.md", "Every decision has a note of its own.")
    stage.claim("archivist", "glossary.md", "A residual is measured less predicted.")
    stage.outside("glossary.md", "\nSurge: a residual that lasts.\n")
    stage.append("scribe", "meetings/2026-05-04-tide-gauge.md", "Ada will bring a new float on Thursday.\n")
    stage.write(
        "scribe", "ideas/float-with-a-light.md", "A float with a light is seen at night.\n", "A float with a light"
    )
    stage.replace("scribe", "decisions/0013-surge-threshold-35.md", "for 6 minutes", "for 10 minutes")
    stage.archive("archivist", "ideas/float-with-a-light.md", "duplicate")
    _proven(stage)


def _proven(stage: Stage) -> None:
    """A real backup into a bare repository beside the stage, and a real run of a canary's questions."""
    remote = stage.gateway.home.parent / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    asked = {
        "questions": [
            {"id": "surge", "q": "when does a surge alert go out", "path": ["decisions/0013-surge-threshold-35.md"]},
            {"id": "words", "q": "glossary and abbreviations", "path": ["glossary.md"]},
        ]
    }
    (stage.gateway.home / "canary.json").write_text(json.dumps(asked))
    for command in (("backup", "init", "--remote", str(remote)), ("backup", "run"), ("canary", "run")):
        done = stage.gateway.muninn(*command)
        assert done.returncode == 0, done.stdout + done.stderr
