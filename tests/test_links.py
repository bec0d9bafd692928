"""Links as written, in every form and on hostile text; and text for people."""

from __future__ import annotations

import doctest
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn.model import links
from muninn.model.links import first_sentence, plain_text, scan
from muninn.model.scanner import Scanner, in_body

PIECES = st.sampled_from(
    ["[", "]", "[[", "]]", "](", ")", "!", "|", "\\|", "#", "`", "``", "```", "\n", "\n\n", "<!--", "-->", "%%", "~~~",
     "a", "b.md", " ", "x/y", "(", "<", ">", "- ", "> ", "\\", '"', "---\n", "http://x"]
)  # fmt: skip


def targets(text: str) -> list[str]:
    return [link.target for link in scan(text)]


def test_examples_of_the_docstrings_run() -> None:
    assert doctest.testmod(links).failed == 0


@pytest.mark.parametrize(
    ("text", "target", "kind", "heading", "alias"),
    [
        ("[[two]]", "two", "wikilink", None, None),
        ("[[a/two|The two]]", "a/two", "wikilink", None, "The two"),
        ("[[two#Part one|p]]", "two", "wikilink", "Part one", "p"),
        ("[[two#^b1]]", "two", "wikilink", "^b1", None),
        ("[[draft 0.9 ideas]]", "draft 0.9 ideas", "wikilink", None, None),
        ("![[pic.png]]", "pic.png", "embed", None, None),
        ("| [[lab/ibis\\|Ibis]] | x |", "lab/ibis", "wikilink", None, "Ibis"),
        ("[md](lab/ibis.md)", "lab/ibis.md", "markdown", None, "md"),
        ("[md](lab/ibis.md#Part)", "lab/ibis.md", "markdown", "Part", "md"),
        ("[md](<a b.md>)", "a b.md", "markdown", None, "md"),
        ('[md](a.md "A title")', "a.md", "markdown", None, "md"),
        ("[md](a_(b).md)", "a_(b).md", "markdown", None, "md"),
        ("![p](pic%20one.png)", "pic%20one.png", "embed", None, "p"),
        ("[a [b] c](d.md)", "d.md", "markdown", None, "a [b] c"),
        ("[label]([[Page]])", "Page", "wikilink", None, "label"),
        ("[label]([[Page#Part]]) `x`", "Page", "wikilink", "Part", "label"),
    ],
)
def test_forms(text: str, target: str, kind: str, heading: str | None, alias: str | None) -> None:
    (link,) = scan(text)
    assert (link.target, link.kind, link.heading, link.alias) == (target, kind, heading, alias)
    assert text[link.start : link.end] in text
    assert link.end - link.start >= len(target)


@pytest.mark.parametrize(
    "text",
    [
        "[[#here]]", "[x](#here)", "[x](https://a.example/b.md)", "[x](mailto:a@b.c)", "[x](//host/a.md)", "[]()",
        "[[a]", "[[]]", "[[a\nb]]", r"\[[a]]", "`[[a]]`", "``[[a]] ` [[b]]``", "`one\ntwo [[a]]`", "```\n[[a]]\n```",
        "~~~sh\n[[a]]\n~~~~", "````\n```\n[[a]]\n```\n````", "```\n[[never closed]]", "> ```\n> [[a]]\n> ```",
        "- x\n  ```\n  [[a]]\n  ```", "<!-- [[a]] -->", "<!--\n[[a]]\n\n[[b]] -->", "%% [[a]] %%",
        "%%\n[[a]]\n\n[[b]]\n%%",
        "<!-- never closed [[a]]", "`[x](a.md)`",
    ],
)  # fmt: skip
def test_what_is_no_link(text: str) -> None:
    assert targets(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a ` tick and [[b]]", ["b"]),
        ("a ` tick\n\nanother ` [[b]]", ["b"]),
        ("- a ` tick\n- [[b]] ` tick", ["b"]),
        ("```\ncode\n```\n[[b]]", ["b"]),
        ("```not a fence``` [[b]]", ["b"]),
        ("100%% sure [[b]]", ["b"]),
        ("x <!-- open [[b]]", ["b"]),
        ("> ```\n> code\n\n[[b]]", ["b"]),
        ("[![p](a.png)](b.md)", ["a.png", "b.md"]),
        ("[see [[x]]](y.md)", ["x", "y.md"]),
        ("\\`[[b]]\\`", ["b"]),
        ("```\n`\n```\n` [[b]]", ["b"]),
    ],
)
def test_links_beside_code_and_comments(text: str, found: list[str]) -> None:
    assert targets(text) == found


def test_frontmatter_counts_and_lines_are_those_of_the_file() -> None:
    text = '\ufeff---\r\ntitle: x\r\nup: "[[Parent|P]]"\r\nrelated: ["[[one]]", "`[[two]]`"]\r\n---\r\n'
    text += "see\r\n[[three]]\r\n"
    assert [(link.target, link.line) for link in scan(text)] == [("Parent", 3), ("one", 4), ("two", 4), ("three", 7)]


def test_line_of_a_link_around_a_picture() -> None:
    text = "one\n[text\n![p](a.png)\nmore](b.md)\n[[c]]"
    assert sorted((link.line, link.target) for link in scan(text)) == [(2, "b.md"), (3, "a.png"), (5, "c")]


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_scanned_and_spans_hold_what_they_name(text: str) -> None:
    for link in scan(text):
        assert 0 <= link.start < link.end <= len(text)
        assert link.target in text[link.start : link.end]
        assert link.line == text.count("\n", 0, link.start) + 1
    plain_text(text)
    assert len(first_sentence(text, 20)) <= 20


@given(st.lists(st.sampled_from(["[", "]", "[[", "]]", "](", ")", "!", "|", "a", " ", "\n", "<", ">"]), max_size=30))
def test_the_quick_way_finds_what_the_long_way_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert in_body(text, 0) == list(Scanner(text, 0).run())


HOSTILE = ["[", "`", "<!--", "%%", "](", "[[", "![", "[a](", '](a "', "](a (b", "``` ", "`a``b", "~~~\n", "> ```\n",
           "\\", "[[a|", "](<", "](a(b)", "\n- `", "|`", "*", "_a"]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_length_alone(unit: str) -> None:
    def seconds(size: int) -> float:
        text = "[[" + unit * (size // len(unit)) + "`"
        begun = time.process_time()
        list(scan(text))
        plain_text(text)
        first_sentence(text)
        return time.process_time() - begun

    small = min(seconds(25_000) for _ in range(2))
    assert seconds(200_000) < 30 * small + 0.3


@pytest.mark.parametrize("unit", ["[", "[[", "]]", "[[a", "](", "[[](", "[[a|]]", "![[", "[a](b", "[[a#]]\n", "[](<"])
def test_a_mebibyte_of_brackets_is_read_in_seconds(unit: str) -> None:
    text = unit * (1024 * 1024 // len(unit))
    begun = time.process_time()
    list(scan(text))
    assert time.process_time() - begun < 8


@pytest.mark.parametrize(("opening", "closing"), [("[", "](a)"), ("![", "](a)"), ("[[", "]]"), ("`", "`x")])
def test_deep_nesting_is_no_trouble(opening: str, closing: str) -> None:
    text = opening * 30_000 + closing * 30_000
    begun = time.process_time()
    list(scan(text))
    plain_text(text)
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[[two]]", "two"),
        ("[[a/b|B]]", "B"),
        ("[[x#h]]", "x > h"),
        ("[[#here]]", "here"),
        ("![[pic.png]]", "pic.png"),
        ("[t](u)", "t"),
        ("[t](https://a.example)", "t"),
        ("**bold** and _it_ and ~~gone~~ and ==lit==", "bold and it and gone and lit"),
        ("snake_case and 2*3*4", "snake_case and 2*3*4"),
        ("`a_b` code", "a_b code"),
        ("  many \n blanks ", "many blanks"),
        (r"a \* b", "a * b"),
        ("[the **big** [x]](u)", "the big [x]"),
    ],
)
def test_plain_text(text: str, shown: str) -> None:
    assert plain_text(text) == shown


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("# Title\n\nUse v2.1, e.g. for [[two]]. Then rest.", "Use v2.1, e.g. for two."),
        ("```\ncode. here\n```\n\nAfter code! More.", "After code!"),
        ("<!-- a comment. -->\n%% hidden %%\n\nSeen.", "Seen."),
        ("| a | b |\n|---|---|\n\nProse here", "Prose here"),
        ("- [ ] first task. second\n- other", "first task."),
        ("> quoted words. More", "quoted words."),
        ("1. one item\n2. two", "one item"),
        ("---\n\n<div>x</div>\n\nText of J. Smith is here. End.", "Text of J. Smith is here."),
        ("No stop\ngoes over lines. Then", "No stop goes over lines."),
        ("巡逻安排。然后", "巡逻安排。"),
        ("# Only\n\n## Headings", ""),
        ("", ""),
        ("Is it? Yes.", "Is it?"),
    ],
)
def test_first_sentence(body: str, sentence: str) -> None:
    assert first_sentence(body) == sentence


def test_first_sentence_is_cut_at_the_limit() -> None:
    cut = first_sentence("word " * 100, 50)
    assert len(cut) <= 50
    assert cut.endswith("word…")
