"""HTTP at the door: methods, addresses, both eras of the protocol, and what a stranger learns."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muninn.patience import FIRST_REQUEST_S, MOST_HEAD
from tests.door.gateway import HANDSHAKE, STATELESS, Gateway, places, served

NOTE = b"---\ntitle: One\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\nbody\n"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("http"))
    (made.vault / "one.md").write_bytes(NOTE)
    with served(made):
        yield made


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_both_spellings_answer_alike_and_never_redirect(gateway: Gateway, path: str) -> None:
    headers = {"Authorization": f"Bearer {gateway.tokens['a']}"}
    assert gateway.ask("POST", path, {}).status == 401
    for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS"):
        assert gateway.ask(method, path, {}).status == 401
        heard = gateway.ask(method, path, headers)
        assert heard.status == 405
        assert "POST" in heard.headers["allow"]


def test_health_says_ok_and_no_more(gateway: Gateway) -> None:
    heard = gateway.ask("GET", "/health", {})
    assert (heard.status, heard.json) == (200, {"status": "ok"})


def test_no_answer_names_the_software_that_serves(gateway: Gateway) -> None:
    heard = gateway.ask("GET", "/health", {})
    assert "server" not in heard.headers


def test_an_unknown_session_is_404(gateway: Gateway) -> None:
    heard = gateway.rpc("a", "tools/list", {}, **{"Mcp-Session-Id": "no-such-session"})
    assert heard.status == 404


def test_unknown_addresses_are_401_without_and_404_with_a_token(gateway: Gateway) -> None:
    assert gateway.ask("GET", "/elsewhere", {}).status == 401
    assert gateway.ask("GET", "/elsewhere", {"Authorization": f"Bearer {gateway.tokens['a']}"}).status == 404


def test_the_handshake_gives_instructions_that_are_not_cut(gateway: Gateway) -> None:
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    result = gateway.rpc("a", "initialize", params).json["result"]
    assert result["protocolVersion"] == HANDSHAKE
    assert result["serverInfo"]["name"] == "muninn"
    assert len(result["instructions"]) <= 2048
    assert "contract" in result["instructions"]


@pytest.mark.parametrize("era", ["2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE, STATELESS])
def test_every_revision_lists_and_calls_the_same_tools(gateway: Gateway, era: str) -> None:
    listed = gateway.rpc("a", "tools/list", {}, era).json["result"]["tools"]
    assert [tool["name"] for tool in listed][:2] == ["search", "read"]
    heard = gateway.rpc("a", "tools/call", {"name": "read", "arguments": {"path": "one.md"}}, era).json
    assert heard["result"]["structuredContent"]["content"] == NOTE.decode()


def test_the_stateless_era_marks_what_depends_on_rights_as_private(gateway: Gateway) -> None:
    result = gateway.rpc("a", "tools/list", {}, STATELESS).json["result"]
    assert result["cacheScope"] == "private"


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
def test_an_unknown_tool_is_the_protocols_own_error(gateway: Gateway, era: str) -> None:
    for name in ("delete", "purge", "read-all", "READ", ""):
        heard = gateway.rpc("a", "tools/call", {"name": name, "arguments": {"path": "one.md"}}, era)
        assert "Unknown tool" in heard.json["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_request_is_refused_and_harms_nothing(gateway: Gateway, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {gateway.tokens['a']}", "Content-Type": "application/json"}
    headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": HANDSHAKE}
    heard = gateway.ask("POST", "/mcp", headers, body)
    assert 400 <= heard.status < 500
    assert gateway.call("read", {"path": "one.md"})["hash"]


def test_a_token_made_while_it_runs_counts_at_once(gateway: Gateway) -> None:
    gateway.add("late")
    assert gateway.rpc("late", "tools/list", {}).status == 200


def test_a_second_gateway_names_the_first_and_ends(gateway: Gateway) -> None:
    assert gateway.process is not None
    second = gateway.muninn("serve", "--port", "0")
    assert second.returncode == 1
    assert str(gateway.process.pid) in second.stderr
    assert str(gateway.port) in second.stderr


def test_a_taken_port_is_said_plainly(gateway: Gateway, tmp_path: Path) -> None:
    again = places(tmp_path).muninn("serve", "--port", str(gateway.port))
    assert again.returncode == 1
    assert "cannot listen" in again.stderr
    assert "Traceback" not in again.stderr


def test_nothing_but_loopback_without_tls(gateway: Gateway) -> None:
    refused = gateway.muninn("serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 1
    assert "--behind-proxy" in refused.stderr


def test_a_killed_gateway_is_started_again_without_help(tmp_path: Path) -> None:
    made = places(tmp_path)
    with served(made):
        assert made.process is not None
        made.process.kill()
        made.process.wait()
    with served(made):
        assert made.call("status", {})["vault"]["readable"]
        assert made.stop() == 0


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda made: (made.home / "clients.toml").unlink(), "no client"),
        (lambda made: made.vault.rmdir(), "vault"),
        (lambda made: (made.home / "muninn.toml").write_text("colour = 1\n"), "colour"),
    ],
)
def test_what_keeps_it_from_starting_is_said_with_exit_status_1(tmp_path: Path, spoil, named: str) -> None:  # type: ignore[no-untyped-def]
    made = places(tmp_path)
    spoil(made)
    refused = made.muninn("serve", "--port", "0")
    assert refused.returncode == 1
    assert named in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_vault_that_lost_its_mark_is_not_adopted_again(tmp_path: Path) -> None:
    made = places(tmp_path)
    with served(made):
        pass
    (made.vault / ".muninn-vault").unlink()
    refused = made.muninn("serve", "--port", "0")
    assert refused.returncode == 1
    assert ".muninn-vault" in refused.stderr
    assert not (made.vault / ".muninn-vault").exists()


def test_a_seam_for_tests_is_refused_outside_of_them(tmp_path: Path) -> None:
    made = places(tmp_path)
    refused = made.muninn("client", "list", env={"MUNINN_TEST_FAULTS": str(tmp_path / "faults")})
    assert refused.returncode == 1
    loud = made.muninn("client", "list", env={"MUNINN_TEST_FAULTS": str(tmp_path / "faults"), "MUNINN_TEST": "1"})
    assert loud.returncode == 0
    assert "UNDER TEST" in loud.stderr


def test_a_silent_connection_is_hung_up_on(gateway: Gateway) -> None:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=FIRST_REQUEST_S + 10) as silent:
        silent.sendall(b"POST /mcp HT")
        began = time.monotonic()
        assert silent.recv(1) == b""
        assert FIRST_REQUEST_S - 2 < time.monotonic() - began < FIRST_REQUEST_S + 8


def _start(gateway: Gateway, *pieces: bytes) -> bytes:
    """The beginning of what is answered to bytes sent as they are, or nothing where the connection was cut."""
    host = f"Host: 127.0.0.1:{gateway.port}\r\n".encode()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=FIRST_REQUEST_S - 4) as stranger:
        try:
            for piece in pieces:
                stranger.sendall(piece.replace(b"HOST\r\n", host))
            return stranger.recv(12)
        except (ConnectionResetError, BrokenPipeError):
            return b""


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /console/login?", *[b"a" * 65_536] * 40],
        [b"GET /console/login HTTP/1.1\r\nHOST\r\ncookie: ", *[b"a=b;" * 16_384] * 40],
        [b"GET /console/login HTTP/1.1\r\nHOST\r\n", b"a: b\r\n" * 20_000, b"\r\n"],
        [b"POST /console/login HTTP/1.1\r\nHOST\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ", *[b"a" * 65_536] * 40],
    ],
    ids=["address", "header", "headers", "trailer"],
)
def test_a_head_that_goes_on_and_on_is_refused_before_it_ends(gateway: Gateway, pieces: list[bytes]) -> None:
    began = time.monotonic()
    assert _start(gateway, *pieces) in (b"HTTP/1.1 400", b"HTTP/1.1 403", b"")
    assert time.monotonic() - began < FIRST_REQUEST_S - 5
    assert gateway.ask("GET", "/health", {}).status == 200


def test_a_large_body_is_no_long_head(gateway: Gateway) -> None:
    """Also where both come in one piece, and where the head is as long as it may be."""
    long = {"X-Long": "a" * (MOST_HEAD - 2_000), "Authorization": f"Bearer {gateway.tokens['a']}"}
    heard = gateway.ask("POST", "/mcp", long | {"Content-Type": "application/json"}, b" " * 3_000_000)
    assert b"The head" not in heard.body
    assert heard.body.startswith(b"{")
