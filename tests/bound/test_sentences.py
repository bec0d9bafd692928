"""Sentences with their lines, and which of them are nearly the same."""

from __future__ import annotations

import time

import pytest

from index.words import Lexicon
from muninn.bound import sentences
from muninn.model import note as notes
from tests.conftest import note_text, path


def of(body: str) -> list[tuple[int, str]]:
    found = sentences.of(notes.parse(path("a.md"), note_text(body)))
    return [(one.line - 7, one.text) for one in found]


def test_sentences_have_the_line_they_begin_on() -> None:
    body = "# Head\nThe port is 8443. It was\nchanged in May! And so\n\n- one\n- two. Twice.\n\n| a | b |\nlast"
    assert of(body) == [
        (1, "# Head"),
        (2, "The port is 8443."),
        (2, "It was changed in May!"),
        (3, "And so"),
        (5, "- one"),
        (6, "- two."),
        (6, "Twice."),
        (8, "| a | b | last"),
    ]
    assert of("") == []
    assert of("門は一つ。港は八四四三。") == [(1, "門は一つ。"), (1, "港は八四四三。")]


def test_managed_lines_are_none() -> None:
    assert of("Before.\n<!-- muninn:index -->\n- port is 8443\n<!-- /muninn:index -->\n")[0] == (1, "Before.")
    assert not any("8443" in text for _, text in of("<!-- muninn:index -->\n- port is 8443\n<!-- /muninn:index -->\n"))


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("the port is 8443", "Port: 8443.", True),
        ("The gateway listens on port 8443", "- Gateways listen on the port 8443", True),
        ("the port is 8443", "the port is 8080", False),
        ("the port is 8443", "the port of the harbour has 8443 boats", False),
        ("port", "port", False),
        ("", "", False),
    ],
)
def test_nearly_the_same(one: str, other: str, near: bool) -> None:
    tongue = Lexicon("english").tongue()
    assert sentences.near(sentences.words(one, tongue), sentences.words(other, tongue)) is near


@pytest.mark.parametrize("unit", ["a ", '."', ". ", ".\n", "# \n", "- x\n", "!?", "\n"])
def test_any_text_is_cut_in_linear_time(unit: str) -> None:
    note = notes.parse(path("a.md"), note_text(unit * (400_000 // len(unit))))
    begun = time.process_time()
    for _ in sentences.of(note):
        pass
    assert time.process_time() - begun < 4
