"""Dark and light, desk and phone, by keyboard alone, without JavaScript: everything can be read and done."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser import driving, staging
from tests.browser.driving import DESK, PHONE, Visitor
from tests.browser.staging import Stage

LONG = "looks/" + "a-very-long-name-without-any-room-to-break-" * 4 + "end.md"
PAGES: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {}),
    ("/search", {"q": "surge alert"}),
    ("/browse", {}),
    ("/note", {"path": "glossary.md"}),
    ("/note", {"path": LONG}),
    ("/history", {"path": "glossary.md"}),
    ("/diff", {"path": "glossary.md", "a": "missing"}),
    ("/diff", {"path": "looks/thousand.md", "a": "missing"}),
    ("/activity", {}),
    ("/bound", {}),
    ("/backups", {}),
    ("/undo", {}),
    ("/undo", {"who": "scribe", "since": "1h"}),
    ("/restore", {"path": "welcome.md", "revision": "0" * 64}),
    ("/nowhere", {}),
)
CONTRAST: Final = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def worked(stage: Stage) -> Stage:
    """A day's work, a name that is too long and a note of a thousand lines."""
    staging.worked(stage)
    stage.write("scribe", LONG, "text " * 30 + "x" * 400 + "\n", "A title " + "without-an-end" * 12)
    stage.write("scribe", "looks/thousand.md", "\n".join(f"line {number} " + "w" * 90 for number in range(1000)))
    return stage


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", ["desk", "phone"])
def test_every_page_is_readable_and_fits(chromium: Any, worked: Stage, scheme: str, width: str) -> None:
    options = {"viewport": PHONE if width == "phone" else DESK, "color_scheme": scheme}
    with driving.visitor(chromium, worked, **options) as visitor:
        visitor.go("/login")
        _reads_well(visitor, "/login")
        visitor.log_in()
        grounds = set()
        for path, query in PAGES:
            visitor.go(path, **query)
            _reads_well(visitor, f"{path} {query} {scheme} {width}")
            assert visitor.overflow() <= 0, f"{path} {query} is {visitor.overflow()} px too wide"
            grounds.add(visitor.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(grounds) == 1
        dark = sum(map(int, grounds.pop()[4:-1].split(","))) < 3 * 128
        assert dark == (scheme == "dark")
        visitor.calm("the server responded with a status of 4")


def _reads_well(visitor: Visitor, what: str) -> None:
    answer = visitor.page.evaluate(CONTRAST)
    assert answer["checked"] > 3, what
    assert answer["found"] == [], what


def test_the_measure_of_contrast_would_find_a_fault(visitor: Visitor) -> None:
    visitor.log_in()
    _reads_well(visitor, "home")
    visitor.page.evaluate("document.querySelector('h1').style.color = 'rgb(190, 190, 190)'")
    assert len(visitor.page.evaluate(CONTRAST)["found"]) == 1


def test_a_keyboard_is_enough(chromium: Any, worked: Stage) -> None:
    worked.gateway.add("typist")
    worked.write("typist", "keys/a.md", "typed by somebody about zebras\n", "Zebra crossing")
    with driving.visitor(chromium, worked) as visitor:
        keys = visitor.page.keyboard
        visitor.go("/login")
        _tab_to(visitor, "#token")
        keys.type(worked.gateway.tokens["person"])
        keys.press("Enter")
        visitor.page.wait_for_url(worked.address(""))
        keys.press("Tab")
        assert visitor.page.evaluate("document.activeElement.className") == "skip"
        _tab_to(visitor, "nav a[href$='/search']")
        keys.press("Enter")
        visitor.page.wait_for_url("**/search")
        _tab_to(visitor, "main input[name=q]")
        keys.type("zebras")
        keys.press("Enter")
        visitor.page.wait_for_url("**/search?q=zebras**")
        _tab_to(visitor, "main a[href*='keys%2Fa.md']")
        keys.press("Enter")
        visitor.page.wait_for_url("**/note?**")
        assert "zebras" in visitor.text()
        _tab_to(visitor, "nav a[href$='/activity']")
        keys.press("Enter")
        visitor.page.wait_for_url("**/activity")
        _tab_to(visitor, "main a[href*='/undo?who=typist']")
        keys.press("Enter")
        visitor.page.wait_for_url("**/undo?**")
        _tab_to(visitor, "form.decide button")
        keys.press("Enter")
        visitor.page.wait_for_load_state()
        assert "1 note went back" in visitor.text()
        assert not (worked.gateway.vault / "keys/a.md").exists()
        visitor.calm()


def _tab_to(visitor: Visitor, selector: str) -> None:
    """Press Tab until the element has the focus, which must then be seen."""
    for _ in range(150):
        if visitor.page.evaluate("s => document.activeElement.matches(s)", selector):
            style = visitor.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert style != "none", f"{selector} has the focus and does not show it"
            return
        visitor.page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with Tab")


def test_it_works_without_javascript(chromium: Any, worked: Stage) -> None:
    worked.gateway.add("unscripted")
    worked.write("unscripted", "noscript/a.md", "made without any script\n")
    with driving.visitor(chromium, worked, java_script_enabled=False) as visitor:
        visitor.log_in()
        visitor.go("/search", q="made without any script")
        visitor.page.locator("main a[href*='noscript']").first.click()
        assert "made without any script" in visitor.text()
        visitor.go("/undo", who="unscripted", since="1h")
        visitor.page.get_by_role("button", name="Put 1 note back").click()
        assert "1 note went back" in visitor.text()
        visitor.go("/bound")
        visitor.page.locator("details summary").first.click()
        assert visitor.page.locator("details[open] li").first.is_visible()
        assert visitor.strange == []


def test_nothing_but_this_origin_is_asked_and_no_page_is_kept(chromium: Any, worked: Stage) -> None:
    with driving.visitor(chromium, worked) as visitor:
        asked: list[str] = []
        kept: list[str] = []
        visitor.page.on("request", lambda request: asked.append(request.url))
        visitor.page.on("response", lambda answer: kept.append(answer.headers.get("cache-control", "")))
        visitor.log_in()
        for path, query in PAGES:
            visitor.go(path, **query)
        assert len(asked) > len(PAGES)
        assert all(url.startswith((worked.origin + "/console", "data:")) for url in asked), asked
        assert set(kept) <= {"no-store", "public, max-age=31536000, immutable", ""}
        visitor.calm("the server responded with a status of 4")
