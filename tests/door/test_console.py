"""The console of a real gateway: switched on and off, logged in to over HTTP, and quiet about what it is told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.door.gateway import Gateway, Heard, places, served

NOTE = b"---\ntitle: One\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\nbody\n"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("console"))
    (made.vault / "one.md").write_bytes(NOTE)
    with served(made):
        yield made


def log_in(gateway: Gateway, token: str) -> Heard:
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": f"http://127.0.0.1:{gateway.port}",
    }
    return gateway.ask("POST", "/console/login", headers, urlencode({"token": token}).encode())


def test_a_person_logs_in_reads_and_logs_out(gateway: Gateway) -> None:
    heard = log_in(gateway, gateway.tokens["a"])
    assert heard.status == 303
    cookie = heard.headers["set-cookie"].partition(";")[0]
    page = gateway.ask("GET", "/console/note?path=one.md", {"Cookie": cookie})
    assert page.status == 200
    assert b"body" in page.body
    assert gateway.rpc(None, "tools/list", {}, Cookie=cookie).status == 401
    found = re.search(rb'name="csrf" value="([^"]+)"', page.body)
    assert found is not None
    form = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    assert gateway.ask("POST", "/console/logout", form, b"csrf=" + found[1]).status == 303
    assert gateway.ask("GET", "/console/note?path=one.md", {"Cookie": cookie}).status == 303


def test_the_log_tells_pages_and_names_and_nothing_that_was_asked(gateway: Gateway) -> None:
    cookie = log_in(gateway, gateway.tokens["a"]).headers["set-cookie"].partition(";")[0]
    log_in(gateway, "mnn_wrong-wrong-wrong-wrong-wrong-wrong")
    gateway.ask("GET", "/console/search?q=quokka", {"Cookie": cookie})
    text = gateway.log()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    (view,) = [line for line in lines if line["message"] == "view" and line["page"] == "/search"]
    assert (view["client"], view["status"]) == ("a", 200)
    assert view["request"]
    for secret in (cookie.partition("=")[2], gateway.tokens["a"], "quokka", "wrong-wrong"):
        assert secret not in text


@pytest.mark.parametrize("by", ["flag", "setting"])
def test_a_console_that_is_switched_off_is_not_there(tmp_path: Path, by: str) -> None:
    made = places(tmp_path)
    if by == "setting":
        (made.home / "muninn.toml").write_text("console = false\n")
    with served(made, *(["--no-console"] if by == "flag" else [])):
        assert made.ask("GET", "/console", {}).status == 401
        assert log_in(made, made.tokens["a"]).status == 401
        assert "/console" not in made.log()
