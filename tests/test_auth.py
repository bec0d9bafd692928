"""The gate: who gets past it, in which order things are judged, and what a caller learns of it."""

import asyncio
import hmac
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from muninn import auth, clients

TOKEN = "tok-0123456789-0123456789-abcdefgh"
GOOD = (b"authorization", f"Bearer {TOKEN}".encode())
HOST = (b"host", b"127.0.0.1:8460")


class Asked:
    """One request to a gate, with what came back and whether the app behind it was reached."""

    def __init__(self, gate_path: Path, headers: list[tuple[bytes, bytes]], **more: Any) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.reached: list[bytes] = []
        self.client: Any = None
        self.reads = 0
        self._messages = list(more.pop("messages", [{"type": "http.request", "body": b"{}", "more_body": False}]))
        self._stall = more.pop("stall", False)
        rates = more.pop("rates", auth.Rates(0, 0))
        self.scope = {"type": "http", "method": "POST", "path": more.pop("path", "/mcp"), "headers": headers} | more
        gate = auth.Gate(self._app, clients.Register(gate_path), ("127.0.0.1", "localhost", "muninn.example"), rates)
        asyncio.run(gate(self.scope, self._receive, self._send))

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        self.client = scope["state"]["client"] if "state" in scope else None
        self.reached.append((await receive()).get("body", b"") if scope["path"] != "/health" else b"")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def _receive(self) -> Any:
        self.reads += 1
        if not self._messages and self._stall:
            await asyncio.sleep(3600)
        return self._messages.pop(0) if self._messages else {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")


@pytest.fixture
def register(tmp_path: Path) -> Path:
    path = tmp_path / "clients.toml"
    clients.save(path, {"a": clients.make("a", TOKEN)})
    return path


@pytest.mark.parametrize("scheme", [b"Bearer", b"bearer", b"BEARER"])
def test_the_right_token_gets_through_whatever_the_case_of_the_scheme(register: Path, scheme: bytes) -> None:
    asked = Asked(register, [HOST, (b"authorization", scheme + b" " + TOKEN.encode())])
    assert asked.status == 200
    assert asked.client.name == "a"
    assert asked.reached == [b"{}"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer ")],
        [(b"authorization", b"Bearer t\xf6k\xff\xfe")],
        [(b"authorization", f"Bearer {TOKEN[:-1]}".encode())],
        [(b"authorization", f"Bearer {TOKEN}1".encode())],
        [(b"authorization", f"Bearer {TOKEN.upper()}".encode())],
        [(b"authorization", f"Basic {TOKEN}".encode())],
        [(b"authorization", TOKEN.encode())],
        [(b"authorization", f"Bearer {TOKEN}, Bearer {TOKEN}".encode())],
        [GOOD, GOOD],
        [(b"x-authorization", GOOD[1])],
    ],
)
def test_any_other_credential_is_401_before_the_body_is_read(
    register: Path, headers: list[tuple[bytes, bytes]]
) -> None:
    asked = Asked(register, [HOST, *headers])
    assert asked.status == 401
    assert asked.headers["www-authenticate"] == "Bearer"
    assert asked.reads == 0
    assert not asked.reached


def test_white_space_around_a_header_is_no_part_of_it(register: Path) -> None:
    asked = Asked(register, [(b"host", b"127.0.0.1 "), (b"authorization", GOOD[1] + b" \t"), (b"x", b" y\t")])
    assert asked.status == 200
    assert (b"x", b"y") in asked.scope["headers"]


def test_a_token_in_the_address_does_not_count(register: Path) -> None:
    assert Asked(register, [HOST], query_string=f"token={TOKEN}".encode()).status == 401


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD", "PATCH"])
def test_every_method_needs_the_token(register: Path, method: str) -> None:
    assert Asked(register, [HOST], method=method).status == 401


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"evil.example", None),
        (b"127.0.0.1.evil.example", None),
        (b"localhost.evil.example:8460", None),
        (b"evil.example@127.0.0.1", None),
        (b"127.0.0.1:8460:1", None),
        (b"127.0.0.1:port", None),
        (b"", None),
        (b"127.0.0.1", b"null"),
        (b"127.0.0.1", b"http://evil.example"),
        (b"127.0.0.1", b"https://muninn.example.evil.example"),
        (b"127.0.0.1", b"http://127.0.0.1@evil.example"),
        (b"127.0.0.1", b"http://127.0.0.1/"),
        (b"127.0.0.1", b"file://127.0.0.1"),
    ],
)
def test_a_foreign_host_or_origin_is_403_before_the_token(register: Path, host: bytes, origin: bytes | None) -> None:
    headers = [(b"host", host)] + ([(b"origin", origin)] if origin is not None else [])
    assert Asked(register, [*headers, GOOD]).status == 403
    assert Asked(register, headers).status == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"127.0.0.1", None),
        (b"localhost:1", b"http://localhost:8460"),
        (b"MUNINN.example:8443", b"https://muninn.example"),
    ],
)
def test_allowed_names_match_at_any_port(register: Path, host: bytes, origin: bytes | None) -> None:
    headers = [(b"host", host)] + ([(b"origin", origin)] if origin is not None else [])
    assert Asked(register, [*headers, GOOD]).status == 200


def test_two_hosts_or_none_are_refused(register: Path) -> None:
    assert Asked(register, [GOOD]).status == 403
    assert Asked(register, [HOST, HOST, GOOD]).status == 403


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-protected-resource/mcp", "/.well-known/x", "/register", "/authorize", "/token"]
)
def test_addresses_of_a_sign_in_are_plain_404(register: Path, path: str) -> None:
    asked = Asked(register, [HOST], path=path)
    assert asked.status == 404
    assert "www-authenticate" not in asked.headers


def test_health_is_open_and_nothing_else(register: Path) -> None:
    assert Asked(register, [], path="/health", method="GET").status == 200
    assert Asked(register, [HOST], path="/health/").status == 401
    assert Asked(register, [HOST], path="/elsewhere").status == 401


def test_a_large_body_is_413_by_its_declared_or_its_real_length(register: Path) -> None:
    declared = Asked(register, [HOST, GOOD, (b"content-length", b"4194305")])
    assert declared.status == 413
    assert not declared.reached
    piece = {"type": "http.request", "body": b"x" * 1048576, "more_body": True}
    real = Asked(register, [HOST, GOOD], messages=[piece] * 5)
    assert real.status == 413
    assert not real.reached
    last = {"type": "http.request", "body": b"", "more_body": False}
    assert Asked(register, [HOST, GOOD], messages=[piece] * 4 + [last]).status == 200


def test_an_odd_content_length_is_refused(register: Path) -> None:
    assert Asked(register, [HOST, GOOD, (b"content-length", b"-5")]).status == 413


def test_a_body_that_does_not_arrive_is_408(register: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "BODY_SECONDS", 0.05)
    half = {"type": "http.request", "body": b"{", "more_body": True}
    asked = Asked(register, [HOST, GOOD], messages=[half], stall=True)
    assert asked.status == 408
    assert not asked.reached


def test_a_caller_that_hangs_up_half_way_is_not_acted_on(register: Path) -> None:
    half = {"type": "http.request", "body": b"{", "more_body": True}
    asked = Asked(register, [HOST, GOOD], messages=[half])
    assert not asked.reached
    assert asked.status == 0


def test_over_the_rate_is_429_with_a_time_to_wait(register: Path) -> None:
    rates = auth.Rates(1, 2)
    seen = [Asked(register, [HOST, GOOD], rates=rates) for _ in range(3)]
    assert [asked.status for asked in seen] == [200, 200, 429]
    assert int(seen[-1].headers["retry-after"]) >= 1


def test_a_rate_refills_with_time_and_is_kept_for_each_client() -> None:
    rates = auth.Rates(10, 1)
    assert rates.take("a", 0.0) == 0
    assert rates.take("a", 0.0) > 0
    assert rates.take("b", 0.0) == 0
    assert rates.take("a", 0.2) == 0


def test_the_digests_are_compared_in_full(register: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        seen.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    clients.Register(register).find(b"wrong", datetime.now(UTC))
    ((one, other),) = seen
    assert (len(one), len(other)) == (64, 64)


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "OPTIONS"])
def test_health_is_open_for_looking_alone(register: Path, method: str) -> None:
    assert Asked(register, [HOST], path="/health", method=method).status == 401


def test_a_thicket_of_values_is_413_but_a_long_text_is_not(register: Path) -> None:
    def asked(body: bytes) -> Asked:
        return Asked(register, [HOST, GOOD], messages=[{"type": "http.request", "body": body, "more_body": False}])

    assert asked(b"[" + b"[]," * 30_000 + b"0]").status == 413
    assert asked(b'{"a":"' + b"a, b [c] {d} " * 40_000 + b'"}').status == 200


@pytest.mark.parametrize("header", [(b"content-length", b"4000000000"), (b"transfer-encoding", b"chunked")])
def test_a_stranger_who_announces_much_is_hung_up_on(register: Path, header: tuple[bytes, bytes]) -> None:
    assert Asked(register, [HOST, header]).headers["connection"] == "close"
    assert "connection" not in Asked(register, [HOST, (b"content-length", b"200")]).headers
