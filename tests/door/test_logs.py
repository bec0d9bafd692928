"""The gateway's log as a whole: JSON lines alone, one for each call, and nothing in them that a client sent."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muninn import clients, logs
from muninn.logs import CALL_FIELDS, FIELDS, MORE_FIELDS
from tests.conftest import note_text
from tests.door.gateway import STATELESS, Gateway, places, served, until_ready

SECRET = clients.new_token()
HOSTILE = f'x\n{{"level": "INFO", "message": "forged"}}\r\n\x1b[31m{SECRET}\u2028\x00'
"""Ends lines in four ways, begins a line of its own, moves the cursor, and carries a token."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("logs"))
    (made.vault / "a.md").write_bytes(note_text())
    with served(made):
        until_ready(made)
        yield made


def lines(gateway: Gateway) -> list[dict[str, Any]]:
    """Every line of the log as an object; what the command itself prints on stdout is in the same file."""
    found = gateway.log().split("\n")
    return [json.loads(line) for line in found if line and not line.startswith("muninn: serving the vault")]


def calls(gateway: Gateway) -> list[dict[str, Any]]:
    return [line for line in lines(gateway) if line["message"] == "call"]


def test_a_call_is_one_line_with_the_id_that_its_answer_carries(gateway: Gateway) -> None:
    before = len(calls(gateway))
    heard = gateway.rpc("a", "tools/call", {"name": "read", "arguments": {"path": "a.md"}})
    (line,) = calls(gateway)[before:]
    assert set(line) == {*FIELDS, *CALL_FIELDS} - {"state"}
    assert line["request"] == heard.headers["x-request-id"]
    assert (line["client"], line["tool"], line["outcome"]) == ("a", "read", "ok")
    assert 0 < line["ms"] < 10_000


def test_a_write_and_a_refusal_say_how_they_ended(gateway: Gateway) -> None:
    draft = {"path": "new.md", "content": note_text().decode(), "expected_hash": "missing", "dry_run": True}
    gateway.call("write", draft)
    gateway.call("read", {"path": "none.md"})
    dry, refused = calls(gateway)[-2:]
    assert (dry["outcome"], dry["state"]) == ("ok", "dry_run")
    assert refused["outcome"] == "not_found"


def test_an_id_is_made_for_every_answer_and_none_is_taken_from_a_client(gateway: Gateway) -> None:
    asked = {"X-Request-Id": SECRET}
    found = [gateway.ask("GET", "/health", asked), gateway.ask("POST", "/mcp", asked), gateway.ask("GET", "/x", asked)]
    ids = [heard.headers["x-request-id"] for heard in found]
    assert len(set(ids)) == 3
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in ids)


def test_one_path_has_one_hash_whatever_its_unicode_form_and_only_with_the_key(gateway: Gateway) -> None:
    for path in ("caf\u00e9.md", "cafe\u0301.md", "other.md"):
        gateway.call("read", {"path": path})
    composed, decomposed, other = (line["path"] for line in calls(gateway)[-3:])
    assert composed == decomposed != other
    key = bytes.fromhex((gateway.home / "log.key").read_text())
    assert logs.hashed(key, "other.md") == other
    assert logs.hashed(bytes(32), "other.md") != other
    assert (gateway.home / "log.key").stat().st_mode & 0o777 == 0o600


def test_nothing_that_a_client_sends_forges_a_line_or_is_read_back(gateway: Gateway) -> None:
    before = len(lines(gateway))
    for arguments in ({"path": HOSTILE}, {HOSTILE: 1}, {"path": [HOSTILE]}, {"path": "a.md", "revision": HOSTILE}):
        gateway.call("read", arguments)
    gateway.call("search", {"query": HOSTILE})
    gateway.call("write", {"path": HOSTILE, "content": HOSTILE, "expected_hash": HOSTILE, "request_id": HOSTILE})
    gateway.call("run_code", {"script": f"console.log({json.dumps(HOSTILE)}); throw new Error({json.dumps(HOSTILE)})"})
    gateway.rpc("a", "tools/call", {"name": HOSTILE, "arguments": {"path": HOSTILE}})
    gateway.rpc("a", "tools/call", {"name": "read", "arguments": HOSTILE})
    gateway.rpc("a", "resources/read", {"uri": f"muninn://note/{HOSTILE}"})
    for method in (HOSTILE, f"notifications/{SECRET}", "initialize", "ping", "resources/subscribe"):
        gateway.rpc("a", method, {"x": HOSTILE, "clientInfo": {"name": HOSTILE, "version": HOSTILE}})
        gateway.rpc("a", "tools/list", {"cursor": HOSTILE}, STATELESS)
    headers = dict.fromkeys(("X-Request-Id", "User-Agent", "Cookie", "Mcp-Name", "traceparent"), SECRET)
    gateway.rpc("a", "tools/call", {"name": "read", "arguments": {"path": "a.md"}}, **headers)
    for more in ({"MCP-Protocol-Version": SECRET}, {"Mcp-Session-Id": SECRET}, {"Content-Type": SECRET}):
        gateway.ask("POST", "/mcp", {"Authorization": f"Bearer {gateway.tokens['a']}"} | more, b"{}")
    gateway.ask("POST", f"/mcp?token={SECRET}", {"Authorization": f"Bearer {SECRET}"}, SECRET.encode())
    gateway.ask("GET", f"/{SECRET}", {"Authorization": f"Bearer {SECRET}", "Host": SECRET})
    for raw in (f"GET /{SECRET}\x1b[31m HTTP/9.9\r\n\r\n", f"{SECRET}\r\n\r\n", f"GET / HTTP/1.1\r\n{SECRET}\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=5) as wire:
            wire.sendall(raw.encode())
            wire.recv(1000)
    told = lines(gateway)  # reads every line as JSON
    assert len(told) >= before + 15
    assert {name for line in told for name in line} <= {*FIELDS, *CALL_FIELDS, *MORE_FIELDS}
    text = gateway.log()
    assert SECRET not in text
    assert SECRET[4:20] not in text
    assert "forged" not in text
    assert all(token not in text for token in gateway.tokens.values())
    assert text.isascii()
    assert all(character == "\n" or character.isprintable() for character in text)
    assert {line["tool"] for line in told if line["message"] == "call"} >= {"unknown", "read", "resources/read"}
    assert "uvicorn.error" in {line["logger"] for line in told}


def test_the_level_is_the_owners(tmp_path: Path) -> None:
    made = places(tmp_path)
    refused = made.muninn("serve", "--port", str(made.port), env={"MUNINN_LOG_LEVEL": "loud"})
    assert refused.returncode == 1
    assert "must be debug, info, warning or error, found 'loud'" in refused.stderr


def test_at_warning_a_call_leaves_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNINN_LOG_LEVEL", "warning")
    made = places(tmp_path)
    with served(made):
        made.call("status", {})
        made.ask("POST", "/mcp", {})
        assert lines(made) == []
