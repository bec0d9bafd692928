"""What a person does in the console, in a real browser, each step seen in the page and in the vault."""

from __future__ import annotations

import pytest

from tests.browser.driving import Visitor
from tests.browser.staging import Stage


def test_login_and_logout(visitor: Visitor) -> None:
    assert visitor.go("") == 200
    assert "/console/login" in visitor.page.url
    visitor.page.get_by_label("Token of a client").fill("mnn_wrong")
    visitor.page.get_by_role("button", name="Log in").click()
    assert "belongs to no client" in visitor.text()
    visitor.log_in()
    assert visitor.page.get_by_role("heading", name="All is well").is_visible()
    visitor.page.get_by_role("button", name="Log out").click()
    visitor.page.wait_for_url(visitor.stage.address("/login"))
    visitor.go("/activity")
    assert "/console/login" in visitor.page.url
    # Chromium writes a line of its own for the 403 of a wrong token.
    visitor.calm("403 (Forbidden)")


def test_search_then_the_note_then_its_changes_side_by_side(visitor: Visitor, stage: Stage) -> None:
    stage.write("scribe", "walk/barnacle.md", "Barnacles grow on the float.\nThey add weight.\n", "Barnacle watch")
    stage.write("archivist", "walk/barnacle.md", "Barnacles grow on the buoy.\nThey add weight.\n", "Barnacle watch")
    visitor.log_in()
    page = visitor.page
    page.get_by_role("link", name="Search").click()
    page.get_by_role("searchbox").or_(page.locator("main input[name=q]")).first.fill("barnacles buoy")
    page.locator("main").get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Barnacle watch").first.click()
    assert "Barnacles grow on the buoy." in visitor.text()
    page.get_by_role("link", name="History").first.click()
    page.get_by_role("link", name="What changed").first.click()
    assert page.locator(".diff del").first.inner_text() == "float"
    assert page.locator(".diff ins").first.inner_text() == "buoy"
    old, new = page.locator("tr.changed td.old").first, page.locator("tr.changed td.new").first
    left, right = old.bounding_box(), new.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    visitor.calm()


def test_the_activity_draws_and_lists_what_was_done(visitor: Visitor, stage: Stage) -> None:
    stage.write("scribe", "walk/act.md", "one\n")
    stage.outside("walk/act.md", "two\n")
    visitor.log_in()
    visitor.page.get_by_role("link", name="Activity").click()
    assert visitor.page.locator("svg.lanes circle").count() == visitor.page.locator(".steps > li").count()
    assert "Around the door somebody changed walk/act.md" in visitor.text()
    visitor.page.get_by_label("Whose changes").select_option("scribe")
    visitor.page.get_by_role("button", name="Show").click()
    assert "around the door somebody" not in visitor.text().casefold()
    assert "scribe made walk/act.md" in visitor.text()
    visitor.calm()


def test_what_leans_on_what_turns_stale_before_ones_eyes(visitor: Visitor, stage: Stage) -> None:
    stage.write("scribe", "walk/source.md", "the source\n")
    stage.write("scribe", "walk/summary.md", "in short\n", kind="summary")
    stage.register("scribe", "walk/summary.md", "walk/source.md")
    stage.claim("scribe", "walk/source.md", "It is the source.")
    visitor.log_in()
    visitor.page.get_by_role("link", name="Bound").click()
    box = visitor.page.locator("svg.web g.box", has_text="walk/summary.md")
    assert "summary, current" in (box.text_content() or "")
    stage.append("scribe", "walk/source.md", "and more\n")
    visitor.page.reload()
    assert "summary, stale" in (box.text_content() or "")
    assert visitor.page.locator("svg.web path.edge.stale").count() >= 1
    visitor.page.locator("svg.web a", has_text="walk/summary.md").click()
    assert "in short" in visitor.text()
    visitor.calm()


def test_an_undo_is_shown_done_and_told(visitor: Visitor, stage: Stage) -> None:
    stage.gateway.add("clumsy")
    stage.write("scribe", "undo/kept.md", "as the scribe had it\n")
    stage.write("clumsy", "undo/kept.md", "as clumsy left it\n")
    stage.write("clumsy", "undo/made.md", "made by clumsy\n")
    stage.write("clumsy", "undo/both.md", "by clumsy\n")
    stage.write("scribe", "undo/both.md", "then by the scribe\n")
    visitor.log_in()
    page = visitor.page
    visitor.go("/undo")
    page.get_by_label("Whose changes").fill("clumsy")
    page.get_by_label("Since").fill("1h")
    page.get_by_role("button", name="Show the plan").click()
    assert "2 notes go back, 1 is left as it is" in visitor.text()
    assert "changed since then by scribe" in visitor.text()
    assert (stage.gateway.vault / "undo/made.md").exists()
    page.get_by_role("button", name="Put 2 notes back").click()
    assert "2 notes went back" in visitor.text()
    assert not (stage.gateway.vault / "undo/made.md").exists()
    assert "as the scribe had it" in (stage.gateway.vault / "undo/kept.md").read_text()
    assert "then by the scribe" in (stage.gateway.vault / "undo/both.md").read_text()
    page.get_by_role("link", name="To the activity").click()
    assert "person took back a change of undo/kept.md" in visitor.text()
    visitor.calm()


def test_a_plan_that_is_no_more_what_was_shown_does_nothing(visitor: Visitor, stage: Stage) -> None:
    stage.gateway.add("hasty")
    stage.write("hasty", "stale/a.md", "hasty was here\n")
    visitor.log_in()
    visitor.go("/undo", who="hasty", since="1h")
    stage.write("scribe", "stale/a.md", "the scribe came in between\n")
    visitor.page.get_by_role("button", name="Put 1 note back").click()
    assert visitor.page.get_by_role("alert").inner_text().startswith("Something changed since this was shown")
    assert "the scribe came in between" in (stage.gateway.vault / "stale/a.md").read_text()
    assert "There is nothing to undo here" in visitor.text()
    visitor.calm("409 (Conflict)")


def test_an_archived_note_comes_back(visitor: Visitor, stage: Stage) -> None:
    stage.write("scribe", "back/again.md", "worth keeping\n")
    stage.archive("scribe", "back/again.md")
    visitor.log_in()
    visitor.go("/activity", who="scribe")
    visitor.page.get_by_role("link", name="Restore… back/again.md").click()
    assert "worth keeping" in visitor.text()
    assert not (stage.gateway.vault / "back/again.md").exists()
    visitor.page.get_by_role("button", name="Restore it").click()
    assert "It is back" in visitor.text()
    assert "worth keeping" in (stage.gateway.vault / "back/again.md").read_text()
    visitor.calm()


@pytest.mark.parametrize("path", ["/undo?who=scribe&since=1h", "/restore?path=welcome.md&revision=" + "0" * 64])
def test_without_the_right_the_door_says_so(visitor: Visitor, path: str) -> None:
    visitor.log_in("reader")
    assert visitor.go(path) == 403
    assert "Not allowed" in visitor.text()
    visitor.go("/activity")
    assert visitor.page.get_by_role("link", name="Undo from here").count() == 0
    visitor.calm("403 (Forbidden)")


def test_a_client_that_is_revoked_is_out_at_once(visitor: Visitor, stage: Stage) -> None:
    stage.gateway.add("leaving")
    visitor.log_in("leaving")
    done = stage.gateway.muninn("client", "revoke", "leaving")
    assert done.returncode == 0, done.stderr
    visitor.go("/activity")
    assert "/console/login" in visitor.page.url
    visitor.calm()
