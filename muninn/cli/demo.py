"""``muninn demo``: two clients, one vault, the whole workflow over real HTTP. Ends by itself."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from muninn import clients, health
from muninn.cli.options import fail
from muninn.cli.start import lay_out_sample
from muninn.settings import Places

NOTE = "ideas/surge-line-display.md"
TEXT = """---
title: Show the surge line on the harbour display
type: idea
status: draft
tags: [surge, display]
date: 2026-10-28
---
The harbour display could draw the surge line beside the tide curve. See [[surge threshold]].
"""


@dataclass(frozen=True, slots=True)
class Agent:
    """A client of the demo: speaks plain HTTP, as any MCP client may."""

    name: str
    token: str | None
    port: int

    def post(self, method: str, params: dict[str, Any]) -> tuple[int, Any]:
        """One JSON-RPC request; gives the HTTP status and the parsed answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers["MCP-Protocol-Version"] = "2025-11-25"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One tool call; gives its answer, or the refusal as ``{"error": …}``."""
        _, answer = self.post("tools/call", {"name": tool, "arguments": arguments})
        result = answer["result"]
        if result.get("isError"):
            return dict(json.loads(result["content"][0]["text"]))
        return dict(result["structuredContent"])


@click.command()
@click.option("--run", "run", metavar="DIR", help="lay the sample out here, anew (default: a temp folder)")
def demo(run: str | None) -> None:
    """Show the whole workflow on a sample vault: search, read, write with the hash, conflict, archive, restore."""
    if run is not None:
        shutil.rmtree(run, ignore_errors=True)
        Path(run).mkdir(mode=0o700, parents=True)
    with tempfile.TemporaryDirectory(prefix="muninn-demo-") as folder:
        places = lay_out_sample(Path(run or folder))
        tokens = _two_clients(places)
        with _gateway(places) as port:
            scribe, coach = Agent("scribe", tokens["scribe"], port), Agent("coach", tokens["coach"], port)
            _wait_for_index_and_baseline(scribe)
            _show_the_door(port, scribe)
            _show_reading(scribe)
            _show_writing(scribe, places)
            _show_conflict(scribe, coach)
            _show_archive(scribe, coach)
        _show_ledger(places)
    _title("That was all: nothing is left running." + (f" The vault lies in {run}/vault." if run else ""))


def _show_the_door(port: int, scribe: Agent) -> None:
    _title("1. Nobody comes in without a token")
    status, answer = Agent("nobody", None, port).post("tools/list", {})
    _say(f"POST /mcp without a token → HTTP {status} {answer}")
    _, answer = scribe.post("tools/list", {})
    _say("with a token → " + ", ".join(tool["name"] for tool in answer["result"]["tools"]))


def _show_reading(scribe: Agent) -> None:
    _title("2. Search first, then read")
    found = scribe.call("search", query="at which residual does a surge alert go out?", limit=3)
    for hit in found["hits"]:
        _say(f"{hit['score']:.2f}  {hit['path']}:{hit['start_line']}  {hit['title']}")
    _say(f"engine {found['engine']}, confidence {found['confidence']}; {found.get('query_note', '')}")
    best = scribe.call("read", path=found["hits"][0]["path"])
    _say(f"read {best['path']} → hash {best['hash'][:16]}…, {best['lines']} lines, complete {best['complete']}")


def _show_writing(scribe: Agent, places: Places) -> None:
    _title("3. Dry run, then commit")
    before = _fingerprint(places)
    dry = scribe.call("write", path=NOTE, content=TEXT, expected_hash="missing", dry_run=True)
    _say(f"dry run → state {dry['state']}, it would change {[change['path'] for change in dry['changes']]}")
    _say(f"nothing was changed: {before == _fingerprint(places)}")
    refused = scribe.call("write", path=NOTE, content="no frontmatter\n", expected_hash="missing")
    _say(f"a note that breaks the contract → {refused['error']['code']}: {refused['error']['message'][:110]}…")
    done = scribe.call("write", path=NOTE, content=TEXT, expected_hash="missing")
    _say(f"commit → state {done['state']}, hash {done['hash'][:16]}…, event {done['event']}")
    found = scribe.call("search", query="harbour display surge line", limit=1)
    _say(f"the next search sees it: {found['hits'][0]['path']}")


def _show_conflict(scribe: Agent, coach: Agent) -> None:
    _title("4. Two agents, one note: the slower one is told, nothing is lost")
    mine, theirs = scribe.call("read", path=NOTE), coach.call("read", path=NOTE)
    quick = scribe.call("edit", path=NOTE, edits=[{"append": "Owner: the data lead.\n"}], expected_hash=mine["hash"])
    _say(f"scribe edits → {quick['state']}")
    slow = coach.call("edit", path=NOTE, edits=[{"append": "Cost: two days.\n"}], expected_hash=theirs["hash"])
    error = slow["error"]
    _say(
        f"coach edits with the old hash → {error['code']}, changed last by {error['changed_by']}; the diff since then:"
    )
    for line in error["diff"].splitlines():
        click.echo("        " + line)
    again = coach.call("read", path=NOTE)
    redo = coach.call("edit", path=NOTE, edits=[{"append": "Cost: two days.\n"}], expected_hash=again["hash"])
    _say(f"coach reads again and redoes it → {redo['state']}")


def _show_archive(scribe: Agent, coach: Agent) -> None:
    _title("5. There is no delete: archive, history, restore")
    now = scribe.call("read", path=NOTE)
    gone = scribe.call("archive", path=NOTE, expected_hash=now["hash"], reason="obsolete", note="the display is gone")
    _say(f"archive → {gone['state']}; read now → {coach.call('read', path=NOTE)['error']['code']}")
    for event in coach.call("history", path=NOTE)["events"]:
        _say(f"{event['at']}  {event['kind']:<9}  {event['client']:<7} {event['before'][:8]} → {event['after'][:8]}")
    back = coach.call("restore", path=NOTE, revision=gone["event"])
    same = back["hash"] == now["hash"]
    _say(f"restore → {back['state']}; the bytes are the same: {same}")


def _show_ledger(places: Places) -> None:
    _title("6. The ledger holds all of it, chained")
    run = subprocess.run(
        _command("ledger", "verify"), env=_environment(places), capture_output=True, text=True, check=False
    )
    _say(run.stdout.strip() or run.stderr.strip())
    if run.returncode != 0:
        fail("the ledger did not verify")


def _two_clients(places: Places) -> dict[str, str]:
    tokens = {"scribe": clients.new_token(), "coach": clients.new_token()}
    known: dict[str, clients.Client] = {}
    for name, token in tokens.items():
        known = clients.added(known, clients.make(name, token))
    clients.save(places.clients, known)
    return tokens


@contextmanager
def _gateway(places: Places) -> Iterator[int]:
    """A real gateway as a process of its own, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = _command("serve", "--port", str(port))
    with (places.home.parent / "log").open("w") as log:
        process = subprocess.Popen(command, env=_environment(places), stderr=log, stdout=log)
        try:
            _wait_until_ready(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            fail(f"the gateway ended with status {process.returncode}")
        if health.status(f"http://127.0.0.1:{port}") == 200:
            return
        time.sleep(0.1)
    fail("the gateway did not become ready within 30 s")


def _wait_for_index_and_baseline(agent: Agent) -> None:
    """Searches are answered from the start, by a scan of the files; the demo shows the index. And while the baseline
    keeps every note once, the ledger grows beside the dry run that shall be seen to change nothing."""
    for _ in range(300):
        status = agent.call("status")
        if status["index"]["state"] == "ready" and status["undoable"] == 1.0:
            return
        time.sleep(0.1)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "muninn", *arguments]


def _environment(places: Places) -> dict[str, str]:
    own = {"MUNINN_VAULT": str(places.vault), "MUNINN_HOME": str(places.home), "MUNINN_CACHE": str(places.cache)}
    return {**os.environ, **own}


def _fingerprint(places: Places) -> str:
    """Names and bytes of everything in vault and home, as one hash."""
    digest = hashlib.sha256()
    for root in (places.vault, places.home):
        for path in sorted(root.rglob("*") if root else ()):
            digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


def _title(text: str) -> None:
    width = min(shutil.get_terminal_size().columns, 100)
    click.echo("\n" + click.style(text, bold=True) + "\n" + "─" * min(len(text), width))


def _say(text: str) -> None:
    click.echo("  " + text)
