"""Paths and hashes: every spelling that is refused, and what holding a ``NotePath`` proves."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muninn.model.content import (
    MISSING,
    BadPath,
    ContentHash,
    NotePath,
    basis,
    is_temporary,
    new_name_faults,
    same_name,
)
from tests.conftest import path

E_ACUTE = "\u00e9"
E_DECOMPOSED = "e\u0301"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/a.md",
        "a/",
        "a//b.md",
        ".",
        "..",
        "./a.md",
        "../a.md",
        "a/../b.md",
        "a/./b.md",
        "a\\b.md",
        ".git/a.md",
        "a/.hidden.md",
        ".md",
        " a.md",
        "a.md ",
        "a /b.md",
        "a/ b.md",
        "a\x00.md",
        "a\n.md",
        "a\t.md",
        "a\x7f.md",
        "a\x85.md",
        "a\u2028.md",
        "a\u2029.md",
        "a\ud800.md",
        *(f"a{char}.md" for char in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    ],
)
def test_refused_for_every_use(text: str) -> None:
    assert isinstance(NotePath.parse(text), BadPath)


@pytest.mark.parametrize(
    "text",
    ["a.md", "a/b/c.md", "a b.md", "a..md", "C:/a.md", "x.pdf", "日本/メモ.md", "a#b[c].md", "👩‍💻.md"],
)
def test_taken_as_it_is(text: str) -> None:
    assert NotePath.parse(text) == text


def test_the_reason_names_an_odd_character() -> None:
    found = NotePath.parse("a\u202eb.md")
    assert isinstance(found, BadPath)
    assert "U+202E" in found.why


def test_both_unicode_forms_are_one_path() -> None:
    assert path(f"caf{E_DECOMPOSED}.md") == path(f"caf{E_ACUTE}.md") == f"caf{E_ACUTE}.md"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("a" * 252 + ".md", True),
        ("a" * 253 + ".md", False),
        (E_ACUTE * 126 + ".md", True),
        (E_ACUTE * 127 + ".md", False),
        ("/".join(["a" * 249] * 4), True),
        ("/".join(["a" * 249] * 3 + ["a" * 250]), True),
        ("/".join(["a" * 249] * 3 + ["a" * 251]), False),
    ],
)
def test_the_edges_of_255_and_1000_bytes(text: str, taken: bool) -> None:
    assert isinstance(NotePath.parse(text), NotePath) is taken


@given(st.text())
def test_parse_never_raises(text: str) -> None:
    NotePath.parse(text)


_SEGMENT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@given(st.lists(_SEGMENT, min_size=1, max_size=4).map("/".join))
def test_what_is_parsed_is_relative_nfc_and_without_dot_segments(text: str) -> None:
    found = NotePath.parse(text)
    if isinstance(found, BadPath):
        return
    assert unicodedata.is_normalized("NFC", found)
    assert not found.startswith("/")
    assert all(part and not part.startswith(".") and part.strip(" ") == part for part in found.split("/"))
    assert NotePath.parse(found) == found


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        (f"caf{E_DECOMPOSED}.md", "NFC"),
        ("a.txt", ".md"),
        ("a.MD", ".md"),
        ("a", ".md"),
        *((f"a{char}b.md", char) for char in ':*?"<>|#^[]'),
        ("a:b/c.md", ":"),
        ("con.md", "device"),
        ("CON.md", "device"),
        ("aux/a.md", "device"),
        ("a/nul.tar.md", "device"),
        ("com1.md", "device"),
        ("COM¹.md", "device"),
        ("lpt9.md", "device"),
        ("conin$.md", "device"),
        ("prn .md", "device"),
        ("~$a.md", "temporary"),
    ],
)
def test_refused_for_a_new_note_only(typed: str, word: str) -> None:
    assert isinstance(NotePath.parse(typed), NotePath)
    assert any(word in fault for fault in new_name_faults(typed))


@pytest.mark.parametrize("typed", ["a.md", "console.md", "com10.md", "com.md", "lpt/a.md", "nulls/a.md", "a b/c.md"])
def test_free_for_a_new_note(typed: str) -> None:
    assert new_name_faults(typed) == ()


def test_all_faults_of_a_name_are_named() -> None:
    assert len(new_name_faults("con/a?.txt")) == 3


def test_parts_of_a_path() -> None:
    found = path("a/b/c.md")
    assert (found.folder, found.name, found.stem, found.folders) == ("a/b", "c.md", "c", ("a", "a/b"))
    assert (path("c.md").folder, path("c.md").folders) == ("", ())


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("a (conflicted copy 2026-05-04).md", True),
        ("a (Ada's conflicted copy).md", True),
        ("a.sync-conflict-20260504-AB.md", True),
        ("a conflicted.md", False),
    ],
)
def test_conflict_copies_are_known(name: str, copy: bool) -> None:
    assert path(name).is_conflict_copy is copy


@pytest.mark.parametrize(("name", "temporary"), [("a.tmp", True), ("~$a.md", True), ("a.md", False), ("tmp.md", False)])
def test_temporary_names(name: str, temporary: bool) -> None:
    assert is_temporary(name) is temporary


@pytest.mark.parametrize(
    ("one", "other"),
    [("README.md", "readme.MD"), (f"CAF{E_ACUTE.upper()}", f"caf{E_DECOMPOSED}"), ("straße", "STRASSE")],
)
def test_one_name_in_two_spellings(one: str, other: str) -> None:
    assert same_name(one) == same_name(other)


def test_a_hash_is_of_the_exact_bytes() -> None:
    assert ContentHash.of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert len({ContentHash.of(content) for content in (b"a", b"a\n", b"a\r\n", b"\xef\xbb\xbfa", b"a ")}) == 5


@pytest.mark.parametrize("text", ["", "missing", "A" * 64, "a" * 63, "a" * 65, "g" * 64, "a" * 64 + "\n", "１" * 64])
def test_no_hash(text: str) -> None:
    assert ContentHash.parse(text) is None


def test_a_basis_is_a_hash_or_missing() -> None:
    assert basis("missing") is MISSING
    assert basis("a" * 64) == "a" * 64
    assert basis("Missing") is None
    assert str(MISSING) == "missing"


@given(st.text(max_size=12), st.sampled_from(["", "a", "é/b"]))
def test_a_name_below_a_checked_folder_is_judged_as_its_whole_path(name: str, folder: str) -> None:
    if "/" not in name:
        full = f"{folder}/{name}" if folder else name
        assert NotePath.below(folder, name) == NotePath.parse(full)
