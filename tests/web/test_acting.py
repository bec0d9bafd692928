"""Undo and restore over HTTP: a plan first, then the form that carries what was shown; nothing without the right."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from muninn.model.rights import DEFAULT_SCOPES
from tests.conftest import path as checked
from tests.web.desk import Desk, text
from tests.web.house import Browser, House
from tests.web.test_watching import desk_of


def fields(page: Any) -> dict[str, str]:
    """The hidden fields of the form that decides."""
    form = re.search(r'<form class="decide".*?</form>', page.text, re.DOTALL)
    assert form is not None, page.text
    return {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form[0])}


def notes_of(desk: Desk) -> dict[str, bytes]:
    """Every file of the vault with its bytes."""
    return {str(file): file.read_bytes() for file in desk.room.root.rglob("*") if file.is_file()}


@pytest.fixture
def desk(house: House) -> Desk:
    made = desk_of(house)
    made.outside("s/a.md", "as it was")
    made.write("s/a.md", "as the agent has it", "agent")
    made.write("s/new.md", "made by the agent", "agent")
    made.write("s/both.md", "by the agent", "agent")
    made.write("s/both.md", "by ben", "ben")
    return made


def planned(browser: Browser) -> Any:
    return browser.get("/undo", who="agent", since="1h")


def test_the_plan_is_shown_then_done(house: House, desk: Desk) -> None:
    browser = house.logged_in()
    page = planned(browser)
    assert page.status_code == 200
    assert "<del>" in page.text
    assert "changed since then by ben" in page.text
    assert desk.room.bytes_of("s/a.md") == text("s/a.md", "as the agent has it")
    done = browser.post("/undo", fields(page))
    assert done.status_code == 200
    assert "2 notes went back" in done.text
    assert desk.room.bytes_of("s/a.md") == text("s/a.md", "as it was")
    assert desk.room.bytes_of("s/new.md") is None
    assert desk.room.bytes_of("s/both.md") == text("s/both.md", "by ben")
    again = browser.post("/undo", fields(page))
    assert again.status_code == 409
    assert "Nothing was done" in again.text


def test_a_stale_plan_is_shown_anew_and_nothing_is_done(house: House, desk: Desk) -> None:
    browser = house.logged_in()
    old = fields(planned(browser))
    desk.write("s/a.md", "meanwhile", "ben")
    state = notes_of(desk)
    answer = browser.post("/undo", old)
    assert answer.status_code == 409
    assert "Something changed since this was shown" in answer.text
    assert notes_of(desk) == state
    assert fields(answer)["digest"] != old["digest"]
    assert browser.post("/undo", fields(answer)).status_code == 200
    assert desk.room.bytes_of("s/a.md") == text("s/a.md", "meanwhile")


@pytest.mark.parametrize("missing", ["write", "archive"])
def test_without_the_right_there_is_no_undo(house: House, desk: Desk, missing: str) -> None:
    shown = fields(planned(house.logged_in()))
    house.add("less", DEFAULT_SCOPES - {missing})
    less = house.logged_in("less")
    assert planned(less).status_code == 403
    state = notes_of(desk)
    assert less.post("/undo", shown | {"csrf": less.csrf()}).status_code == 403
    assert notes_of(desk) == state


def test_forms_of_others_do_nothing(house: House, desk: Desk) -> None:
    browser = house.logged_in()
    good = fields(planned(browser))
    state = notes_of(desk)
    assert browser.post("/undo", good | {"csrf": "other"}).status_code == 403
    assert (
        browser.post("/undo", good, {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}).status_code
        == 403
    )
    assert browser.get("/undo", None, **good).status_code == 200
    assert notes_of(desk) == state
    house.add("other")
    other = house.logged_in("other")
    assert other.post("/undo", good | {"csrf": other.csrf()}).status_code == 409
    assert notes_of(desk) == state


def test_words_that_are_no_question_get_the_form_again(house: House, desk: Desk) -> None:
    browser = house.logged_in()
    assert "Whose changes" in browser.get("/undo").text
    assert browser.get("/undo", who="agent", since="soon").status_code == 400
    assert "There is nothing to undo" in browser.get("/undo", who="nobody", since="1h").text
    for odd in ({}, {"who": "agent"}, {"who": "agent", "since": "1h", "until": "x", "digest": "y"}):
        assert browser.post("/undo", {"csrf": browser.csrf(), **odd}).status_code == 400


def test_a_restore_is_shown_then_done(house: House, desk: Desk) -> None:
    browser = house.logged_in()
    revision = str(desk.now("s/a.md"))
    desk.archive("s/a.md", "agent")
    page = browser.get("/restore", path="s/a.md", revision=revision)
    assert page.status_code == 200
    assert desk.room.bytes_of("s/a.md") is None
    assert "as the agent has it" in page.text
    assert "comes back" in page.text
    assert "follows: it is the folder’s page" in page.text
    house.add("less", DEFAULT_SCOPES - {"archive"})
    less = house.logged_in("less")
    assert less.get("/restore", path="s/a.md", revision=revision).status_code == 403
    assert less.post("/restore", fields(page) | {"csrf": less.csrf()}).status_code == 403
    assert desk.room.bytes_of("s/a.md") is None
    done = browser.post("/restore", fields(page))
    assert "It is back" in done.text
    assert desk.room.bytes_of("s/a.md") == text("s/a.md", "as the agent has it")
    assert browser.post("/restore", fields(page)).status_code == 409


def test_a_stale_restore_is_shown_anew(house: House, desk: Desk) -> None:
    browser = house.logged_in()
    revision = str(desk.now("s/a.md"))
    desk.archive("s/a.md", "agent")
    old = fields(browser.get("/restore", path="s/a.md", revision=revision))
    desk.write("s/more.md", "the folder's page has another line", "ben")
    answer = browser.post("/restore", old)
    assert answer.status_code == 409
    assert "Nothing was done" in answer.text
    assert desk.room.bytes_of("s/a.md") is None


def test_a_long_change_is_cut_and_said(house: House, desk: Desk) -> None:
    desk.write("s/long.md", "\n".join(f"line {number}" for number in range(1000)), "agent")
    page = planned(house.logged_in()).text
    assert re.search(r"And 70\d more rows", page)
    assert "line 10" in page
    assert "line 999" not in page


def test_the_plan_of_a_restore_of_very_much_is_shown_without_it(house: House, desk: Desk) -> None:
    desk.write("s/long.md", "line\n" * 70_000, "agent")
    desk.archive("s/long.md", "agent")
    kept = desk.door.ledger.history(checked("s/long.md"), None, 1)[0].id
    page = house.logged_in().get("/restore", path="s/long.md", revision=kept)
    assert page.status_code == 200
    assert "The change is not shown here: at most" in page.text
    assert len(page.text) < 50_000
    assert "digest" in fields(page)


def test_no_word_of_a_client_or_an_address_turns_the_line_of_a_page(house: House, desk: Desk) -> None:
    desk.archive("s/both.md", "ben", note="an owl \u202emd.ylppus")
    browser = house.logged_in()
    turned = "x\u202ey<b>"
    pages = [
        browser.get("/activity"),
        browser.get("/activity", who=turned),
        browser.get("/undo", who=turned, since="1h"),
    ]
    for page in pages:
        shown = re.sub(r'value="[^"]*"', "", page.text)
        assert "U+202E" in shown
        assert "\u202e" not in shown
        assert "<b>" not in shown
