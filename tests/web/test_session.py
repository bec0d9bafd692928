"""Who gets into the console, for how long, and what a browser is told to keep."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muninn import clients
from muninn.web import session
from tests.web.house import HOST, OURS, Browser, House


def test_a_token_opens_a_session_and_nothing_else_does(house: House) -> None:
    browser = house.browser()
    assert browser.get("").status_code == 303
    assert browser.log_in("mnn_" + "x" * 43).status_code == 403
    assert browser.get("").headers["location"] == "/console/login"
    answer = browser.log_in(house.tokens["ada"])
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert browser.get("").status_code == 200


def test_a_bearer_token_is_no_use_at_the_console_and_a_cookie_none_at_the_door(house: House) -> None:
    bearer = {"authorization": f"Bearer {house.tokens['ada']}"}
    assert house.browser().get("", headers=bearer).status_code == 303
    logged_in = house.logged_in()
    for path in ("/mcp", "/mcp/", "/elsewhere", "/Console", "/console2", "//console"):
        assert logged_in.http.post(path, content=b"{}").status_code == 401, path
        assert logged_in.http.get(path).status_code == 401, path


@pytest.mark.parametrize("path", ["/../mcp", "/%2e%2e/mcp", "/mcp", "/console/../../mcp", "//mcp", "/static/../x"])
def test_no_path_below_the_console_leads_out_of_it(house: House, path: str) -> None:
    sent = house.logged_in().http.build_request("POST", HOST + "/console/x", headers=OURS, content=b"{}")
    sent.url = sent.url.copy_with(raw_path=f"/console{path}".encode())
    assert house.logged_in().http.send(sent).status_code in (401, 403, 404, 405)


@pytest.mark.parametrize(
    "text", ["https://evil.example/", "//evil.example", "/console\\@evil", "/mcp", "/console/logout"]
)
def test_a_login_leads_to_the_console_alone(house: House, text: str) -> None:
    found = house.browser().http.post(
        "/console/login", params={"next": text}, data={"token": house.tokens["ada"]}, headers=OURS
    )
    assert found.headers["location"] == "/console"


def test_a_login_leads_to_the_page_that_was_asked_for(house: House) -> None:
    browser = house.browser()
    asked = browser.http.get("/console", params={"q": "a b&c"}).headers["location"]
    found = browser.http.post(asked, data={"token": house.tokens["ada"]}, headers=OURS)
    assert found.headers["location"] == "/console?q=a+b%26c"


def test_the_cookie_is_kept_from_scripts_and_other_sites(house: House) -> None:
    cookie = house.browser().log_in(house.tokens["ada"]).headers["set-cookie"].lower()
    assert cookie.startswith("muninn-8460=")
    for flag in ("httponly", "samesite=strict", "path=/console", "max-age=43200"):
        assert flag in cookie
    assert "secure" not in cookie
    assert "domain" not in cookie


def test_over_tls_the_cookie_is_secure_and_bound_to_its_host(house: House) -> None:
    base = "https://muninn.example"
    browser = house.browser(base)
    answer = browser.post("/login", {"token": house.tokens["ada"]}, {"origin": base})
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith("__host-muninn-8460=")
    assert "; secure" in cookie
    assert "; path=/;" in cookie
    assert browser.get("").status_code == 200


def test_behind_a_proxy_the_cookie_is_secure_too(tmp_path: Path) -> None:
    house = House(tmp_path, behind_proxy=True)
    cookie = house.browser().log_in(house.tokens["ada"]).headers["set-cookie"]
    house.close()
    assert cookie.startswith("__Host-muninn-8460=")
    assert "; Secure" in cookie


def _id(browser: Browser) -> str:
    (held,) = browser.http.cookies.jar
    assert held.value is not None
    return held.value


def test_every_login_gets_an_id_of_its_own_and_ends_the_one_before(house: House) -> None:
    browser = house.logged_in()
    first = _id(browser)
    browser.log_in(house.tokens["ada"])
    assert _id(browser) != first
    assert len(first) >= 43
    stale = house.browser()
    stale.http.cookies.set("muninn-8460", first, domain="127.0.0.1")
    assert stale.get("").status_code == 303


def test_two_cookies_of_the_name_are_none(house: House) -> None:
    held = f"muninn-8460={_id(house.logged_in())}"
    assert house.browser().get("", headers={"cookie": held}).status_code == 200
    answer = house.browser().get("/activity", headers={"cookie": f"{held}; muninn-8460=x"})
    # Not to the login: there one of them alone may be sent, which leads back here, and round again.
    assert answer.status_code == 400
    assert "Two cookies of one name" in answer.text
    assert "Log out" not in answer.text


def test_a_session_ends_half_an_hour_after_it_was_last_used(house: House) -> None:
    browser = house.logged_in()
    for _ in range(3):
        house.now += session.IDLE_S - 1
        assert browser.get("").status_code == 200
    house.now += session.IDLE_S + 1
    assert browser.get("").status_code == 303


def test_a_session_ends_after_half_a_day_however_busy(house: House) -> None:
    browser = house.logged_in()
    for _ in range(int(session.WHOLE_S // 1200)):
        house.now += 1200
        assert browser.get("").status_code == 200
    house.now += 1
    assert browser.get("").status_code == 303


def test_a_logout_ends_the_session_and_not_only_the_cookie(house: House) -> None:
    browser = house.logged_in()
    held = _id(browser)
    answer = browser.post("/logout", {"csrf": browser.csrf()})
    assert answer.status_code == 303
    assert 'muninn-8460=""' in answer.headers["set-cookie"]
    assert house.browser().get("", headers={"cookie": f"muninn-8460={held}"}).status_code == 303


@pytest.mark.parametrize("change", ["revoke", "rotate", "expire", "spoil"])
def test_a_client_that_is_no_more_the_same_is_out_at_its_next_request(house: House, change: str) -> None:
    browser = house.logged_in()
    assert browser.get("").status_code == 200
    path = house.settings.places.clients
    if change == "spoil":
        path.write_text("[clients.ada]\n")
    else:
        with clients.changing(path) as known:
            match change:
                case "revoke":
                    clients.revoke(known, "ada")
                case "rotate":
                    known.update(clients.rotated(known, "ada", clients.new_token()))
                case _:
                    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
                    known["ada"] = replace(known["ada"], expires=past)
    assert browser.get("").status_code == 303


def test_rights_are_those_of_this_request(house: House) -> None:
    browser = house.logged_in()
    with clients.changing(house.settings.places.clients) as known:
        known["ada"] = replace(known["ada"], scopes=frozenset({"private"}))
    assert "private" in browser.get("").text


def test_wrong_tokens_from_one_address_are_slowed_down_and_others_are_not(house: House) -> None:
    browser = house.browser(peer="192.0.2.7")
    seen = [browser.log_in(f"{number:040}").status_code for number in range(12)]
    assert seen == [403] * 10 + [429] * 2
    right = browser.log_in(house.tokens["ada"])
    assert right.status_code == 429
    assert int(right.headers["retry-after"]) >= 1
    assert house.browser(peer="192.0.2.8").log_in(house.tokens["ada"]).status_code == 303
    house.now += session.TRY_EVERY_S
    assert browser.log_in(house.tokens["ada"]).status_code == 303


def test_behind_a_proxy_one_stranger_does_not_keep_everybody_out(tmp_path: Path) -> None:
    house = House(tmp_path, behind_proxy=True)
    seen = [house.browser().log_in(f"{number:040}").status_code for number in range(12)]
    right = house.browser().log_in(house.tokens["ada"]).status_code
    house.close()
    assert set(seen) == {403}
    assert right == 303


def test_who_is_logged_in_is_not_asked_again(house: House) -> None:
    assert house.logged_in().get("/login").headers["location"] == "/console"


def test_wrong_tokens_from_many_addresses_are_counted_together() -> None:
    tries = session.Tries(lambda: 5.0)
    for number in range(2 * session._MOST_PEERS):
        if tries.wait_s(f"peer {number}") > 0:
            break
        tries.failed(f"peer {number}")
    assert number == int(session.ALL_TRIES)
    assert len(tries._peers) <= session._MOST_PEERS


def test_sessions_are_bounded_for_a_client_and_for_all(house: House) -> None:
    register = clients.Register(house.settings.places.clients)
    names = [f"c{number}" for number in range(session.MOST // session.MOST_OF_ONE + 2)]
    for name in names:
        house.add(name)
    sessions = session.Sessions(register, lambda: house.now)
    first = sessions.begin(house.tokens["ada"].encode())
    for name in names:
        for _ in range(session.MOST_OF_ONE + 1):
            house.now += 0.01
            assert sessions.begin(house.tokens[name].encode()) is not None
    assert len(sessions._open) == session.MOST
    assert first is not None
    assert sessions.admit(first) is None


def test_no_id_is_kept_as_it_is(house: House) -> None:
    sessions = session.Sessions(clients.Register(house.settings.places.clients))
    made = sessions.begin(house.tokens["ada"].encode())
    assert made is not None
    held = repr(vars(type(sessions))) + repr(sessions._open)
    assert made not in held
    assert house.tokens["ada"] not in held
