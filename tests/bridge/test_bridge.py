"""The bridge before a real gateway: both eras, many calls at once, and everything that can go wrong on the way."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muninn import clients
from muninn.bridge import Address, parse
from muninn.bridge.line import Line
from muninn.logs import FIELDS
from tests.bridge.process import BARE, Bridge, Said, bridged, pretending, request
from tests.conftest import note_text
from tests.door.gateway import HANDSHAKE, STATELESS, Gateway, places, served, until_ready

WORD = "t" * 40


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("bridged"))
    (made.vault / "a.md").write_bytes(note_text("the heron stands still\n"))
    with served(made) as running:
        until_ready(running)
        yield running


def url(gateway: Gateway) -> str:
    return f"http://127.0.0.1:{gateway.port}/mcp"


@pytest.fixture
def bridge(gateway: Gateway) -> Iterator[Bridge]:
    with bridged("--url", url(gateway), token=gateway.tokens["a"]) as made:
        yield made


def test_the_handshake_and_calls_of_the_older_revisions(bridge: Bridge) -> None:
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    answer = bridge.ask("initialize", params)
    assert answer["result"]["protocolVersion"] == HANDSHAKE
    bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    read = bridge.call("read", {"path": "a.md"}, 2)
    assert read["content"].endswith("the heron stands still\n")
    assert bridge.end() == (0, "")


def test_calls_of_the_stateless_revision(bridge: Bridge) -> None:
    answer = bridge.ask("server/discover", era=STATELESS)
    assert STATELESS in answer["result"]["supportedVersions"]
    assert bridge.call("status", {}, "two", STATELESS)["client"]["name"] == "a"
    read = bridge.ask("resources/read", {"uri": "muninn://note/a.md"}, 3, STATELESS)
    assert "heron" in read["result"]["contents"][0]["text"]


def test_a_name_that_no_header_can_carry_arrives(bridge: Bridge) -> None:
    answer = bridge.ask("tools/call", {"name": "zürück\r\nX: y", "arguments": {}}, era=STATELESS)
    assert answer["error"]["message"].startswith("Unknown tool: zürück")


def test_a_notification_is_owed_no_answer(bridge: Bridge) -> None:
    bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    bridge.send(request("ping", message_id=7))
    assert bridge.next()["id"] == 7
    with pytest.raises(queue.Empty):
        bridge.next(0.3)


def test_a_quick_call_overtakes_a_slow_one(bridge: Bridge) -> None:
    slow = {"name": "run_code", "arguments": {"script": "while (true) {}", "timeout_s": 2}}
    bridge.send(request("tools/call", slow, 1))
    bridge.send(request("tools/call", {"name": "status", "arguments": {}}, 2))
    assert [bridge.next()["id"], bridge.next()["id"]] == [2, 1]


def test_many_calls_at_once_get_each_its_own_answer(bridge: Bridge) -> None:
    for number in range(200):
        bridge.send(request("tools/call", {"name": "read", "arguments": {"path": f"{number}.md"}}, number))
    found = {}
    for _ in range(200):
        answer = bridge.next()
        found[answer["id"]] = json.loads(answer["result"]["content"][0]["text"])["error"]["message"]
    assert all(text.startswith(f"{number}.md ") for number, text in found.items())
    assert len(found) == 200


def test_a_cancelled_call_is_not_answered_and_the_next_one_is(bridge: Bridge) -> None:
    slow = {"name": "run_code", "arguments": {"script": "while (true) {}", "timeout_s": 3}}
    bridge.send(request("tools/call", slow, "slow"))
    time.sleep(0.5)
    bridge.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
    assert bridge.ask("ping", message_id=2)["id"] == 2
    with pytest.raises(queue.Empty):
        bridge.next(3.5)
    assert bridge.end() == (0, "")


def test_the_gateway_sees_that_a_call_was_cancelled() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        with bridged("--url", address, token=WORD) as bridge:
            bridge.send(request("tools/call", {"name": "run_code"}, "slow"))
            peer, _ = listening.accept()
            with peer:
                peer.settimeout(10)
                heard = b""
                while b"run_code" not in heard:
                    heard += peer.recv(65_536)
                bridge.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
                while peer.recv(65_536):
                    pass


def test_what_no_gateway_takes_is_not_sent() -> None:
    seen: list[bytes] = []

    def note(body: bytes, _: dict[str, str]) -> Said:
        seen.append(body)
        return Said(413)

    with pretending(note) as address, bridged("--url", address, token=WORD) as bridge:
        answer = bridge.ask("tools/call", {"name": "x" * 4 * 1024 * 1024})
    assert (answer["error"]["data"]["reason"], seen) == ("too_large", [])


def test_a_large_message_goes_through_and_a_larger_one_is_refused(bridge: Bridge) -> None:
    padding = "x" * (3 * 1024 * 1024)
    answer = bridge.ask("tools/call", {"name": "read", "arguments": {"path": padding}})
    assert json.loads(answer["result"]["content"][0]["text"])["error"]["code"] == "invalid_path"
    answer = bridge.ask("tools/call", {"name": "read", "arguments": {"path": padding + padding[: 1024 * 1024]}})
    assert answer["error"]["data"]["reason"] == "too_large"
    assert bridge.ask("ping")["result"] == {}


def test_what_is_no_message_is_said_and_the_bridge_goes_on(bridge: Bridge) -> None:
    bridge.send(b"no json")
    assert bridge.next()["error"]["code"] == -32700
    bridge.send(b"[" * 100_000)
    assert bridge.next()["error"]["code"] == -32700
    bridge.send([request("ping", message_id=1), request("ping", message_id=2)])
    assert [bridge.next()["id"], bridge.next()["id"]] == [1, 2]
    bridge.send({"jsonrpc": "2.0", "id": 3, "method": 5})
    assert bridge.next()["error"]["code"] == -32600
    bridge.send({"jsonrpc": "2.0", "id": 4, "result": {}})
    bridge.send(b"")
    assert bridge.ask("ping", message_id=5)["id"] == 5


def test_a_gateway_that_is_down_is_said_and_found_again_when_it_is_back(tmp_path: Path) -> None:
    made = places(tmp_path)
    with bridged("--url", url(made), token=made.tokens["a"]) as bridge:
        for _ in range(2):
            answer = bridge.ask("ping", message_id="x")
            assert answer["id"] == "x"
            assert answer["error"]["data"]["reason"] == "unreachable"
            assert "muninn serve" in answer["error"]["message"]
        for _ in range(2):
            with served(made):
                assert bridge.ask("ping")["result"] == {}
            assert bridge.ask("ping")["error"]["data"]["reason"] == "unreachable"
        status, remarks = bridge.end()
    assert status == 0
    lines = [json.loads(line)["message"] for line in remarks.splitlines()]
    assert all(json.loads(line).keys() == FIELDS.keys() for line in remarks.splitlines())
    assert len([line for line in lines if "cannot be reached" in line]) == 3
    assert made.tokens["a"] not in remarks


def test_a_gateway_that_dies_in_a_call_leaves_the_outcome_open(tmp_path: Path) -> None:
    made = places(tmp_path)
    made.start()
    with bridged("--url", url(made), token=made.tokens["a"]) as bridge:
        slow = {"name": "run_code", "arguments": {"script": "while (true) {}", "timeout_s": 20}}
        bridge.send(request("tools/call", slow))
        time.sleep(1)
        assert made.process is not None
        made.process.kill()
        made.process.wait(timeout=10)
        answer = bridge.next()
    assert answer["error"]["data"]["reason"] == "lost"
    assert "may have been done" in answer["error"]["message"]


def test_a_wrong_token_is_said_without_it_and_a_rotated_one_counts_at_once(gateway: Gateway, tmp_path: Path) -> None:
    kept = tmp_path / "token"
    kept.write_text(clients.new_token() + "\n")
    kept.chmod(0o600)
    with bridged("--url", url(gateway), "--token-file", str(kept)) as bridge:
        answer = bridge.ask("ping")
        assert answer["error"]["data"]["reason"] == "unauthorized"
        assert str(kept) in answer["error"]["message"]
        assert kept.read_text().strip() not in json.dumps(answer)
        kept.write_text(gateway.tokens["a"])
        assert bridge.ask("ping")["result"] == {}


def test_the_token_is_in_no_title_and_no_remark(gateway: Gateway, bridge: Bridge) -> None:
    assert bridge.ask("ping")["result"] == {}
    seen = subprocess.run(
        ["ps", "-o", "args=", "-p", str(bridge.process.pid)], capture_output=True, text=True, check=True
    )
    assert gateway.tokens["a"] not in seen.stdout
    assert gateway.tokens["a"] not in bridge.end()[1]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Said(401), "unauthorized"),
        (Said(403), "forbidden_host"),
        (Said(404), "not_found"),
        (Said(408), "timeout"),
        (Said(413), "too_large"),
        (Said(429, headers=(("Retry-After", "0"),)), "rate"),
        (Said(500, b"<h1>oh</h1>"), "no_gateway"),
        (Said(200, b"<h1>hello</h1>"), "no_gateway"),
        (Said(200, b'{"jsonrpc": "2.0", "id": 99, "result": {}}'), "no_gateway"),
        (Said(200, b'{"jsonrpc": "2.0", "id": 1, "result": {}}', (("Content-Type", "text/html"),)), "no_gateway"),
        (Said(202, b""), "no_gateway"),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
def test_an_answer_that_is_none_becomes_an_error_that_says_the_next_step(said: Said, reason: str) -> None:
    with pretending(lambda *_: said) as address, bridged("--url", address, token=WORD) as bridge:
        answer = bridge.ask("ping")
        assert (answer["id"], answer["error"]["data"]["reason"]) == (1, reason)
        assert WORD not in json.dumps(answer)
        assert WORD not in bridge.end()[1]


def test_an_error_without_an_id_gets_the_one_that_asked_and_a_broken_line_is_mended() -> None:
    body = b'{"jsonrpc": "2.0",\r\n "id": null,\n "error": {"code": -32700, "message": "no"}}'
    with pretending(lambda *_: Said(400, body)) as address, bridged("--url", address, token=WORD) as bridge:
        answer = bridge.ask("ping", message_id="mine")
    assert answer == {"jsonrpc": "2.0", "id": "mine", "error": {"code": -32700, "message": "no"}}
    body = b'{"jsonrpc": "2.0",\r\n "id": 1,\n "result": {}}'
    with pretending(lambda *_: Said(200, body)) as address, bridged("--url", address, token=WORD) as bridge:
        assert bridge.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_redirect_is_not_followed() -> None:
    shown: list[str] = []

    def elsewhere(_: bytes, headers: dict[str, str]) -> Said:
        shown.append(headers.get("authorization", ""))
        return Said()

    with pretending(elsewhere) as other:
        away = Said(307, b"", (("Location", other),))
        with pretending(lambda *_: away) as address, bridged("--url", address, token=WORD) as bridge:
            assert bridge.ask("ping")["error"]["data"]["reason"] == "redirect"
    assert shown == []


def test_a_gateway_that_asks_for_patience_gets_it() -> None:
    times: list[float] = []

    def patient(_: bytes, __: dict[str, str]) -> Said:
        times.append(time.monotonic())
        enough = len(times) > 1
        body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
        return Said(200, body) if enough else Said(429, b"{}", (("Retry-After", "1"),))

    with pretending(patient) as address, bridged("--url", address, token=WORD) as bridge:
        assert bridge.ask("ping")["result"] == {}
    assert times[1] - times[0] >= 0.9


def test_the_headers_of_each_era() -> None:
    seen: list[dict[str, str]] = []

    def note(body: bytes, headers: dict[str, str]) -> Said:
        seen.append(headers)
        asked = json.loads(body)
        result = {"protocolVersion": "2025-06-18"} if asked["method"] == "initialize" else {}
        return Said(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())

    with pretending(note) as address, bridged("--url", address, token=WORD) as bridge:
        bridge.ask("initialize", {"protocolVersion": HANDSHAKE})
        bridge.ask("tools/list")
        bridge.ask("tools/call", {"name": "read"}, era=STATELESS)
    assert all(headers["authorization"] == f"Bearer {WORD}" for headers in seen)
    assert all(headers["accept"] == "application/json, text/event-stream" for headers in seen)
    versions = [headers.get("mcp-protocol-version") for headers in seen]
    assert versions == [None, "2025-06-18", STATELESS]
    assert (seen[2]["mcp-method"], seen[2]["mcp-name"]) == ("tools/call", "read")
    assert "mcp-method" not in seen[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--url", "http://example.org/mcp"), "travel in clear; --allow-plain"),
        (("--url", "ftp://127.0.0.1/"), "must begin with https://"),
        (("--url", "http://user:secret@127.0.0.1/"), "a user or a password"),
        (("--url", "http://127.0.0.1/mcp?token=secret"), "a query"),
        (("--url", "https://127.0.0.1/", "--ca-file", "nowhere.pem"), "expected a certificate in PEM"),
        (("--token-file", "nowhere"), "cannot be read: No such file"),
    ],
)
def test_a_wrong_command_line_is_said_at_once(arguments: tuple[str, ...], says: str) -> None:
    with bridged(*arguments, token=WORD) as bridge:
        status, remarks = bridge.end()
    assert status == 1
    assert says in remarks
    assert "secret@" not in remarks


def test_without_a_token_or_with_one_that_others_can_read_it_does_not_start(tmp_path: Path) -> None:
    with bridged("--url", "http://127.0.0.1:1/") as bridge:
        status, remarks = bridge.end()
    assert status == 1
    assert "give --token-file or set MUNINN_TOKEN" in remarks
    (tmp_path / "token").write_text(WORD)
    (tmp_path / "token").chmod(0o644)
    with bridged("--token-file", str(tmp_path / "token")) as bridge:
        status, remarks = bridge.end()
    assert status == 1
    assert "can be read by others; run: chmod 600" in remarks
    assert WORD not in remarks


def test_the_gateway_of_the_home_is_the_default(gateway: Gateway) -> None:
    with bridged("--home", str(gateway.home), token=gateway.tokens["a"]) as bridge:
        assert bridge.ask("ping")["result"] == {}


def test_the_end_of_input_ends_it_also_in_the_middle_of_a_call(bridge: Bridge) -> None:
    slow = {"name": "run_code", "arguments": {"script": "while (true) {}", "timeout_s": 5}}
    bridge.send(request("tools/call", slow))
    time.sleep(0.5)
    started = time.monotonic()
    assert bridge.end()[0] == 0
    assert time.monotonic() - started < 3.5
    assert bridge.next()["error"]["data"]["reason"] == "lost"


def test_a_question_that_is_piped_in_is_answered(gateway: Gateway) -> None:
    with bridged("--url", url(gateway), token=gateway.tokens["a"]) as bridge:
        bridge.send(request("ping"))
        assert bridge.end() == (0, "")
        assert bridge.next()["result"] == {}


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(bridge: Bridge, stop: signal.Signals) -> None:
    assert bridge.ask("ping")["result"] == {}
    bridge.process.send_signal(stop)
    assert bridge.process.wait(timeout=5) == 0


def test_a_client_that_listens_no_more_ends_it(gateway: Gateway) -> None:
    ours, theirs = os.pipe()
    command = [sys.executable, "-P", "-m", "muninn", "bridge", "--url", url(gateway)]
    process = subprocess.Popen(
        command,
        env=BARE | {"MUNINN_TOKEN": gateway.tokens["a"]},
        stdin=subprocess.PIPE,
        stdout=theirs,
    )
    os.close(theirs)
    os.close(ours)
    assert process.stdin is not None
    process.stdin.write(json.dumps(request("ping")).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(timeout=10) == 0
    process.stdin.close()


def test_an_idle_connection_that_the_gateway_closed_is_made_anew(bridge: Bridge) -> None:
    assert bridge.ask("ping")["result"] == {}
    time.sleep(6)
    assert bridge.ask("ping")["result"] == {}
    assert bridge.end() == (0, "")


def test_an_early_refusal_of_a_large_body_is_heard() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = parse(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
        assert isinstance(address, Address)

        def turn_away() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                # Closed with most of the body unread, as by who does not want it.

        door = threading.Thread(target=turn_away)
        door.start()
        # More than any buffer on the way takes, so that it is still being sent when the answer comes.
        assert Line(address, None).post(b"x" * 64 * 1024 * 1024, {}).status == 401
        door.join()
