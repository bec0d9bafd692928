"""A reranker over HTTP: only where it is safe, bounded in time and size, and silent about what it was told."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from index import rerank_http
from index.public import PublicText, public_text
from index.rerank_http import Address, EndpointError, HttpReranker, parse

from .room import note_path

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def text(words: str) -> PublicText:
    made = public_text(note_path("w/a.md"), words, lambda path: False)
    assert made is not None
    return made


@contextmanager
def endpoint(answer: Answer) -> Iterator[tuple[Address, list[tuple[dict[str, str], dict[str, Any]]]]]:
    """A server on loopback that answers by a rule of the test, and what it was sent."""
    seen: list[tuple[dict[str, str], dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
            answer(self, body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Address(False, "127.0.0.1", server.server_address[1], "/rerank"), seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def reply(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def by_length(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """The longest text first, sorted as such endpoints sort."""
    rows = [{"index": number, "relevance_score": len(words)} for number, words in enumerate(body["documents"])]
    reply(handler, json.dumps({"results": sorted(rows, key=lambda row: -row["relevance_score"])}).encode())


def test_scores_come_back_in_the_order_of_the_texts() -> None:
    with endpoint(by_length) as (address, seen):
        model = HttpReranker(address, 5.0, "secret-token", "bge")
        assert model.score("how long?", [text("a"), text("abc"), text("ab")]) == [1.0, 3.0, 2.0]
    headers, body = seen[0]
    assert headers["authorization"] == "Bearer secret-token"
    assert body == {
        "query": "how long?",
        "documents": ["a", "abc", "ab"],
        "top_n": 3,
        "return_documents": False,
        "model": "bge",
    }
    assert "secret-token" not in repr(model)


def test_a_plain_list_is_understood() -> None:
    def plain(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        reply(handler, b'[{"index": 1, "score": 0.5}, {"index": 0, "score": -3}]')

    with endpoint(plain) as (address, seen):
        assert HttpReranker(address, 5.0).score("q", [text("a"), text("b")]) == [-3.0, 0.5]
        assert "authorization" not in seen[0][0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"{}",
        b"[]",
        b'{"results": 3}',
        b'[{"index": 0, "score": 1}]',
        b'[{"index": 0}, {"index": 1}]',
        b'[{"index": 0, "score": 1}, {"index": 2, "score": 1}]',
        b'[{"index": 0, "score": 1}, {"index": 0, "score": 1}]',
        b'[{"index": "x", "score": 1}]',
        b"[" * 100_000,
    ],
)
def test_what_is_no_answer_of_a_reranker_is_refused(body: bytes) -> None:
    with endpoint(lambda handler, _: reply(handler, body)) as (address, _), pytest.raises(EndpointError):
        HttpReranker(address, 5.0).score("q", [text("a"), text("b")])


@pytest.mark.parametrize("status", [204, 301, 302, 307, 401, 404, 429, 500])
def test_redirects_and_refusals_are_not_followed(status: int) -> None:
    followed: list[int] = []
    with endpoint(lambda handler, _: followed.append(1)) as (other, _):
        target = f"http://127.0.0.1:{other.port}/rerank"
        with (
            endpoint(lambda handler, _: reply(handler, b"", status, Location=target)) as (address, _),
            pytest.raises(EndpointError, match=f"status {status}"),
        ):
            HttpReranker(address, 5.0, "secret-token").score("q", [text("a"), text("b")])
    assert followed == []


def test_an_answer_over_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank_http, "MOST_ANSWER_BYTES", 1_000)
    with (
        endpoint(lambda handler, _: reply(handler, b" " * 1_000 + b"[]")) as (address, _),
        pytest.raises(EndpointError, match="over 1000 bytes"),
    ):
        HttpReranker(address, 5.0).score("q", [text("a"), text("b")])


def drip(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """One byte after the other, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.05)
    except OSError:
        pass


def test_an_answer_that_drips_is_cut() -> None:
    with endpoint(drip) as (address, _):
        began = time.monotonic()
        with pytest.raises((EndpointError, OSError)):
            HttpReranker(address, 0.5).score("q", [text("a"), text("b")])
        assert time.monotonic() - began < 3


def test_a_server_that_says_nothing_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = Address(False, "127.0.0.1", silent.getsockname()[1], "/rerank")
        began = time.monotonic()
        with pytest.raises(OSError, match=r"timed out|reset|aborted|Remote end"):
            HttpReranker(address, 0.5).score("q", [text("a"), text("b")])
        assert time.monotonic() - began < 3


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    with endpoint(by_length) as (address, _):
        assert HttpReranker(address, 5.0).score("q", [text("a"), text("ab")]) == [1.0, 2.0]


@pytest.mark.parametrize(
    "url",
    [
        "https://rerank.example/v1/rerank", "https://10.0.0.5:8443/rerank", "http://127.0.0.1:8080/rerank",
        "http://[::1]:8080/rerank", "http://localhost/rerank?model=x",
    ],
)  # fmt: skip
def test_encrypted_or_this_machine(url: str) -> None:
    assert isinstance(parse(url), Address)


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.5/rerank", "http://rerank.example/", "http://localhost.example/", "http://127.0.0.1.example/",
        "ftp://127.0.0.1/", "127.0.0.1:8080", "https://user:secret@rerank.example/", "https:///x", "https://a:b:c/",
        "http://127.0.0.1/a b", "http://127.0.0.1/a\nX: y", "https://h/#f",
    ],
)  # fmt: skip
def test_other_addresses_are_refused_with_a_reason(url: str) -> None:
    found = parse(url)
    assert isinstance(found, str)
    assert "secret" not in found


def test_plain_to_another_machine_only_where_the_owner_allows_it() -> None:
    assert parse("http://10.0.0.5/rerank", allow_plain=True) == Address(False, "10.0.0.5", 80, "/rerank")
