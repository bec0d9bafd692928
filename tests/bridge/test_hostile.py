"""The bridge between a gateway that is out to harm its client, and a client that is out to harm its bridge."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from muninn.bridge import Address, line
from tests.bridge.process import Said, bridged, pretending, request

WORD = "t" * 40
_GOOD = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'
_DEEP = b"[" * 993 + b"]" * 993


def _heard(body: bytes) -> bytes:
    """The line that a client gets for an answer."""
    with pretending(lambda *_: Said(200, body)) as address, bridged("--url", address, token=WORD) as bridge:
        bridge.send(request("ping"))
        return bridge.heard.get(timeout=20)


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc": "2.0", "id": 1, "result": {"a": "\u0a0a"}}'.encode("utf-16"),
        b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "\xed\xa0\x80"}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "\xff"}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"a": NaN}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"a": 1e999}}',
        b'{"jsonrpc": "2.0", "id": true, "result": {}}',
        b'{"jsonrpc": "2.0", "id": ' + _DEEP + b', "result": {}}',
        b'{"jsonrpc": "2.0", "id": null, "error": ' + _DEEP + b"}",
        b"data: " + _GOOD + b"\n\n",
    ],
)
def test_an_answer_that_no_strict_client_could_read_is_not_passed_on(body: bytes) -> None:
    said = _heard(body)
    assert said.isascii()
    assert json.loads(said)["error"]["data"]["reason"] == "no_gateway"


def test_an_answer_says_each_name_once_and_is_one_line_for_every_reader() -> None:
    said = _heard('{"jsonrpc": "2.0", "id": 2, "id": 1, "result": {"a": "\u2028\x7f\u202e"}}'.encode())
    assert said.isascii()
    assert (said.count(b'"id"'), said.count(b"\n")) == (1, 1)
    assert json.loads(said) == {"jsonrpc": "2.0", "id": 1, "result": {"a": "\u2028\x7f\u202e"}}


@pytest.mark.parametrize(
    "sent",
    [
        b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"jsonrpc": "2.0", "method": "ping", "id": ' + _DEEP + b"}",
        b'{"jsonrpc": "2.0", "method": 1, "id": ' + _DEEP + b"}",
        b'{"jsonrpc": "2.0", "method": "ping", "id": {"a": 1}}',
        b'{"jsonrpc": "2.0", "method": "ping", "id": true}',
        b"[" * 100_000,
        b"\x00" * 100,
        b'{"jsonrpc": "2.0", "method": "ping", "id": "\xed\xa0\x80"}',
        '{"jsonrpc": "2.0", "method": "ping", "id": 1}'.encode("utf-16"),
    ],
)
def test_a_line_that_could_not_be_answered_is_refused_and_the_next_one_goes_through(sent: bytes) -> None:
    with pretending(lambda *_: Said(200, _GOOD)) as address, bridged("--url", address, token=WORD) as bridge:
        bridge.send(sent)
        assert bridge.next()["error"]["data"]["reason"] in ("parse", "invalid")
        assert bridge.ask("ping")["result"] == {}
        assert bridge.end() == (0, "")


def test_cancelling_what_cannot_be_an_id_harms_nobody() -> None:
    with pretending(lambda *_: Said(200, _GOOD)) as address, bridged("--url", address, token=WORD) as bridge:
        for depth in (1, 900, *range(960, 1000)):  # at the edge of what can be read and not be written again
            params = b'"params": {"requestId": ' + b"[" * depth + b"]" * depth + b"}"
            bridge.send(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", ' + params + b"}")
        bridge.send(request("ping"))
        while (answer := bridge.next()).get("id") is None:
            assert answer["error"]["data"]["reason"] == "parse"
        assert answer["result"] == {}


def test_ids_that_are_used_twice_get_an_answer_each() -> None:
    def slow(*_: object) -> Said:
        time.sleep(0.2)
        return Said(200, _GOOD)

    with pretending(slow) as address, bridged("--url", address, token=WORD) as bridge:
        for _ in range(40):
            bridge.send(request("ping"))
        assert [bridge.next()["result"] for _ in range(40)] == [{}] * 40


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b""]
)
def test_an_answer_that_never_ends_is_given_up(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "_ANSWER_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            held, _ = listener.accept()
            with held:
                try:
                    held.sendall(said)
                    while True:
                        held.sendall(said if said.endswith(b"Continue\r\n\r\n") else b" ")
                        time.sleep(0.05)
                except OSError:
                    return

        threading.Thread(target=drip, daemon=True).start()
        port = listener.getsockname()[1]
        asked = line.Line(Address(f"http://127.0.0.1:{port}/mcp", False, "127.0.0.1", port, "/mcp"), None)
        began = time.monotonic()
        with pytest.raises(line.LostError):
            asked.post(b"{}", {})
        assert time.monotonic() - began < 5
        asked.close()
