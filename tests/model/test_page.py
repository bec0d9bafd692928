"""The managed block of a folder's page: its lines follow the notes, and nothing else is touched."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn.model import note as notes
from muninn.model.content import NotePath
from muninn.model.note import Note
from muninn.model.page import (
    BEGIN,
    END,
    blank_block,
    find_block,
    line_for,
    marked_text,
    new_page,
    with_note,
    without_note,
)
from tests.conftest import note_text, path


def of(name: str, body: str = "", title: str = "One", **fields: str) -> Note:
    return notes.parse(path(name), note_text(body, title, **fields))


def page(*lines: str) -> str:
    return f"above\n{BEGIN}\n" + "".join(f"{line}\n" for line in lines) + f"{END}\nbelow\n"


def test_a_line_has_path_title_and_first_sentence() -> None:
    assert line_for(of("d/a.md", "# One\n\nSee [[x|the plan]]. More.\n")) == "- [[d/a|One]] – See the plan."
    assert line_for(of("d/a.md")) == "- [[d/a|One]]"


def test_a_description_goes_before_the_first_sentence() -> None:
    assert line_for(of("a.md", "Text.\n", description="'About *it*'")) == "- [[a|One]] – About it"


def test_a_new_page_is_a_valid_note_with_all_lines_sorted_by_code_point() -> None:
    names = ["b.md", "a-b.md", "a.md", "Z.md", "é.md", "a b.md"]
    text = new_page("", [of(name) for name in names], "2026-05-04")
    assert notes.parse(path("index.md"), text.encode()).flaws == ()
    block = marked_text(text)
    assert block is not None
    targets = [line[4 : line.index("|")] for line in block.strip().splitlines()]
    assert targets == sorted(targets) == ["Z", "a", "a b", "a-b", "b", "é"]


def test_lines_that_are_added_one_by_one_stand_as_in_a_new_page() -> None:
    names = ["b.md", "a-b.md", "a.md", "Z.md", "é.md", "a b.md"]
    text = new_page("", [], "2026-05-04")
    for name in names:
        text = with_note(text, of(name)) or ""
    assert text == new_page("", [of(name) for name in names], "2026-05-04")


def test_a_line_is_put_in_replaced_and_taken_out() -> None:
    text = page("- [[a|A]]", "- [[c|C]]")
    assert with_note(text, of("b.md")) == page("- [[a|A]]", "- [[b|One]]", "- [[c|C]]")
    assert with_note(text, of("c.md")) == page("- [[a|A]]", "- [[c|One]]")
    assert without_note(text, path("a.md")) == page("- [[c|C]]")
    assert without_note(text, path("x.md")) == text


def test_lines_of_people_in_the_block_stay() -> None:
    text = page("## Mine", "- [[a|A]]", "words\u2028- [[b|no line]]", "", "* [[b]]")
    after = with_note(text, of("b.md"))
    assert after is not None
    assert without_note(after, path("b.md")) == text


def test_a_page_with_crlf_stays_one() -> None:
    text = page("- [[a|A]]").replace("\n", "\r\n")
    assert with_note(text, of("b.md")) == page("- [[a|A]]", "- [[b|One]]").replace("\n", "\r\n")


@pytest.mark.parametrize("text", [f"{BEGIN}{END}", f"{BEGIN}\n{END}", f"x {BEGIN} {END} y", f"{BEGIN}\n- [[z|Z]]{END}"])
def test_markers_on_odd_lines_hold_a_block(text: str) -> None:
    after = with_note(text, of("b.md"))
    assert after is not None
    assert "\n- [[b|One]]\n" in after
    assert find_block(after) is not None


def test_words_behind_the_first_marker_make_it_no_block_of_ours() -> None:
    assert find_block(f"{BEGIN} - [[evil]] owned\n{END}\n") is None


@pytest.mark.parametrize(
    "hostile", ["[x[y](z)](http://e/a)", "<http://e>", "%% hidden %%", "a\u202eb", "\\[a\\](http://e)"]
)
def test_no_link_comment_or_turned_text_gets_into_a_line(hostile: str) -> None:
    line = line_for(of("a.md", hostile + "\n"))
    assert not any(mark in line.removeprefix("- [[a|One]]") for mark in ("](", "<", "%%", "\u202e"))


def test_a_line_is_short_whatever_the_title() -> None:
    assert len(line_for(of("a.md", "word " * 9000))) < 300


@pytest.mark.parametrize("text", ["", "text", BEGIN, END, END + BEGIN, BEGIN + END + END, BEGIN + BEGIN + END])
def test_without_exactly_one_pair_there_is_no_block(text: str) -> None:
    assert find_block(text) is None
    assert with_note(text, of("a.md")) is None
    assert without_note(text, path("a.md")) is None
    assert blank_block(text) == text


def test_a_blank_block_keeps_lines_and_offsets() -> None:
    text = page("- [[a|A]]")
    blank = blank_block(text)
    assert (len(blank), blank.count("\n")) == (len(text), text.count("\n"))
    assert "[[" not in blank
    assert blank.startswith("above\n")
    assert blank.endswith("\nbelow\n")


HOSTILE = [
    "a]] b",
    "a [[b]] c",
    "a|b",
    "x -->",
    END,
    BEGIN,
    "<!<!---- /muninn:index --<!-->>",
    "<![[-- /muninn:index --]]>",
    "<\\!-- /muninn:index --\\>",
    "\\<!\\-\\- /muninn:index \\-\\-\\>",
    "<!`--` /muninn:index `--`>",
    "a\n- [[z|Z]]",
    "a\u2028- [[z|Z]]",
    "[[",
    "]]",
    "]",
]


def assert_harmless(line: str, target: str) -> None:
    assert "\n" not in line
    text = page("- [[b|B]]", line)
    assert text.count(BEGIN) == text.count(END) == 1
    assert line.startswith(f"- [[{target}|")
    assert line.count("[[") == 1
    assert line.count("]]") == 1
    assert "<!--" not in line
    assert "-->" not in line


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_cannot_break_the_block(words: str) -> None:
    assert_harmless(line_for(of("a.md", title=json.dumps(words))), "a")
    assert_harmless(line_for(of("a.md", description=json.dumps(words))), "a")
    assert_harmless(line_for(of("a.md", body=words)), "a")


_PIECES = st.sampled_from(
    ["<", "!", "--", ">", "-", "[", "]", "[[", "]]", "\\", "`", "*", "_", "|", " ", "a", "/muninn:index", "(x)"]
)


@given(st.lists(_PIECES, max_size=20).map("".join))
def test_no_words_at_all_break_the_block(words: str) -> None:
    assert_harmless(line_for(of("a.md", title=json.dumps(words) if words.strip() else "x")), "a")
    assert_harmless(line_for(of("a.md", description=json.dumps(words))), "a")
    assert_harmless(line_for(of("a.md", body=words)), "a")


@pytest.mark.parametrize("name", ["a]b.md", "a|b.md", "a[b].md", "a-->.md", "<!-- x -->.md", "x [[y]].md"])
def test_names_from_outside_that_a_link_cannot_hold_keep_one_line(name: str) -> None:
    text = with_note(page("- [[zz|Z]]"), of(name))
    assert text is not None
    assert with_note(text, of(name)) == text
    assert text.count("\n") == page("- [[zz|Z]]").count("\n") + 1
    assert without_note(text, path(name)) == page("- [[zz|Z]]")


def test_a_folder_with_a_marker_in_its_name_gives_a_page_with_a_block() -> None:
    folder = NotePath.parse("x <!-- muninn:index -->/a.md")
    assert isinstance(folder, NotePath)
    assert find_block(new_page(folder.folder, [notes.parse(folder, b"")], "2026-05-04")) is not None


def test_long_hostile_words_cost_little() -> None:
    began = time.perf_counter()
    line_for(of("a.md", description='"' + "<!" * 10_000 + "--" * 10_000 + '"'))
    assert time.perf_counter() - began < 2
