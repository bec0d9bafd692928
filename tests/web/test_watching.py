"""The pages one looks at, over HTTP: they say what is there, and nothing that the client may not see."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from muninn.model.rights import DEFAULT_SCOPES
from tests.web.desk import Desk, text
from tests.web.house import House


def desk_of(house: House) -> Desk:
    """Somebody who works at the vault of this house."""
    house.door.ledger.begin_with([], {}, complete=True)
    return Desk.at(house.folder, house.door)


def test_the_activity_tells_who_did_what_and_where_to_go(house: House) -> None:
    desk = desk_of(house)
    desk.write("s/a.md", "one")
    desk.write("s/a.md", "two", "ben")
    desk.outside("s/a.md", "three")
    desk.archive("s/a.md", "ben", "superseded")
    page = house.logged_in().get("/activity")
    assert page.status_code == 200
    for told in ("ben", "Around the door", "superseded", "Restore…", "Undo from here…", "What changed", "<svg"):
        assert told in page.text, told
    only = house.logged_in().get("/activity", who="ada").text
    assert "superseded" not in only
    assert only.count('<circle class="k-') == 1
    house.add("reader", frozenset({"read"}))
    reading = house.logged_in("reader").get("/activity").text
    assert "Restore…" not in reading
    assert "Undo from here…" not in reading


def test_nothing_hidden_is_told_and_what_is_not_there_yet_is_said(house: House) -> None:
    desk = desk_of(house)
    for path in ("/activity", "/bound", "/backups"):
        assert house.logged_in().get(path).status_code == 200
    assert "Nothing was done yet" in house.logged_in().get("/activity").text
    assert "Nothing is bound to a source yet" in house.logged_in().get("/bound").text
    assert "none set up" in house.logged_in().get("/backups").text
    desk.write("private/diary.md", "hidden")
    desk.claim("I was sad", "private/diary.md")
    for path in ("/activity", "/bound"):
        page = house.logged_in().get(path).text
        assert "diary" not in page
        assert "sad" not in page
    house.add("owner", DEFAULT_SCOPES | {"private"})
    assert "private/diary.md" in house.logged_in("owner").get("/activity").text
    assert "I was sad" in house.logged_in("owner").get("/bound").text
    assert house.logged_in().get("/activity", cursor="bad").status_code == 400
    assert house.logged_in().get("/bound", claims="bad").status_code == 400


def test_what_leans_on_what_is_drawn_and_told_in_tables(house: House) -> None:
    desk = desk_of(house)
    desk.write("s/a.md", "one")
    desk.write("s/sum.md", "in short")
    desk.register("s/sum.md", "s/a.md")
    desk.claim("a holds one", "s/a.md")
    page = house.logged_in().get("/bound").text
    assert 'class="edge fresh"' in page
    assert "a holds one" in page
    desk.write("s/a.md", "two")
    page = house.logged_in().get("/bound").text
    assert 'class="edge stale"' in page
    assert "s/a.md: it changed" in page
    assert "a holds one" not in page


def test_the_backups_page_tells_the_proof_alone(house: House) -> None:
    home = Path(house.door.home)
    (home / "backup").mkdir()
    now = datetime.now(UTC).isoformat()
    proof = {"set_up": now, "last_ok": now, "files": 5167, "set": "s-1", "remote": "git@host:secret"}
    (home / "backup" / "proof.json").write_text(json.dumps(proof))
    state = {"at": now, "ok": False, "last_ok": None, "asked": 3, "failing": ["about-my-secret"]}
    (home / "canary-state.json").write_text(json.dumps(state))
    page = house.logged_in().get("/backups").text
    assert "5,167" in page
    assert "1 of 3 failed" in page
    assert "secret" not in page
    house.add("owner", DEFAULT_SCOPES | {"private"})
    assert "about-my-secret" in house.logged_in("owner").get("/backups").text


def test_names_and_texts_stay_text(house: House) -> None:
    desk = desk_of(house)
    evil = '"><img src=x onerror=alert(1)>'
    name = f"s/{evil.replace('/', '')}.md"
    house.lay(name, text("a", "one"))
    desk.outside_found(name)
    desk.claim(evil, name)
    for path, query in (("/activity", {}), ("/activity", {"who": evil}), ("/bound", {}), ("/undo", {"who": evil})):
        page = house.logged_in().get(path, None, **query).text
        assert "<img src=x" not in page, path
    assert "&lt;img src=x" in house.logged_in().get("/bound").text
