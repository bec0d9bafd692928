"""Frontmatter and notes: read exactly, never raised over, and never slow."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muninn.model import note as notes
from muninn.model.frontmatter import Scalar, resolve
from muninn.model.note import Note
from muninn.model.yaml_reader import read
from tests.conftest import note_text, path


def parsed(text: str) -> Note:
    return notes.parse(path("a/b.md"), text.encode())


def rules_of(yaml: str) -> set[str]:
    return {flaw.rule for flaw in read(yaml, 2).flaws}


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: One\n---\nbody\n",
        "\ufeff---\ntitle: One\n---\nbody\n",
        "---\r\ntitle: One\r\n---\r\nbody\r\n",
        "---  \ntitle: One\n---\t\nbody\n",
    ],
)
def test_frontmatter_is_found(text: str) -> None:
    note = parsed(text)
    assert note.values == {"title": "One"}
    assert note.body.strip() == "body"


def test_a_fence_at_the_end_of_the_file_closes() -> None:
    note = parsed("---\ntitle: One\n---")
    assert (note.values, note.body) == ({"title": "One"}, "")


@pytest.mark.parametrize(
    "text",
    ["body\n", "", "--- \nno end\n", "\n---\ntitle: One\n---\n", " ---\na: b\n---\n", "----\na: b\n---\n", "---"],
)
def test_no_frontmatter(text: str) -> None:
    assert parsed(text).frontmatter is None
    assert parsed(text).body == text


def test_an_empty_block_is_frontmatter_without_keys() -> None:
    assert parsed("---\n---\nbody\n").values == {}
    assert parsed("---\n# only a comment\n---\n").values == {}


def test_rule_lines_in_the_body_stay_body() -> None:
    note = parsed("---\na: b\n---\none\n\n---\n\nc: d\n\n---\n")
    assert note.values == {"a": "b"}
    assert note.body == "one\n\n---\n\nc: d\n\n---\n"


def test_the_body_knows_its_line() -> None:
    assert parsed("---\na: b\n---\nbody\n").body_line == 4
    assert parsed("body\n").body_line == 1


def test_bytes_that_are_no_text_give_a_note_without_text() -> None:
    note = notes.parse(path("a/b.md"), b"---\ntitle: \xff\n---\n")
    assert (note.text, note.frontmatter, note.body, note.title) == (None, None, "", "b")


def test_the_bytes_are_kept_as_they_are() -> None:
    raw = b"\xef\xbb\xbf---\r\na:   b  \r\n---\r\nx"
    assert notes.parse(path("a.md"), raw).raw == raw


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("12:30", "12:30"),
        ("1:20:30", "1:20:30"),
        ("2026-05-04", "2026-05-04"),
        ("2026-05-04T08:00:00+02:00", "2026-05-04T08:00:00+02:00"),
        ("0x1f", 31),
        ("017", 15),
        ("0b101", 5),
        ("1e3", 1000.0),
        ("1_000", 1000),
        ("-7", -7),
        ("08", "08"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("yes", True),
        ("No", False),
        ("on", True),
        ("OFF", False),
        ("true", True),
        ("~", None),
        ("Null", None),
        ("", None),
        ("y", "y"),
        ("v1.2.3", "v1.2.3"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_what_a_bare_word_means(typed: str, value: object) -> None:
    found = resolve(typed)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("typed", [".nan", ".inf", "-.inf", "1.0e999"])
def test_numbers_that_json_cannot_hold_stay_text(typed: str) -> None:
    values = parsed(f"---\na: {typed}\n---\n").values
    assert values == {"a": typed}
    json.dumps(values, allow_nan=False)


def test_quoted_words_are_strings_and_keep_how_they_were_typed() -> None:
    assert parsed("---\na: \"no\"\nb: '12'\nc: !!str 7\n---\n").values == {"a": "no", "b": "12", "c": "7"}
    assert parsed("---\na: 0x1f\n---\n").node("a") == Scalar("0x1f", 31, 2)


@pytest.mark.parametrize(
    ("yaml", "key"),
    [
        ("a: 1\na: 2\n", "a"),
        ('"a": 1\na: 2\n', "a"),
        ("'a': 1\n\"\\x61\": 2\n", "a"),
        ("o:\n  n: 1\n  n: 2\n", "n"),
        ("o: [{n: 1, n: 2}]\n", "n"),
        ("{a: 1, a: 2}\n", "a"),
    ],
)
def test_a_repeated_key_is_named_at_any_depth(yaml: str, key: str) -> None:
    flaws = [flaw for flaw in read(yaml, 2).flaws if flaw.rule == "unique-keys"]
    assert [flaw.key for flaw in flaws] == [key]
    assert key in flaws[0].message


def test_equal_keys_of_different_mappings_are_no_repetition() -> None:
    assert read("a: {n: 1}\nb: {n: 1}\n", 2).flaws == ()


@pytest.mark.parametrize(
    ("yaml", "rule"),
    [
        ("<<: {a: b}\n", "anchors"),
        ("a: &x 1\n", "anchors"),
        ("a: &x [1]\nb: *x\n", "anchors"),
        ("a: !custom 1\n", "yaml-tags"),
        ("a: !!timestamp 2026-05-04\n", "yaml-tags"),
        ("a: !!python/object:os.system x\n", "yaml-tags"),
        ("!!omap [a: b]\n", "yaml-tags"),
        ("2024: a\n", "keys"),
        ("yes: a\n", "keys"),
        ("~: a\n", "keys"),
        ("[a, b]: c\n", "keys"),
        ("? {a: b}\n: c\n", "keys"),
        ("- a\n- b\n", "mapping"),
        ("just words\n", "mapping"),
        ("a: b: c\n", "yaml"),
        ("a: [1\n", "yaml"),
        ("a: *x\n", "anchors"),
        ("a: 1\n--- b\n", "yaml"),
        ("a: 1\n...\nb: 2\n", "yaml"),
        ("a: b\tc\n", "hidden"),
        ("a: b\u0085c\n", "hidden"),
        ("a: b\u2028c\n", "hidden"),
        ("a: b\rc: d\n", "hidden"),
        ("a: b\u202ec\n", "hidden"),
        ("a: b\ufeffc\n", "hidden"),
        ('a: "b\\u2028c"\n', "hidden"),
        ('a: "b\\x00c"\n', "hidden"),
        ("# \x7f\na: b\n", "hidden"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", "depth"),
        ("a: " + "9" * 5000 + "\n", "numbers"),
        ("a: 0x" + "f" * 5000 + "\n", "numbers"),
        ("a: 1." + "9" * 5000 + "\n", "numbers"),
        ("a: " + "x" * 70000 + "\n", "size"),
    ],
)
def test_what_is_flawed(yaml: str, rule: str) -> None:
    assert rule in rules_of(yaml)


@pytest.mark.parametrize(
    "yaml",
    [
        "a: b\r\nc: d\r\n",
        "a: " + "[" * 31 + "]" * 31 + "\n",
        "a: " + "9" * 100 + "\n",
        "a: -" + "9" * 100 + "\n",
        'a: "' + "9" * 5000 + '"\n',
        "a: " + "word" * 100 + "\n",
        "a: |\n  text\n\n  # no comment\n",
        "a: 'b: c'\n",
        "# comment\na: b # more\n",
        "a: ünïcödé 日本 👍\n",
        "a: " + "x" * 65000 + "\n",
    ],
)
def test_what_is_no_flaw(yaml: str) -> None:
    assert rules_of(yaml) == set()


def test_flaws_name_the_line_of_the_file() -> None:
    note = parsed("---\ntitle: One\nowner: &a x\n---\n")
    assert [flaw.line for flaw in note.flaws] == [3]
    broken = parsed("---\ntitle: One\nb: c: d\n---\n")
    assert "line 3" in broken.flaws[0].message


def test_frontmatter_with_anchors_has_no_values() -> None:
    assert parsed("---\na: &x 1\n---\n").values is None


def test_an_alias_bomb_is_small_and_quick() -> None:
    lines = ["p0: &p0 [k, k, k, k, k, k]"]
    lines += [f"p{n}: &p{n} [" + ", ".join([f"*p{n - 1}"] * 6) + "]" for n in range(1, 30)]
    began = time.perf_counter()
    found = parsed("---\n" + "\n".join(lines) + "\n---\n")
    assert found.values is None
    assert len(repr(found.frontmatter)) < 200_000
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    "text",
    [
        "---\n" + "[" * 60000 + "\n---\n",
        "---\n" + "- " * 30000 + "\n---\n",
        "---\n" + "? " * 30000 + "\n---\n",
        "---\n" + "a: {" * 15000 + "\n---\n",
        "---\n" + "\n".join(f"k{n}: &a{n} *a{n}" for n in range(4000)) + "\n---\n",
        "---\n" + "\n".join(f"k{n}: v" for n in range(7000)) + "\n---\n",
        "# a" + " " * 300_000 + "x\n",
        "# " + " #" * 150_000 + "x\n",
        "---" + " " * 500_000 + "x\n",
        "---\na: b\n" + "--- \t" * 100_000 + "x\n",
    ],
)
def test_hostile_text_is_read_quickly(text: str) -> None:
    began = time.perf_counter()
    note = parsed(text)
    assert note.title
    assert note.values is None or note.values
    assert time.perf_counter() - began < 2


_WORDS = (": ", "- ", "? ", "&x ", "*x", "<<", "!t ", "  ", " #", "---", "...", ".nan", "0x")
_PIECES = st.sampled_from([*_WORDS, *"ab:[]{},|>\n\t'\"#%\\~1\x00\x85\u2028\ufeffé"])


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
@example("\ud800: a")
@example("a: \x00")
@example("%YAML 9.9\n---")
def test_read_never_raises(yaml: str) -> None:
    found = read(yaml, 2)
    assert found.root is not None or found.flaws
    if found.values is not None:
        json.dumps(found.values, allow_nan=False)


@given(st.binary())
def test_parse_never_raises(raw: bytes) -> None:
    assert notes.parse(path("a.md"), raw).title


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a/b.md", "---\ntitle: '  One   two '\n---\n# Other\n", "One two"),
        ("a/b.md", "---\ntitle: 7\n---\n# A heading ##\n", "A heading"),
        ("a/b.md", "text\r\n# A heading\r\n", "A heading"),
        ("a/b.md", "## Second level\n", "b"),
        ("a/b.md", "#  \n", "b"),
        ("a/index.md", "text\n", "a/index"),
        ("README.md", "text\n", "README"),
    ],
)
def test_the_title_is_that_of_the_frontmatter_the_heading_or_the_file(name: str, text: str, title: str) -> None:
    assert notes.parse(path(name), text.encode()).title == title


def test_words_of_a_list_or_of_one_string() -> None:
    note = parsed("---\ntags: [a, 7, {b: c}]\nalias: one\n---\n")
    assert note.words("tags") == ("a", "7")
    assert note.words("alias") == ("one",)
    assert note.words("absent") == ()


def test_a_valid_note_has_no_flaws() -> None:
    assert notes.parse(path("a.md"), note_text()).flaws == ()


def test_what_is_remembered_of_a_block_cannot_be_changed_by_a_caller() -> None:
    text = "title: One\ntags: [a, b]\nnested:\n  deep: [1]\n"
    first = read(text, 2).values
    assert first is not None
    first["nested"]["deep"].append(2)
    first["tags"] = None
    assert read(text, 2).values == {"title": "One", "tags": ["a", "b"], "nested": {"deep": [1]}}


def test_a_remembered_block_keeps_the_line_it_stands_on() -> None:
    here, there = read("a: 1\na: 2\n", 2), read("a: 1\na: 2\n", 7)
    assert ([flaw.line for flaw in here.flaws], [flaw.line for flaw in there.flaws]) == ([3], [8])
