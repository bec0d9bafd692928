"""Diffs are bounded in size and in time, and count lines as a read does."""

from __future__ import annotations

import time

import pytest

from muninn.diffs import MAX_BYTES, unified


def test_a_change_is_shown() -> None:
    shown = unified(b"one\ntwo\n", b"one\n2\n", "a.md")
    assert shown.startswith("--- a/a.md\n+++ b/a.md\n")
    assert "-two\n+2\n" in shown


def test_equal_bytes_give_nothing() -> None:
    assert unified(b"one\n", b"one\n", "a.md") == ""


def test_a_missing_end_of_line_is_said() -> None:
    assert "+two\n\\ no newline at the end\n" in unified(b"", b"one\ntwo", "a.md")


@pytest.mark.parametrize("char", ["\u2028", "\x0c", "\x85", "\x0b"])
def test_lines_end_at_lf_alone(char: str) -> None:
    shown = unified(b"", f"a{char}b\nc\n".encode(), "a.md")
    assert "@@ -0,0 +1,2 @@" in shown
    assert "no newline" not in shown


def test_changed_ends_of_lines_are_shown() -> None:
    assert unified(b"one\n", b"one\r\n", "a.md") != ""


@pytest.mark.parametrize("before", [b"\xff", b"ok\n"])
def test_bytes_that_are_no_text_give_one_line(before: bytes) -> None:
    assert unified(before, b"\xff\xfe", "a.md").count("\n") == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"x" * 1_000_000),
        (b"", "é\n".encode() * 3900),
        (b"a\n" * 1000, b"b\n" * 1000),
        ("é".encode() * 20_000 + b"\n", b"x"),
        (b"a\n" * 100_000, b"b\n" * 100_000),
        (b"a\nb\n" * 950, b"b\na\n" * 950),
    ],
)
def test_a_diff_has_at_most_16_kib_and_is_quick(before: bytes, after: bytes) -> None:
    began = time.perf_counter()
    shown = unified(before, after, "a.md")
    assert 0 < len(shown.encode()) <= MAX_BYTES
    assert shown.endswith("\n")
    assert time.perf_counter() - began < 3


def test_what_is_cut_says_so() -> None:
    assert "more lines" in unified(b"", b"line\n" * 3900, "a.md").splitlines()[-1]
