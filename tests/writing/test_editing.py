"""Edits: what an edit names changes, and every other byte stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn.model import note as notes
from muninn.model.draft import Append, Edit, Replace, Section, SetFields
from muninn.model.frontmatter import plain
from muninn.model.refusal import Code, Refusal
from muninn.model.yaml_reader import read
from muninn.writing import editing
from muninn.writing.editing import edited, rendered
from tests.conftest import path

DOC = """---
# a comment that looks like a heading
title: One
---
# Top

intro

## Plan

first

### Detail

deep

## Plan B

```sh
## no heading
```

last
"""


def apply(text: str, *edits: Edit) -> str:
    found = edited(path("a.md"), text, edits)
    assert isinstance(found, str), found
    return found


def refused(text: str, *edits: Edit) -> Refusal:
    found = edited(path("a.md"), text, edits)
    assert isinstance(found, Refusal), found
    return found


def test_replace_takes_the_one_match() -> None:
    assert apply("a b c", Replace("b", "\\1 $&")) == "a \\1 $& c"


@pytest.mark.parametrize(("find", "count"), [("x", 0), ("a", 2), ("", 0)])
def test_replace_with_none_or_several_matches_is_refused_with_the_count(find: str, count: int) -> None:
    found = refused("a a", Replace(find, "b"))
    assert (found.code, found.details["count"]) == (Code.INVALID_ARGUMENTS, count)
    assert str(count) in found.message


def test_the_edit_that_does_not_fit_is_named_by_its_place() -> None:
    assert refused("a", Replace("a", "b"), Replace("a", "c")).message.startswith("edits[1]")


def test_edits_follow_one_another() -> None:
    assert apply("a", Replace("a", "b"), Replace("b", "c"), Append("d")) == "c\nd"


@pytest.mark.parametrize(
    ("text", "after"),
    [("a\n", "a\nb"), ("a", "a\nb"), ("", "b"), ("a\r\nc\r\n", "a\r\nc\r\nb"), ("a\r\nc", "a\r\nc\r\nb")],
)
def test_append_begins_on_a_new_line(text: str, after: str) -> None:
    assert apply(text, Append("b")) == after


@pytest.mark.parametrize("heading", ["Plan", "## Plan", " Plan "])
def test_a_section_is_replaced_with_what_is_nested_in_it(heading: str) -> None:
    after = apply(DOC, Section(heading, "new", "replace"))
    assert after == DOC.replace("first\n\n### Detail\n\ndeep\n", "new\n")


def test_a_section_is_appended_to_at_its_end() -> None:
    assert apply(DOC, Section("Plan", "new", "append")) == DOC.replace("deep\n", "deep\nnew\n")


def test_a_section_is_prepended_to_at_its_begin() -> None:
    assert apply(DOC, Section("Plan", "new", "prepend")) == DOC.replace("first\n", "new\nfirst\n")


def test_the_last_section_ends_with_the_note() -> None:
    assert apply(DOC, Section("Plan B", "new\n", "append")) == DOC + "new\n"
    assert apply("# A\ntext", Section("A", "new", "append")) == "# A\ntext\nnew\n"
    assert apply("# A", Section("A", "new", "append")) == "# A\nnew\n"


@pytest.mark.parametrize("heading", ["no heading", "a comment that looks like a heading", "None"])
def test_headings_in_code_and_frontmatter_are_none(heading: str) -> None:
    found = refused(DOC, Section(heading, "x", "append"))
    assert (found.code, found.details["count"]) == (Code.INVALID_ARGUMENTS, 0)
    assert "'Plan B'" in found.message


def test_a_fence_in_the_frontmatter_opens_no_code() -> None:
    text = "---\na: |\n  ```\n---\n# A\nx\n"
    assert apply(text, Section("A", "y", "replace")) == text.replace("x\n", "y\n")


@pytest.mark.parametrize(
    "code", ["```\n# A\n```\n", "~~~\n# A\n```\n# A\n~~~\n", "````\n```\n# A\n````\n", "```\n```sh\n# A\n```\n"]
)
def test_code_fences_end_where_markdown_ends_them(code: str) -> None:
    assert apply(code + "# A\nx\n", Section("A", "y", "replace")) == code + "# A\ny\n"


def test_inline_code_opens_no_fence() -> None:
    assert apply("```x``` y\n# A\nx\n", Section("A", "y", "replace")) == "```x``` y\n# A\ny\n"


def test_a_heading_that_stands_twice_is_refused() -> None:
    assert refused("# A\n\n# A\n", Section("A", "x", "append")).details["count"] == 2


def test_sections_of_a_text_with_crlf_stay_crlf() -> None:
    text = "# A\r\n\r\none\r\n\r\n# B\r\ntwo\r\n"
    assert apply(text, Section("A", "new", "append")) == text.replace("one\r\n", "one\r\nnew\r\n")
    assert apply(text, Section("A", "new", "replace")) == text.replace("one\r\n", "new\r\n")


def test_mixed_ends_of_lines_are_not_lost() -> None:
    text = "# A\r\none\n\n# B\n"
    assert apply(text, Section("A", "new", "append")) == "# A\r\none\r\nnew\r\n\n# B\n"


def test_long_headings_cost_little() -> None:
    text = "# a" + " " * 200_000 + "x\n# B\n"
    assert apply(text, Section("B", "y", "append")) == text + "y\n"


FRONT = """---
# first comment
title: One
desc: |
  block # text

  # still text
tags:
- a
- b
# comment of status
status: active

---
body
"""


@pytest.mark.parametrize(
    ("fields", "old", "new"),
    [
        ({"title": "Two"}, "title: One\n", "title: Two\n"),
        ({"title": None}, "title: One\n", ""),
        ({"desc": "short"}, "desc: |\n  block # text\n\n  # still text\n", "desc: short\n"),
        ({"desc": None}, "desc: |\n  block # text\n\n  # still text\n", ""),
        ({"tags": ["c", "d"]}, "tags:\n- a\n- b\n", "tags: [c, d]\n"),
        ({"tags": None}, "tags:\n- a\n- b\n", ""),
        ({"status": None}, "status: active\n", ""),
        ({"new": 7}, "\n---\nbody", "\nnew: 7\n---\nbody"),
        ({"absent": None}, "", ""),
    ],
)
def test_a_field_is_changed_by_its_own_lines(fields: dict[str, Any], old: str, new: str) -> None:
    assert apply(FRONT, SetFields(fields)) == FRONT.replace(old, new, 1)
    crlf = FRONT.replace("\n", "\r\n")
    assert apply(crlf, SetFields(fields)) == FRONT.replace(old, new, 1).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("body\n", "---\na: b\n---\nbody\n"),
        ("\ufeffbody\n", "\ufeff---\na: b\n---\nbody\n"),
        ("x\r\n", "---\r\na: b\r\n---\r\nx\r\n"),
        ("---\n---\nbody\n", "---\na: b\n---\nbody\n"),
        ("---\n# c\n---\n", "---\n# c\na: b\n---\n"),
        ("---\nx: y\n---", "---\nx: y\na: b\n---"),
        ("\ufeff---\nx: y\n---\n", "\ufeff---\nx: y\na: b\n---\n"),
    ],
)
def test_a_field_where_there_was_none(text: str, after: str) -> None:
    assert apply(text, SetFields({"a": "b"})) == after


def test_several_fields_at_once() -> None:
    assert apply("---\na: 1\nb: 2\n---\n", SetFields({"a": None, "c": 3, "b": 4})) == "---\nb: 4\nc: 3\n---\n"


def test_a_quoted_key_is_found() -> None:
    assert apply('---\n"a": 1\n---\n', SetFields({"a": 2})) == "---\na: 2\n---\n"


@pytest.mark.parametrize("text", ["---\n{a: 1}\n---\n", "---\n{}\n---\n", "---\n{a: 1,\n b: 2}\n---\n"])
def test_flow_style_is_refused(text: str) -> None:
    assert refused(text, SetFields({"a": 2})).code is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    "text", ["---\na: b: c\n---\n", "---\n- a\n---\n", "---\na: 'x\u2028y'\nb: 1\n---\n", "---\na: 1\rb: 2\n---\n"]
)
def test_frontmatter_that_cannot_be_told_by_lines_is_refused(text: str) -> None:
    assert refused(text, SetFields({"b": 2})).code is Code.INVALID_NOTE


def test_text_that_is_no_unicode_is_no_crash() -> None:
    assert isinstance(edited(path("a.md"), "---\na: 1\n---\n\ud800", (SetFields({"a": 2}),)), str)


_WORDS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["no", "~", "", "1e3", "0x1f", "12:30", "a: b", "# c", "- x", "[x]", "'", '"', "\\", "\u0085", "\u2028", "a\r\nb"]
)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=10,
)


@given(_VALUES)
def test_what_is_rendered_reads_back_the_same(value: Any) -> None:
    text = rendered(value)
    assert "\n" not in text
    found = read(f"key: {text}\n", 2)
    assert found.root is not None, found.flaws
    node = found.root.get("key")
    assert node is not None
    back = plain(node)
    assert back == value
    assert type(back) is type(value)


@given(st.dictionaries(_WORDS.filter(lambda key: key != ""), _VALUES, min_size=1, max_size=3))
def test_the_rest_of_a_note_stays_byte_for_byte(fields: dict[str, Any]) -> None:
    text = "---\nkeep:   'me'  # as I am\n---\nbody\r\nmore"
    fields = {f"x{key}": value for key, value in fields.items()}
    after = apply(text, SetFields(fields))
    assert after.startswith("---\nkeep:   'me'  # as I am\n")
    assert after.endswith("---\nbody\r\nmore")
    removed = apply(after, SetFields(dict.fromkeys(fields)))
    assert removed == text


def test_many_keys_of_one_edit_read_the_frontmatter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    honest = notes.parse

    def counted(*values: Any) -> notes.Note:
        calls.append(1)
        return honest(*values)

    monkeypatch.setattr(notes, "parse", counted)
    text = "---\n" + "".join(f"k{n}: {n}\n" for n in range(200)) + "---\nbody\n"
    fields = {f"k{n}": None if n % 2 else f"new {n}" for n in range(100)} | {"fresh": "yes"}
    after = editing.edited(path("a.md"), text, (SetFields(fields),))
    assert isinstance(after, str)
    assert len(calls) == 1
    found = notes.parse(path("a.md"), after.encode()).values
    assert found is not None
    assert (found["k0"], found.get("k1"), found["k150"], found["fresh"]) == ("new 0", None, 150, "yes")


def test_more_work_than_a_call_may_ask_for_is_refused() -> None:
    text = "# a\n" + "#\n" * 100_000
    refused = editing.edited(path("a.md"), text, (Append("x"),) * 50)
    assert isinstance(refused, Refusal)
    assert "fewer at once" in refused.message
