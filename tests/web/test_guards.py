"""What every answer of the console carries, and what is refused before a page sees it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from muninn.web.pages import PAGES
from tests.web.house import HOST, OURS, House

GETS = [page.path for page in PAGES if page.method == "GET"]
POSTS = ["/logout", *(page.path for page in PAGES if page.method == "POST")]
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)


@pytest.mark.parametrize("path", [*GETS, "/login", "/nowhere", "/static/0/console.css", "/logout", "/note?path=%00"])
@pytest.mark.parametrize("known", [True, False])
def test_the_headers_go_with_every_answer(house: House, path: str, known: bool) -> None:
    browser = house.logged_in() if known else house.browser()
    for answer in (browser.get(path), browser.post(path, {}), browser.http.request("HEAD", f"/console{path}")):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert "camera=()" in answer.headers["permissions-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_static_files_are_kept_under_the_hash_of_their_bytes(house: House) -> None:
    browser = house.browser()
    page = browser.get("/login").text
    address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    answer = browser.http.get(address)
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    again = browser.http.get(address, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert browser.http.get(address.replace("console.css", "login.html")).status_code == 404


@pytest.mark.parametrize("path", GETS)
def test_a_page_without_a_session_leads_to_the_login(house: House, path: str) -> None:
    answer = house.browser().get(path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/console/login")


@pytest.mark.parametrize("path", POSTS)
def test_a_post_needs_a_session(house: House, path: str) -> None:
    csrf = house.logged_in().csrf()
    assert house.browser().post(path, {"csrf": csrf}).status_code == 403


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost:8460"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": HOST},
        {"sec-fetch-site": "none", "origin": HOST},
    ],
)
def test_a_post_from_elsewhere_is_refused_with_the_right_token_too(
    house: House, path: str, headers: dict[str, str]
) -> None:
    browser = house.logged_in()
    assert browser.post(path, {"csrf": browser.csrf()}, headers).status_code == 403
    assert browser.get("").status_code == 200


@pytest.mark.parametrize("headers", [{"origin": HOST}, {"sec-fetch-site": "same-origin"}])
def test_one_word_of_the_browser_is_enough(house: House, headers: dict[str, str]) -> None:
    browser = house.logged_in()
    assert browser.post("/logout", {"csrf": browser.csrf()}, headers).status_code == 303


@pytest.mark.parametrize("path", POSTS)
def test_a_post_needs_the_token_of_its_own_session_once(house: House, path: str) -> None:
    browser, other = house.logged_in(), house.logged_in().csrf()
    own = browser.csrf()
    for fields in ({}, {"csrf": ""}, {"csrf": other}, {"csrf": own + "x"}, {"csrf": [own, own]}, {"CSRF": own}):
        assert browser.post(path, fields).status_code == 403
    assert browser.get("").status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "multipart/form-data; boundary=x", ""])
def test_a_post_of_another_kind_is_refused(house: House, kind: str) -> None:
    browser = house.logged_in()
    body = f"csrf={browser.csrf()}".encode()
    answer = browser.http.post("/console/logout", content=body, headers={**OURS, "content-type": kind})
    assert answer.status_code == 403


def test_a_login_from_elsewhere_is_refused(house: House) -> None:
    for headers in ({}, {"sec-fetch-site": "cross-site"}, {"origin": "http://127.0.0.1:1"}):
        answer = house.browser().post("/login", {"token": house.tokens["ada"]}, headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
def test_a_foreign_host_or_origin_is_turned_away_by_the_gate(house: House, headers: dict[str, str]) -> None:
    answer = house.logged_in().get("", headers=headers)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_large_body_is_413(house: House) -> None:
    browser = house.logged_in()
    assert browser.post("/logout", {"csrf": "x" * 200_000}).status_code == 403
    assert browser.post("/logout", {"csrf": "x" * 300_000}).status_code == 413
    assert house.browser().post("/login", {"token": "x" * 10_000}).status_code == 413


def test_the_rate_of_a_client_holds_at_the_console_too(tmp_path: Path) -> None:
    house = House(tmp_path, rates=(0.1, 3))
    browser = house.logged_in()
    seen = [browser.get("/nowhere").status_code for _ in range(4)]
    house.close()
    assert seen == [404, 404, 404, 429]


def test_an_unknown_address_tells_nothing_of_who_is_logged_in(house: House) -> None:
    assert house.logged_in().get("/nowhere").text == house.browser().get("/nowhere").text


def test_what_breaks_is_logged_and_told_without_its_text(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(_: object) -> None:
        raise ValueError("a secret place")

    monkeypatch.setattr("muninn.canary.last", breaks)
    with caplog.at_level(logging.ERROR):
        answer = house.logged_in().get("")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "ValueError" in caplog.text


def test_no_token_and_no_id_stands_in_the_log(house: House, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        browser = house.logged_in()
        csrf = browser.csrf()
        browser.log_in("mnn_wrong-token-wrong-token-wrong-token")
    (held,) = browser.http.cookies.jar
    told = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records if "muninn" in record.name)
    assert "logged in" in told
    for secret in (house.tokens["ada"], csrf, held.value or "-", "wrong-token"):
        assert secret not in told


def test_a_gateway_without_a_console_knows_no_such_address(house: House) -> None:
    house.app = house.build(console=False)
    for path in ("", "/login", "/static/x/console.css"):
        assert house.browser().get(path).status_code == 401


def test_a_gateway_whose_console_nobody_asks_for_never_makes_one(house: House) -> None:
    house.browser().http.get("/health")
    house.browser().get("/login", headers={"host": "evil.example"})
    assert house.made == 0
    house.browser().get("/login")
    house.browser().get("/login")
    assert house.made == 1
