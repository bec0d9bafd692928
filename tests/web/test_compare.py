"""Two texts side by side: every line is there once, and no pair of texts takes long."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from muninn.web.compare import MOST_ROWS, Clock, Comparison, Row, Side, Uncompared, compare, lines, of_bytes
from muninn.web.marks import marked, plain

texts = st.lists(st.sampled_from(["a", "b", "a b c", "a x c", "", "long line of words", "é\r"]), max_size=30).map(
    "\n".join
)


@given(texts, texts)
def test_both_texts_can_be_read_back_from_the_rows(old: str, new: str) -> None:
    found = compare(old, new, everything=True)
    assert [row.old.text for row in found.rows if row.old is not None] == lines(old)
    assert [row.new.text for row in found.rows if row.new is not None] == lines(new)
    assert [row.old.number for row in found.rows if row.old is not None] == list(range(1, len(lines(old)) + 1))
    for row in found.rows:
        if row.kind == "same":
            assert row.old is not None
            assert row.new is not None
            assert row.old.text == row.new.text


@given(texts, texts)
def test_what_is_left_out_is_equal_and_counted(old: str, new: str) -> None:
    whole, short = compare(old, new, everything=True), compare(old, new)
    assert sum(row.gap or 1 for row in short.rows) == len(whole.rows)
    assert [row for row in short.rows if row.kind not in ("same", "gap")] == [r for r in whole.rows if r.kind != "same"]
    assert (short.added, short.removed) == (whole.added, whole.removed)


@given(texts, texts)
def test_the_marked_places_are_in_order_and_inside(old: str, new: str) -> None:
    for row in compare(old, new).rows:
        for side in (row.old, row.new):
            ends = [place for span in (side.spans if side else ()) for place in span]
            assert ends == sorted(ends)
            assert not ends or (side is not None and ends[-1] <= len(side.text))


def test_words_that_differ_are_marked() -> None:
    (row,) = compare("the old gate\n", "the new gate, opened\n").rows
    assert row == Row(
        "changed", Side(1, "the old gate", ((4, 7),)), Side(1, "the new gate, opened", ((4, 7), (12, 20)))
    )


def test_bytes_that_are_not_compared_say_why() -> None:
    assert of_bytes(None, b"\xff") == Uncompared("one of them is not text", 0, 1)
    large = of_bytes(b"x" * 300_000, None)
    assert isinstance(large, Uncompared)
    assert "256 KiB" in large.why
    short = of_bytes(None, b"line\n" * 50, most_rows=20)
    assert isinstance(short, Comparison)
    assert (len(short.rows), short.cut, short.added) == (20, 30, 50)


def test_hostile_texts_do_not_take_long() -> None:
    pairs = (
        ("a b " * 60_000, "b a " * 60_000),
        ("ab\n" * 80_000, "ba\n" * 80_000),
        ("".join(f"{n % 97} x\n" for n in range(999)), "".join(f"{n % 89} x\n" for n in range(999))),
        ("".join(" ".join("ab"[(n >> k) & 1] for k in range(70)) + "\n" for n in range(900)), "b a b\n" * 900),
        (("( " * 70 + "\n") * 900, (") ( " * 35 + "\n") * 900),
    )
    for old, new in pairs:
        began = time.monotonic()
        compare(old, new)
        assert time.monotonic() - began < 8


@given(st.text(max_size=80))
def test_a_text_is_escaped_whatever_it_holds(text: str) -> None:
    shown = str(plain(text))
    assert "<" not in shown.replace('<span class="odd">', "").replace("</span>", "")
    assert "\u202e" not in shown
    assert str(marked(text, [])) == shown


def test_a_middle_that_is_too_long_is_shown_as_replaced_whole() -> None:
    found = compare("\n".join(f"old {n}" for n in range(1500)), "\n".join(f"new {n}" for n in range(1500)))
    assert not found.paired
    assert compare("a\nb\n", "a\nc\n").paired


def test_odd_characters_without_number_do_not_take_long() -> None:
    began = time.monotonic()
    shown = str(plain("\x01\u202e" * 120_000))
    assert time.monotonic() - began < 4
    assert shown.count("U+202E") == 120_000


def test_a_carriage_return_that_ends_a_line_is_no_odd_character() -> None:
    assert str(plain("a\r\nb\r")) == "a\nb"
    assert "U+000D" in str(plain("a\rb"))


def test_more_rows_than_a_page_holds_are_counted() -> None:
    found = of_bytes(b"\n" * 20_000, b"a\n" * 20_000)
    assert isinstance(found, Comparison)
    assert (len(found.rows), found.cut, found.added) == (MOST_ROWS, 20_000 - MOST_ROWS, 20_000)
    crowded = of_bytes(b"\n" * 60_000, None)
    assert isinstance(crowded, Uncompared)
    assert "lines" in crowded.why


def test_comparisons_that_share_a_clock_stop_pairing_when_it_has_run_out() -> None:
    old, new = b"one\ntwo\nthree\n", b"zero\none\ntwo\nthree\nfour\n"
    assert isinstance(found := of_bytes(old, new, clock=Clock()), Comparison)
    assert (found.paired, found.added) == (True, 2)
    assert isinstance(found := of_bytes(old, new, clock=Clock(0.0)), Comparison)
    assert (found.paired, found.added, found.removed) == (False, 5, 3)
