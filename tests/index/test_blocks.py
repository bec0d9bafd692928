"""Passages of notes: never too many, never too long, headings with what stands under them."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from index.blocks import MOST_PASSAGES, MOST_WORDS, passages, starts


def test_title_description_heading_and_block() -> None:
    text = "# Start\n\n" + "alpha " * 60 + "\n\n## Costs\n\n" + "beta " * 60
    first, second = passages("Ferry", "boats of the bay", text)
    assert first.startswith("Ferry (boats of the bay). Start. alpha alpha")
    assert second.startswith("Ferry (boats of the bay). Costs. beta beta")


def test_short_sections_are_joined() -> None:
    (only,) = passages("Ferry", "", "# One\n\nalpha\n\n# Two\n\nbeta\n")
    assert only == "Ferry. One. alpha Two. beta"


def test_signs_and_targets_of_links_are_left_out_and_fences_hold_no_headings() -> None:
    (only,) = passages("T", "", "see [the *plan*](https://example.org/a) and `code`\n```\n# no heading\n```\n")
    assert only == "T. see the plan and code # no heading"


def test_a_note_without_a_body_is_its_title() -> None:
    assert passages("Ferry", "boats", " \n\n") == ["Ferry (boats)"]


def test_a_long_note_gives_larger_blocks_before_it_is_cut() -> None:
    found = passages("T", "", " ".join(f"w{number}" for number in range(1_800)))
    assert len(found) == MOST_PASSAGES
    assert "w1799" in found[-1]
    longer = passages("T", "", " ".join(f"w{number}" for number in range(20_000)))
    assert len(longer) == MOST_PASSAGES
    assert max(len(text.split()) for text in longer) <= MOST_WORDS + 1


@given(st.text(max_size=400), st.text(max_size=40), st.text(alphabet="# \n`~[]()ab", max_size=400))
def test_any_text_gives_a_few_passages(title: str, description: str, body: str) -> None:
    found = passages(title, description, body)
    assert 1 <= len(found) <= MOST_PASSAGES
    assert all(len(text) <= 2_000 for text in found)
    assert found == passages(title, description, body)
    places = starts(body)
    assert len(places) == len(found)
    assert places == sorted(places)
    assert all(0 <= place <= len(body) for place in places)


def test_odd_texts_take_no_longer() -> None:
    for unit in ("](", "# ", "```\n", "[a](", "#", "](a"):
        began = time.process_time()
        passages("T", "", unit * (200_000 // len(unit)))
        assert time.process_time() - began < 2, unit


def test_each_passage_begins_where_it_says() -> None:
    body = "intro\n\n# One\n\n" + "alpha " * 100 + "\n\n# Two\n\n" + "beta\n" * 200
    texts, places = passages("T", "", body), starts(body)
    assert len(texts) == len(places) > 2
    for text, place in zip(texts[1:], places[1:], strict=True):
        assert body[place:].lstrip("# ").split()[0] in text
