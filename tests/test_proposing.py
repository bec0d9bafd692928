"""What is proposed for a note that does not meet the contract: where values come from, and what stays as it was."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn import contract, proposing
from muninn.contract import Contract, OwnerRules
from muninn.model import dates
from muninn.model import note as notes
from muninn.proposing import Known, Proposal, kebab, propose
from tests.conftest import note_text, path

AT = 1_700_000_000 * 10**9  # 2023-11-14
RULES = contract.build()


def proposal(
    name: str, text: str, owner: OwnerRules | None = None, rules: Contract = RULES, first: str | None = None
) -> Proposal:
    """The proposal for a note. It meets the contract, and the body is untouched: looked at here, for every test."""
    note = notes.parse(path(name), text.encode())
    found = propose(note, Known(AT, first), rules, owner or OwnerRules())
    assert isinstance(found, Proposal), found
    made = notes.parse(path(name), found.content)
    assert rules.judge(made) == ()
    assert made.body == note.body
    return found


def fields(name: str, text: str, **more: object) -> dict[str, object]:
    return {one.key: one.value for one in proposal(name, text, **more).fields}  # type: ignore[arg-type]


def test_examples_of_the_docstrings_run() -> None:
    assert doctest.testmod(proposing).failed == 0
    assert doctest.testmod(dates).failed == 0


def test_a_valid_note_needs_nothing() -> None:
    note = notes.parse(path("a.md"), note_text())
    assert propose(note, Known(AT), RULES, OwnerRules()) is None


def test_a_bare_note_gets_all_five() -> None:
    found = proposal("work/Boats/pilot boat.md", "# The pilot boat\n\nDraws *two* metres. #Hull/Wood #7 `#no`\n")
    text = found.content.decode()
    assert text == (
        "---\ntitle: The pilot boat\ntype: note\nstatus: active\ntags: [hull-wood, boats]\ndate: 2023-11-14\n---\n"
        "# The pilot boat\n\nDraws *two* metres. #Hull/Wood #7 `#no`\n"
    )
    assert {one.key: one.source for one in found.fields} == {
        "title": "heading", "type": "default", "status": "default", "tags": "text, folder", "date": "file time",
    }  # fmt: skip


def test_what_is_fine_stays_byte_for_byte() -> None:
    text = '---\r\n# mine\r\nTitle2: x   # y\r\nstatus:   "done"\r\ntags:\r\n  - aa # one\r\n  - bb\r\n---\r\nbody \r\n'
    made = proposal("a.md", text).content.decode()
    assert made.startswith(
        '---\r\n# mine\r\nTitle2: x   # y\r\nstatus:   "done"\r\ntags:\r\n  - aa # one\r\n  - bb\r\n'
    )
    assert made.endswith("title: a\r\ntype: note\r\ndate: 2023-11-14\r\n---\r\nbody \r\n")


def test_a_byte_order_mark_stays_first() -> None:
    assert proposal("a.md", "\ufefftext\n").content.startswith(b"\xef\xbb\xbf---\n")


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# **Bold** [[x|shown]] #\n", "Bold shown"),
        ("## Part\n# Late\n", "name"),
        ("```\n# code\n```\n# Real\n", "Real"),
        ("```\n# code\n```\n", "name"),
        ("text\n", "name"),
        ("# \u200b\n", "name"),
        ("# C: drive\n", "C: drive"),
    ],
)
def test_titles(body: str, title: str) -> None:
    assert fields("x/name.md", body)["title"] == title


def test_the_title_of_a_folders_page_names_its_folder() -> None:
    assert fields("x/boats/README.md", "text\n")["title"] == "boats/README"
    assert fields("README.md", "text\n")["title"] == "README"


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.md", "type: [x]", "x"),
        ("a.md", "type: 7", "7"),
        ("a.md", 'categories: ["[[Books]]", "[[Other]]"]\ntype: []', "Books"),
        ("Journal/Monday.md", "x: 1", "log"),
        ("a/2023-09-12.md", "x: 1", "log"),
        ("meetings/2023-09-12 retro.md", "x: 1", "meeting"),
        ("adr/0001.md", "x: 1", "decision"),
        ("x/index.md", "x: 1", "index"),
    ],
)
def test_types(name: str, head: str, kind: str) -> None:
    assert fields(name, f"---\n{head}\n---\n")["type"] == kind


def test_page_properties_of_logseq_are_read() -> None:
    found = fields("pages/x.md", "type:: [[Feature]]\ntags:: one, [[Two Words]]\ndate:: [[Sep 20th, 2020]]\n\n- text\n")
    assert (found["type"], found["tags"], found["date"]) == ("Feature", ("one", "two-words"), "2020-09-20")


@pytest.mark.parametrize("folder", ["archive", "Work/Archived", "_archive/x"])
def test_notes_in_archive_folders_are_archived(folder: str) -> None:
    assert fields(f"{folder}/a.md", "x\n")["status"] == "archived"


@pytest.mark.parametrize(
    ("head", "tags"),
    [
        ("tags: Ops, Canary Deploy", ("ops", "canary-deploy")),
        ("tags: ['#a/b', c_d]", ("a-b", "c-d")),
        ("tag: one", ("one", "boats")),
        ("tags: [Straße, 日本]", ("straße", "日本")),
        ("tags: [2021, no]", ("2021", "no")),
        ("tags: [x, x]", ("x", "boats")),
        ("tags:", ("boats", "note")),
        ("tags: ['++', '!']", ("boats", "note")),
    ],
)
def test_tags(head: str, tags: tuple[str, ...]) -> None:
    assert fields("boats/a.md", f"---\n{head}\n---\n")["tags"] == tags


def test_tags_that_are_too_many_stay_under_another_key() -> None:
    found = proposal("a.md", "---\ntags:\n  - a\n  - b\n  - c\n  - d\n  - e\n  - f\n---\n")
    assert found.kept == {"tags": "was_tags"}
    text = found.content.decode()
    assert text.startswith("---\nwas_tags:\n  - a\n  - b\n  - c\n  - d\n  - e\n  - f\n")
    assert "tags: [a, b, c, d, e]\n" in text
    assert "was_tags_2:" in proposal("a.md", "---\nwas_tags: x\ntags: [a, b, c, d, e, f]\n---\n").content.decode()


@pytest.mark.parametrize(
    ("head", "lost"),
    [
        ("type: ['[[Cities]]']", True),
        ("type: [a, b]", True),
        ("type: {a: b}", True),
        ("type: [a] # why", True),
        ("type: [a]", False),
        ("type: []", False),
        ("date: 2021-03-05 10:00", True),
        ("date: 2021/03/05", False),
        ("date: someday", True),
    ],
)
def test_values_that_say_more_stay_under_another_key(head: str, lost: bool) -> None:
    key = head.partition(":")[0]
    found = proposal("a.md", f"---\n{head}\n---\n")
    assert found.kept == ({key: f"was_{key}"} if lost else {})
    if lost:
        assert f"was_{head}\n" in found.content.decode()


@pytest.mark.parametrize(
    ("name", "head", "date"),
    [
        ("a.md", "date: 2021/3/5", "2021-03-05"),
        ("a.md", "date: 5.3.2021", "2021-03-05"),
        ("a.md", "date: March 5th, 2021", "2021-03-05"),
        ("a.md", 'date: "[[2021-03-05]]"', "2021-03-05"),
        ("2020_09_20.md", "created: 2021-03-05", "2020-09-20"),
        ("call 20200920.md", "x: 1", "2020-09-20"),
        ("2020-02-30.md", "created: 2021-03-05", "2021-03-05"),
        ("a.md", "Date Created: 2021-03-05T10:00:00", "2021-03-05"),
        ("a.md", "updated: 2022-01-01\ncreated: 2021-03-05", "2021-03-05"),
        ("plan 1234567890.md", "x: 1", "2023-11-14"),
    ],
)
def test_dates(name: str, head: str, date: str) -> None:
    assert fields(name, f"---\n{head}\n---\n")["date"] == date
    assert f"\ndate: {date}\n" in proposal(name, f"---\n{head}\n---\n").content.decode()


def test_the_ledgers_first_event_goes_before_the_files_time() -> None:
    assert fields("a.md", "x\n", first="2022-02-02")["date"] == "2022-02-02"


def test_the_owners_rules_are_met() -> None:
    owner = OwnerRules(types=("Memo", "log"), statuses=("open", "archived"), tags_min=3, tags_max=3)
    rules = contract.build(owner)
    found = fields("a.md", "---\ntype: memo\nstatus: live\n---\n", owner=owner, rules=rules)
    assert (found["type"], found["status"]) == ("Memo", "open")
    assert len(found["tags"]) == 3  # type: ignore[arg-type]
    assert fields("2021-01-01.md", "x\n", owner=owner, rules=rules)["type"] == "log"
    assert fields("archive/a.md", "x\n", owner=owner, rules=rules)["status"] == "archived"
    none = OwnerRules(tags_min=0)
    assert "tags" not in fields("a.md", "x\n", owner=none, rules=contract.build(none))


@pytest.mark.parametrize(
    "text",
    ["---\na: [\n---\nx\n", "---\na: 1\na: 2\n---\n", "---\ncreated: {{date}}\n---\n", "---\na: &b 1\n---\n",
     "---\n{a: b}\n---\n", "---\n- a\n---\n"],
)  # fmt: skip
def test_what_only_the_owner_can_mend_is_left(text: str) -> None:
    why = propose(notes.parse(path("a.md"), text.encode()), Known(AT), RULES, OwnerRules())
    assert isinstance(why, str)
    assert why


def test_bytes_that_are_no_text_are_left() -> None:
    assert propose(notes.parse(path("a.md"), b"\xff\xfe"), Known(AT), RULES, OwnerRules()) == "it is not UTF-8 text"


KEYS = st.sampled_from(["title", "type", "status", "tags", "date", "created", "x y", "was_type"])
VALUES = st.sampled_from(
    ["", "a", "[]", "[a, b]", "[A B, '#c', 3]", "2021-03-05", "2021-3-5", "7", "yes", "'[[L]]'", "{k: v}",
     "\n  - a\n  - b", "|\n  text\n  more", '"q: r"', "null", "2021-03-05T10:00:00Z # c"]
)  # fmt: skip
BODIES = st.sampled_from(["", "text", "# H\n", "\n\n#tag and #t2\n", "---\nno\n", "tags:: a, b\n", "```\n# c\n"])


@given(st.dictionaries(KEYS, VALUES, max_size=6), BODIES, st.booleans())
def test_any_readable_note_becomes_valid_and_loses_no_word(head: dict[str, str], body: str, windows: bool) -> None:
    lines = "".join(f"{key}: {value}\n" for key, value in head.items())
    text = (f"---\n{lines}---\n" if head else "") + body
    text = text.replace("\n", "\r\n") if windows else text
    note = notes.parse(path("boats/a.md"), text.encode())
    found = propose(note, Known(AT), RULES, OwnerRules())
    if found is None:
        return
    assert isinstance(found, Proposal), found
    made = notes.parse(path("boats/a.md"), found.content)
    assert RULES.judge(made) == ()
    assert made.body == note.body
    root = note.frontmatter.root if note.frontmatter is not None else None
    after = made.frontmatter.root if made.frontmatter is not None else None
    assert after is not None
    said = " ".join(word for _, node in after.entries for word in proposing._strings(node)).casefold()
    for key, node in root.entries if root is not None else ():
        for word in proposing._strings(node):
            assert all(part in said for part in kebab(word).split("-")), (key.typed, word)
