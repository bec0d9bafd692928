"""The contract: what is published is what judges, and all faults are named at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muninn import contract
from muninn.contract import Contract, OwnerRules
from muninn.contract.rules import Rule
from muninn.model import note as notes
from tests.conftest import note_text, path

BUILT_IN = contract.build()
OWNERS = {
    "built-in": OwnerRules(),
    "types": OwnerRules(types=("decision", "log")),
    "odd words": OwnerRules(types=("yes", "a: b"), statuses=("2024",)),
    "one tag": OwnerRules(tags_min=1, tags_max=1),
    "many tags": OwnerRules(tags_min=4, tags_max=9),
    "no tags": OwnerRules(tags_min=0),
}


def faults(text: str | bytes, rules: Contract = BUILT_IN, name: str = "a/b.md") -> set[str]:
    raw = text if isinstance(text, bytes) else text.encode()
    return {finding.rule for finding in rules.judge(notes.parse(path(name), raw))}


def messages(text: str) -> str:
    return "\n".join(finding.message for finding in BUILT_IN.judge(notes.parse(path("a/b.md"), text.encode())))


def head(**fields: str | None) -> str:
    """A note with some of its fields exchanged; None leaves one out."""
    shown: dict[str, str | None] = {
        "title": "One",
        "type": "note",
        "status": "active",
        "tags": "[ops, plan]",
        "date": "2026-05-04",
    }
    lines = [f"{key}: {value}" for key, value in (shown | fields).items() if value is not None]
    return "---\n" + "\n".join(lines) + "\n---\ntext\n"


@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
def test_the_good_example_of_every_rule_meets_the_whole_contract(owner: OwnerRules) -> None:
    rules = contract.build(owner)
    for rule in rules.rules:
        assert faults(rule.good, rules) == set(), rule.id


@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
def test_the_bad_example_of_every_rule_is_found_by_that_rule(owner: OwnerRules) -> None:
    rules = contract.build(owner)
    for rule in rules.rules:
        assert rule.id in faults(rule.bad, rules), rule.id


@pytest.mark.parametrize("rule", BUILT_IN.rules, ids=lambda rule: rule.id)
def test_a_rule_names_itself_alone(rule: Rule) -> None:
    found = list(rule.check(notes.parse(path("a/b.md"), rule.bad.encode())))
    assert found
    assert {finding.rule for finding in found} == {rule.id}
    assert all(finding.message for finding in found)


def test_every_rule_is_published_as_it_judges() -> None:
    published = BUILT_IN.publish()
    shown = [(rule["id"], rule["says"], rule["good"], rule["bad"]) for rule in published["rules"]]
    assert shown == [(rule.id, rule.says, rule.good, rule.bad) for rule in BUILT_IN.rules]
    assert (published["folder_index"], published["private"]) == ("index.md", ["private/"])
    json.dumps(published)


def test_a_changed_rule_needs_a_raised_version() -> None:
    pinned = json.loads(Path(__file__).with_name("digest.json").read_text())
    assert {"version": BUILT_IN.version, "digest": BUILT_IN.digest} == pinned, (
        "the built-in contract changed: raise BUILT_IN_VERSION and pin the new digest"
    )


def test_the_version_of_the_owners_contract_names_its_digest() -> None:
    digests = set()
    for rules in (
        contract.build(OwnerRules(types=("decision",))),
        contract.build(OwnerRules(statuses=("active",))),
        contract.build(OwnerRules(tags_min=1)),
        contract.build(OwnerRules(tags_max=9)),
        contract.build(OwnerRules(exempt=("inbox/",))),
        contract.build(folder_page=None),
        contract.build(folder_page="_folder.md"),
        contract.build(private=("secret/",)),
    ):
        assert rules.version == f"1+{rules.digest[:8]}"
        digests.add(rules.digest)
    assert len(digests) == 8
    assert contract.build(OwnerRules(), "index.md", ("private/",)).version == "1"


def test_the_owners_words_are_published_and_judged() -> None:
    rules = contract.build(OwnerRules(types=("decision",), tags_min=1, tags_max=3))
    says = {rule["id"]: rule["says"] for rule in rules.publish()["rules"]}
    assert "decision" in says["type"]
    assert "1 to 3" in says["tags"]
    assert faults(head(type="note"), rules) == {"type"}
    assert faults(head(type="decision", tags="[one]"), rules) == set()
    assert faults(head(type="decision", tags="[a, b, c, d]"), rules) == {"tags"}


def test_private_and_exempt_notes_are_not_judged() -> None:
    rules = contract.build(OwnerRules(exempt=("inbox/",)))
    assert faults("plain\n", rules, "private/a.md") == set()
    assert faults("plain\n", rules, "inbox/a.md") == set()
    assert "frontmatter" in faults("plain\n", rules, "else/a.md")
    assert rules.publish()["limits"]["exempt"] == ["inbox/"]


def test_all_faults_are_named_at_once() -> None:
    assert faults("plain\n") == {"frontmatter", "title", "type", "status", "tags", "date"}
    found = faults(head(title="' '", type="7", status=None, tags="[One]", date="2026-13-01", owner="&x y"))
    assert found == {"title", "type", "status", "tags", "date", "anchors"}


def test_frontmatter_that_is_no_yaml_is_told_alone_with_its_line() -> None:
    text = head(title="Trip: day one")
    assert faults(text) == {"yaml"}
    assert "line 2" in messages(text)


@pytest.mark.parametrize(
    "value", ["null", "~", "", '""', "'   '", '"\\u200b"', "7", "2026", "yes", "[One]", "{a: b}", None]
)
@pytest.mark.parametrize("key", ["title", "type", "status"])
def test_a_required_word_that_is_none(key: str, value: str | None) -> None:
    text = head(**{key: value})
    assert faults(text) == {key}
    assert key in messages(text)


@pytest.mark.parametrize("value", ["One", '"7"', "'yes'", "2026-05-04", "12:30", '"a: b"', "日本", "'[[Foo]]'"])
def test_a_required_word_that_is_one(value: str) -> None:
    assert faults(head(title=value)) == set()


@pytest.mark.parametrize(
    "title", ["[[Foo]]", "*Plan* for May", "Trip: one", "# Heading", "@home list", "`code`", "%x", "&a", "!x y"]
)
def test_markdown_in_a_title_without_quotes_is_refused_and_in_quotes_taken(title: str) -> None:
    assert faults(head(title=title))
    assert faults(head(title=json.dumps(title))) == set()


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        ("[no, network]", "no"),
        ("[network, on]", "on"),
        ("[2024, plan]", "2024"),
        ("[0x1f, plan]", "0x1f"),
        ("[~, plan]", "~"),
        ("[Ops, plan]", "Ops"),
        ("[a_b, plan]", "a_b"),
        ("[a--b, plan]", "a--b"),
        ("[-a, plan]", "-a"),
        ("[a-, plan]", "a-"),
        ('["a b", plan]', "a b"),
        ('["#ops", plan]', "#ops"),
        ('["", plan]', "''"),
        ("[ops, ops]", "ops"),
        ("[ops]", "1"),
        ("[a, b, c, d, e, f]", "6"),
        ("[[ops, plan]]", "list"),
        ("[{a: b}, plan]", "mapping"),
        ("ops plan", "tags"),
        ("", "tags"),
        (None, "tags"),
    ],
)
def test_tags_that_are_refused_as_they_were_typed(tags: str | None, named: str) -> None:
    text = head(tags=tags)
    assert faults(text) == {"tags"}
    assert named in messages(text)


@pytest.mark.parametrize(
    "tags", ['["no", network]', "[a1, b-2, c1, d1, e1]", "\n- ops\n- plan", '["2024", plan]', "[größe, 日本]", "[a, b]"]
)
def test_tags_that_are_taken(tags: str) -> None:
    assert faults(head(tags=tags)) == set()


@pytest.mark.parametrize(
    ("date", "real"),
    [
        ("2026-05-04", True),
        ("2024-02-29", True),
        ("'2026-05-04'", True),
        ("2026-05-04T08:00:00Z", True),
        ("2026-05-04 08:00:00.123456789+02:00", True),
        ("2026-05-04t08:00:00z", True),
        ("2026-02-29", False),
        ("2026-13-01", False),
        ("0000-01-01", False),
        ("2026-5-4", False),
        ("20260504", False),
        ("04.05.2026", False),
        ("2026-05-04T08:00", False),
        ("2026-05-04T08:00:00", False),
        ("2026-05-04T24:00:00Z", False),
        ("2026-05-04T08:61:00Z", False),
        ("2026-05-04T08:00:00+25:00", False),
        ("２０２６-05-04", False),
        ("yesterday", False),
        ("[2026-05-04]", False),
        ("null", False),
        (None, False),
    ],
)
def test_dates(date: str | None, real: bool) -> None:
    assert faults(head(date=date)) == (set() if real else {"date"})


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("status: x", "unique-keys"),
        ('"title": x', "unique-keys"),
        ("owner: {n: a, n: b}", "unique-keys"),
        ("<<: {a: b}", "anchors"),
        ("a: !x 1", "yaml-tags"),
        ("2024: x", "keys"),
        ('a: "b\\u2028c"', "hidden"),
        ("a: b\u202ec", "hidden"),
        ("a: b\x07", "hidden"),
        ("a: " + "9" * 101, "limits"),
        ("a: " + "[" * 40 + "]" * 40, "limits"),
        ("a: " + "x" * 66000, "limits"),
    ],
)
def test_what_yaml_allows_and_the_contract_does_not(line: str, rule: str) -> None:
    assert rule in faults(head().replace("\n---\ntext", f"\n{line}\n---\ntext"))


@pytest.mark.parametrize("text", ["\ufeff" + head(), head().replace("\n", "\r\n"), head()[: -len("\ntext\n")]])
def test_bom_crlf_and_a_fence_at_the_end_are_taken(text: str) -> None:
    assert faults(text) == set()


def test_the_page_is_known_by_its_name() -> None:
    assert BUILT_IN.is_page("index.md")
    assert BUILT_IN.is_page("INDEX.md")
    assert not BUILT_IN.is_page("a.md")
    assert not contract.build(folder_page=None).is_page("index.md")


def test_the_examples_are_those_of_the_suite() -> None:
    assert faults(note_text()) == set()
