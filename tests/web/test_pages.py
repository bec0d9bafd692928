"""The pages: what they show of the vault and to whom, and that a note reaches a browser as text and nothing else."""

from __future__ import annotations

import html
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from muninn import clients, writing
from muninn.model.change import Receipt
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.draft import ArchiveDraft, WriteDraft
from muninn.model.rights import DEFAULT_SCOPES
from tests.conftest import path as checked
from tests.web.house import House, note

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "</textarea></title></pre><b>x</b>",
    "javascript:alert(1)",
    "&lt;b&gt;&#60;i&#62;",
)


def written(house: House, path: str, content: str, expected: ContentHash | None = None, client: str = "ada") -> str:
    """Write through the door; gives the hash."""
    rights = clients.load(house.settings.places.clients)[client].rights(house.settings.private)
    draft = WriteDraft(checked(path), path, content.encode(), expected or MISSING)
    done = writing.commit(house.door, rights, draft, None)
    assert isinstance(done, Receipt), done
    return ContentHash.of(content.encode())


def archived(house: House, path: str, digest: str) -> None:
    rights = clients.load(house.settings.places.clients)["ada"].rights(house.settings.private)
    done = writing.commit(house.door, rights, ArchiveDraft(checked(path), ContentHash(digest), "obsolete", None), None)
    assert isinstance(done, Receipt), done


class Tags(HTMLParser):
    """Every tag of a page with its attributes, as a browser takes them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def only_ours(text: str) -> None:
    """A page holds no tag, no handler and no address that its templates do not hold."""
    tags = Tags(text).found
    scripts = [attributes for tag, attributes in tags if tag == "script"]
    assert [list(one) for one in scripts] == [["src", "defer"]]
    assert not {tag for tag, _ in tags} & {"svg", "b", "i", "iframe", "object", "style", "base"}
    for tag, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        for name in ("href", "src", "action"):
            assert re.match(r"/console|#|\Z", attributes.get(name) or ""), (tag, attributes)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_note_holds_is_shown_and_does_nothing(house: House, attack: str) -> None:
    quoted = json.dumps(attack)
    text = f"---\ntitle: {quoted}\ntype: {quoted}\nstatus: active\ntags: [{quoted}, b]\ndate: 2026-05-04\n"
    text += f"{quoted}: x\n---\nwombat {attack}\n[[{attack}]]\n"
    house.lay("a.md", text)
    house.lay("b'&.md", note("wombat [[a]]\n"))
    house.scan()
    browser = house.logged_in()
    pages = [browser.get("/note", path="a.md"), browser.get("/search", q="wombat", explain="1"), browser.get("/browse")]
    for answer in pages:
        assert answer.status_code == 200
        assert html.escape(attack, quote=False)[:8] in answer.text.replace("&#34;", '"').replace("&#39;", "'")
        assert "{{ 49" not in answer.text
        only_ours(answer.text)
    assert browser.get("/note", path="b'&.md").status_code == 200


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("page", ["/search", "/note", "/browse", "/history", "/diff", "/login"])
def test_what_is_asked_is_shown_and_does_nothing(house: House, page: str, attack: str) -> None:
    house.lay("a.md", note())
    browser = house.browser() if page == "/login" else house.logged_in()
    for name in (
        "q",
        "folder",
        "tags",
        "type",
        "since",
        "limit",
        "path",
        "revision",
        "a",
        "b",
        "cursor",
        "links",
        "line",
        "next",
    ):
        asked = {"q": "x", "path": "a.md", "folder": "", name: attack}
        answer = browser.get(page, None, **asked)
        assert answer.status_code in (200, 400, 404), (name, answer.text)
        only_ours(answer.text)


def test_a_text_cannot_hide_or_turn_around_what_it_holds(house: House) -> None:
    house.lay("a.md", note("pay \u202e001\u202c to\u200b me\x00\x1b[2J\nends\r\n", "Title \u202e turned"))
    text = house.logged_in().get("/note", path="a.md").text
    assert not re.search("[\u202e\u202c\u200b\x00\x1b\r]", text)
    for odd in ("U+202E", "U+200B", "U+0000", "U+001B"):
        assert f'<span class="odd">{odd}</span>' in text
    assert "U+000D" not in text


def test_a_search_marks_words_by_their_stems_and_says_how_sure_it_is(house: House) -> None:
    for number in range(12):
        house.lay(f"filler/{number}.md", note(f"plain sentence {number}\n", f"Filler {number}"))
    house.lay("ops/gate.md", note("Two gates <b>were</b> deployed nightly.\n"))
    house.scan()
    text = house.logged_in().get("/search", q="gate deployment", tags="#ops, plan").text
    assert "<mark>gates</mark> &lt;b&gt;were&lt;/b&gt; <mark>deployed</mark>" in text
    assert re.search(r"confidence: (high|medium|low)", text)
    assert "/console/note?path=ops%2Fgate.md" in text
    assert "Why it is here" not in text
    assert "Why it is here" in house.logged_in().get("/search", q="gate", explain="1").text
    assert "/ops/" not in house.logged_in().get("/search", q="gate", folder="filler").text


def test_a_filter_at_fault_is_said_beside_the_form(house: House) -> None:
    answer = house.logged_in().get("/search", q="gate", since="yesterday")
    assert answer.status_code == 400
    assert "since: expected a date" in answer.text
    assert 'value="gate"' in answer.text


def test_a_search_here_is_not_the_agents_search_before_a_write(house: House) -> None:
    house.logged_in().get("/search", q="gate")
    assert not house.door.searches.lately("ada")


def test_a_note_shows_lines_frontmatter_and_links_both_ways(house: House) -> None:
    house.lay("a.md", note("see [[b]] and [[nowhere]]\n"))
    house.lay("b.md", note("last line without an end", "The other"))
    house.scan()
    text = house.logged_in().get("/note", path="a.md").text
    assert '<span id="L8" data-n="8">see [[b]] and [[nowhere]]' in text
    assert '<th scope="row">tags</th>' in text
    assert '/console/note?path=b.md">b.md</a>' in text
    assert "Leading nowhere" in text
    other = house.logged_in().get("/note", path="b.md").text
    assert '/console/note?path=a.md#L8">a.md</a>' in other
    assert 'data-n="8">last line without an end' in other


def test_a_long_note_goes_on_at_the_next_page_and_bytes_are_not_shown(house: House) -> None:
    house.lay("long.md", note("x" * 99 + "\n" * 1 + ("y" * 99 + "\n") * 4000))
    house.lay("photo.png", b"\x89PNG\xff\xfe\x00")
    browser = house.logged_in()
    first = browser.get("/note", path="long.md").text
    following = re.search(r'href="/console(/note)\?path=long.md&amp;line=(\d+)"', first)
    assert following is not None
    second = browser.get("/note", path="long.md", line=following[2])
    assert f'data-n="{following[2]}"' in second.text
    assert "not text" in browser.get("/note", path="photo.png").text


def test_history_and_a_comparison_from_the_bytes_that_are_kept(house: House) -> None:
    house.lay("far.md", note())
    first = written(house, "a.md", note("one\nthe old gate <i>\nthree\n" + "same\n" * 30))
    second = written(
        house, "a.md", note("one\nthe new gate <i>\nthree\n" + "same\n" * 30 + "more\n"), ContentHash(first)
    )
    browser = house.logged_in()
    text = browser.get("/history", path="a.md").text
    assert text.count("<time datetime=") == 2
    assert "<strong>overwrite</strong>" in text
    assert f"a={first}&amp;b={second}" in text
    found = browser.get("/diff", path="a.md", a=first, b=second).text
    assert "the <del>old</del> gate &lt;i&gt;" in found
    assert "the <ins>new</ins> gate &lt;i&gt;" in found
    assert re.search(r"\d+ equal lines", found)
    assert "equal lines" not in browser.get("/diff", path="a.md", a=first, b="now", all="1").text
    old = browser.get("/note", path="a.md", revision=first).text
    assert "an earlier revision" in old
    assert "the old gate" in old


def test_what_was_archived_is_found_by_its_history(house: House) -> None:
    digest = written(house, "a.md", note("keep me\n"))
    archived(house, "a.md", digest)
    browser = house.logged_in()
    gone = browser.get("/note", path="a.md")
    assert gone.status_code == 404
    assert "Not there any more" in gone.text
    assert "/console/history?path=a.md" in gone.text
    assert "nothing is at this path now" in browser.get("/history", path="a.md").text
    assert "keep me" in browser.get("/note", path="a.md", revision=digest).text
    assert "keep me" in browser.get("/diff", path="a.md", a=digest, b="missing").text


def test_a_comparison_that_is_too_large_or_no_text_is_refused_gently(house: House) -> None:
    house.lay("big.md", note("y" * 300_000))
    house.lay("photo.png", b"\xff\xfe")
    browser = house.logged_in()
    for path in ("big.md", "photo.png"):
        answer = browser.get("/diff", path=path, a="missing")
        assert answer.status_code == 200
        assert "They are not compared" in answer.text


def test_what_a_client_may_not_see_is_not_there_on_any_page(house: House) -> None:
    """Private and outside of the globs: the answer is the one for a path that holds nothing, but for its name."""
    house.add("narrow", DEFAULT_SCOPES, read="open/**")
    house.add("keeper", DEFAULT_SCOPES | {"private"})
    for path in ("private/a.md", "open/a.md", "shut/a.md"):
        written(
            house,
            path,
            note("wombat [[private/a]] [[shut/a]]\n", "Wombat of " + path.partition("/")[0]),
            client="keeper",
        )
        digest = written(house, path.replace("a.md", "z.md"), note("wombat\n"), client="keeper")
        if path.startswith("private"):
            rights = clients.load(house.settings.places.clients)["keeper"].rights(house.settings.private)
            writing.commit(
                house.door, rights, ArchiveDraft(NotePath("private/z.md"), ContentHash(digest), "obsolete", None), None
            )
    house.scan()
    browser = house.logged_in("narrow")
    for page in ("/note", "/history", "/diff"):
        for hidden, absent in (
            ("private/a.md", "private/b.md"),
            ("private/z.md", "private/b.md"),
            ("shut/a.md", "shut/b.md"),
        ):
            one, other = browser.get(page, path=hidden), browser.get(page, path=absent)
            assert one.status_code == other.status_code == 404
            assert one.text.replace(hidden, "P") == other.text.replace(absent, "P")
    shown = browser.get("/search", q="wombat", explain="1").text + browser.get("/browse").text
    shown += browser.get("/note", path="open/a.md").text.replace("wombat [[private/a]] [[shut/a]]", "")
    assert "Wombat of open" in shown
    assert "Wombat of private" not in shown
    assert "Wombat of shut" not in shown
    assert "?path=private" not in shown
    assert "?path=shut" not in shown
    assert browser.get("/browse", folder="shut").status_code == 404
    home = browser.get("").text
    assert "a part of it" in home
    assert "<small>notes</small>" not in home
    assert "Wombat of private" in house.logged_in("keeper").get("/note", path="private/a.md").text


def test_a_client_without_the_scope_is_shown_home_alone(house: House) -> None:
    house.add("blind", frozenset({"metrics"}))
    browser = house.logged_in("blind")
    assert browser.get("").status_code == 200
    assert "/console/search" not in browser.get("").text
    for page in ("/search", "/note", "/browse", "/history", "/diff"):
        assert browser.get(page, path="a.md").status_code == 403


def test_home_counts_for_who_sees_everything_and_asks_no_note_for_others(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.add("narrow", DEFAULT_SCOPES, read="open/**")
    house.lay("a.md", note())
    house.lay("private/b.md", note())
    house.scan()

    def whole_vault(*_: object, **__: object) -> None:
        raise AssertionError("every note was asked for")

    monkeypatch.setattr(type(house.door.index), "hashes", whole_vault)
    assert "1 <small>notes</small>" in house.logged_in().get("").text
    assert house.logged_in("narrow").get("").status_code == 200


def test_home_names_what_to_look_at(house: House) -> None:
    house.lay("a.md", note())
    house.scan()
    house.add("whole", scopes=DEFAULT_SCOPES | {"private"})
    browser = house.logged_in("whole")
    assert "no backup was proven yet" in browser.get("").text
    state = {"at": "2026-05-04T00:00:00Z", "ok": False, "last_ok": None, "asked": 9, "failing": ["q<1>"]}
    (house.settings.places.home / "canary-state.json").write_text(json.dumps(state))
    text = browser.get("").text
    assert "missed 1 of 9 questions (q&lt;1&gt;)" in text
    assert "2 things to look at" in text


def test_a_vault_that_is_not_there_is_said_and_is_no_empty_success(house: House) -> None:
    browser = house.logged_in()
    (house.folder / "vault").rename(house.folder / "gone")
    for page in ("/search", "/browse", "/note"):
        answer = browser.get(page, path="a.md")
        assert answer.status_code == 503
        assert "vault_unavailable" in answer.text
        assert str(house.folder) not in answer.text
    assert "cannot be read" in browser.get("").text


def test_every_page_has_one_heading_a_language_and_labels(house: House) -> None:
    house.lay("a.md", note("see [[a]]\n"))
    house.scan()
    written(house, "b.md", note())
    browser = house.logged_in()
    pages = [browser.get(""), browser.get("/search", q="gate", explain="1"), browser.get("/browse")]
    pages += [browser.get(page, path="b.md") for page in ("/note", "/history", "/diff")]
    for answer in [*pages, house.browser().get("/login"), browser.get("/nowhere")]:
        text = answer.text
        assert text.count("<h1") == 1
        assert '<html lang="en">' in text
        assert 'class="skip" href="#main"' in text
        assert '<main id="main"' in text
        assert "style=" not in text
        levels = [int(level) for level in re.findall(r"<h(\d)", text)]
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels
        for field in re.findall(r"<(?:input|select)[^>]*>", text):
            kind = re.search(r'type="(\w+)"', field)
            if kind is None or kind[1] not in ("hidden", "radio", "checkbox"):
                name = re.search(r'id="(\w+)"', field)
                assert name is not None, field
                assert f'for="{name[1]}"' in text


def test_rights_that_shrink_count_at_once_on_pages_too(house: House) -> None:
    house.lay("a.md", note("wombat\n"))
    browser = house.logged_in()
    assert browser.get("/note", path="a.md").status_code == 200
    with clients.changing(house.settings.places.clients) as known:
        known["ada"] = replace(known["ada"], read=("other/**",))
    assert browser.get("/note", path="a.md").status_code == 404


def test_a_note_of_very_many_lines_is_shown_in_pieces(house: House) -> None:
    house.lay("many.md", note("line\n" * 12_000))
    browser = house.logged_in()
    first = browser.get("/note", path="many.md").text
    assert first.count('<span id="L') == 5_000
    assert "Go on at line 5001" in first
    last = browser.get("/note", path="many.md", line="10001").text
    assert 'id="L12007"' in last
    assert "Go on" not in last


def test_home_names_the_canary_s_questions_to_those_alone_who_may_see_every_note(house: House) -> None:
    state = {"at": "2026-05-04T00:00:00Z", "ok": False, "last_ok": None, "asked": 3, "failing": ["my-divorce"]}
    (house.settings.places.home / "canary-state.json").write_text(json.dumps(state))
    house.add("narrow", read="s/**")
    house.add("whole", scopes=DEFAULT_SCOPES | {"private"})
    seen = {name: house.logged_in(name).get("").text for name in ("ada", "narrow", "whole")}
    assert [name for name, text in seen.items() if "my-divorce" in text] == ["whole"]
    assert all("missed 1 of 3 questions" in text for text in seen.values())
