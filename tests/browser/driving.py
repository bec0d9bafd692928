"""Chromium as a person uses it, watched: every request, report, dialog and console error is kept and judged at the end.

The browser is the system's, and nothing is fetched for it. Without one, ``NoBrowserError`` says how to come by it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.staging import Stage

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MACOS: Final = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ARGUMENTS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESK: Final = {"width": 1180, "height": 800}
PHONE: Final = {"width": 360, "height": 740}


class NoBrowserError(Exception):
    """There is no Chromium on this machine."""


def executable() -> str:
    """Where Chromium is: what ``CHROMIUM`` names, or the first that is found."""
    named = os.environ.get("CHROMIUM")
    found = named or next((place for name in _NAMES if (place := shutil.which(name))), None)
    found = found or next((place for place in _MACOS if Path(place).exists()), None)
    if found is None or not Path(found).exists():
        where = f"CHROMIUM={named} is not there" if named else "none of " + ", ".join(_NAMES) + " is on the PATH"
        raise NoBrowserError(
            f"Chromium is needed and was not found: {where}. On Debian and Ubuntu: apt-get install chromium; "
            "elsewhere install Chromium or Chrome and name it: make test-web CHROMIUM=/path/to/chromium"
        )
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium for the length of a block."""
    # Root has no sandbox of its own to put the browser into; it only ever sees this gateway.
    as_root = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable(), args=[*ARGUMENTS, *as_root])
        try:
            yield found
        finally:
            found.close()


@dataclass(slots=True)
class Visitor:
    """A page in a browser context of its own, and what was seen to happen in it."""

    stage: Stage
    context: BrowserContext
    page: Page
    strange: list[str] = field(default_factory=list)
    """Requests that left the origin, dialogs, errors: what no page of the console may cause."""

    def go(self, path: str, /, **query: str) -> int:
        """Open a page of the console, and give its status."""
        answer = self.page.goto(self.stage.address(path, **query))
        assert answer is not None
        status: int = answer.status
        return status

    def log_in(self, name: str = "person") -> None:
        """Log in through the form, as a person does."""
        self.go("/login")
        self.page.get_by_label("Token of a client").fill(self.stage.gateway.tokens[name])
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(self.stage.address(""))

    def text(self) -> str:
        """What the main part of the page says."""
        said: str = self.page.locator("main").inner_text()
        return said

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def calm(self, *expected: str) -> None:
        """Nothing strange has happened, but for what is expected: console errors that hold one of these texts."""
        odd = [one for one in self.strange if not any(text in one for text in expected)]
        assert not odd, odd
        if self.page.url.startswith("http"):
            assert self.page.evaluate("window.pwned === undefined") is True


@contextmanager
def visitor(chromium: Browser, stage: Stage, **options: Any) -> Iterator[Visitor]:
    """Somebody with a fresh browser. Options go to the browser context: ``color_scheme``, ``java_script_enabled`` …"""
    context = chromium.new_context(**({"viewport": DESK} | options))
    page = context.new_page()
    found = Visitor(stage, context, page)
    _watch(found)
    try:
        yield found
    finally:
        context.close()


def _watch(found: Visitor) -> None:
    page, origin = found.page, found.stage.origin

    def asked(request: Any) -> None:
        if not request.url.startswith((origin + "/", "data:")):
            found.strange.append(f"request to {request.url}")

    def dialog(one: Any) -> None:
        found.strange.append(f"dialog: {one.message}")
        one.dismiss()

    def said(message: Any) -> None:
        if message.type in ("error", "warning"):
            found.strange.append(f"console {message.type}: {message.text}")

    page.on("request", asked)
    page.on("dialog", dialog)
    page.on("console", said)
    page.on("pageerror", lambda error: found.strange.append(f"page error: {error}"))
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation',"
        " e => console.error('csp: ' + e.violatedDirective + ' ' + e.blockedURI))"
    )
