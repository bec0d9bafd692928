"""Notes, names and addresses that try to be more than text: nothing runs, nothing leaves, nothing is reported."""

from __future__ import annotations

import json

import pytest

from tests.browser.driving import Visitor
from tests.browser.staging import EVIL, EVIL_NAME, Stage

PATH = f"evil/{EVIL_NAME}"


@pytest.fixture(scope="module")
def poisoned(stage: Stage) -> Stage:
    """Hostile words wherever a client or an editor can put them."""
    title = json.dumps(EVIL)
    fields = (f"title: {title}", f"status: {title}", f"tags: [{title}, harbour]", f"{title}: {title}")
    head = "\n".join(("---", "type: note", *fields, "date: 2026-05-04", "---", ""))
    stage.outside(PATH, f"{head}{EVIL}\n[click](javascript:window.pwned=1) [[{EVIL}]] malice malice\n")
    stage.write("scribe", "evil/plain.md", f"{EVIL} malice\n", EVIL)
    stage.write("scribe", "evil/plain.md", f"{EVIL}{EVIL} malice\n", EVIL)
    stage.claim("scribe", "evil/plain.md", EVIL)
    stage.write("scribe", "evil/sum.md", "malice in short\n", EVIL, "summary")
    stage.register("scribe", "evil/sum.md", "evil/plain.md", PATH)
    stage.write("archivist", "evil/gone.md", EVIL, EVIL)
    stage.archive("archivist", "evil/gone.md")
    return stage


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/search", {"q": "malice"}),
        ("/search", {"q": EVIL}),
        ("/search", {"q": "malice", "folder": EVIL}),
        ("/browse", {"folder": "evil"}),
        ("/browse", {"folder": EVIL}),
        ("/note", {"path": PATH}),
        ("/note", {"path": "evil/plain.md"}),
        ("/note", {"path": EVIL}),
        ("/history", {"path": "evil/plain.md"}),
        ("/history", {"path": PATH}),
        ("/diff", {"path": "evil/plain.md", "a": "missing"}),
        ("/diff", {"path": PATH, "a": EVIL, "b": EVIL}),
        ("/activity", {}),
        ("/activity", {"who": EVIL}),
        ("/activity", {"cursor": EVIL}),
        ("/bound", {}),
        ("/bound", {"claims": EVIL}),
        ("/undo", {"who": "scribe", "since": "1h"}),
        ("/undo", {"who": "around the door", "since": "1h"}),
        ("/undo", {"who": EVIL, "since": EVIL}),
        ("/restore", {"path": EVIL, "revision": EVIL}),
        ("/login", {"next": "javascript:window.pwned=1"}),
        ("/nowhere", {"x": EVIL}),
    ],
)
def test_it_stays_text(visitor: Visitor, poisoned: Stage, path: str, query: dict[str, str]) -> None:
    visitor.log_in()
    visitor.go(path, **query)
    visitor.page.mouse.move(400, 300)
    for image in visitor.page.locator("main img").all():
        assert "/console/static/" in (image.get_attribute("src") or "")
    assert (
        visitor.page.locator("main script, main svg[onload], [onmouseover], [onerror], iframe, object, embed").count()
        == 0
    )
    assert visitor.page.locator("a[href^='javascript']").count() == 0
    # Chromium writes a line of its own for every status that is no success.
    visitor.calm("the server responded with a status of 4")


def test_what_was_injected_would_have_been_seen(visitor: Visitor, stage: Stage) -> None:
    """The watch itself: the policy stops what a page holds, and each of these things is noticed."""
    visitor.log_in()
    visitor.page.evaluate(
        """() => {
            const script = document.createElement('script'); script.textContent = 'window.pwned=1';
            document.body.append(script);
            const image = document.createElement('img'); image.src = 'http://elsewhere.invalid/x.png';
            document.body.append(image);
            const style = document.createElement('div'); style.setAttribute('style', 'color: red');
            document.body.append(style);
            setTimeout(() => alert('boo'), 0);
        }"""
    )
    visitor.page.wait_for_timeout(300)
    seen = " ".join(visitor.strange)
    for what in ("script-src", "img-src", "style-src", "dialog: boo"):
        assert what in seen, (what, seen)
    assert visitor.page.evaluate("window.pwned === undefined") is True


def test_hostile_text_is_shown_as_it_stands(visitor: Visitor, poisoned: Stage) -> None:
    visitor.log_in()
    visitor.go("/note", path="evil/plain.md")
    assert EVIL in visitor.text()
    visitor.go("/undo", who="scribe", since="1h")
    assert "<img src=x onerror=window.pwned=1>" in visitor.text()
    visitor.go("/bound")
    visitor.page.locator("details summary").first.click()
    assert EVIL in visitor.text()
    visitor.calm()


def test_another_site_can_neither_frame_nor_post(visitor: Visitor, stage: Stage) -> None:
    visitor.log_in()
    stage.write("scribe", "evil/target.md", "still here\n")
    token = visitor.page.locator("input[name=csrf]").first.get_attribute("value")
    other = visitor.context.new_page()
    fields = {"who": "scribe", "since": "1h", "until": "", "digest": "0" * 64, "csrf": token}
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
    other.set_content(f'<form method=post action="{stage.address("/undo")}">{inputs}<button>go</button></form>')
    with other.expect_navigation() as landed:
        other.get_by_role("button").click()
    assert landed.value is not None
    assert landed.value.status in (401, 403)
    assert "still here" in (stage.gateway.vault / "evil/target.md").read_text()
    other.set_content(f'<iframe src="{stage.address("")}"></iframe>')
    other.wait_for_timeout(300)
    assert "All is well" not in "".join(frame.content() for frame in other.frames if frame != other.main_frame)
