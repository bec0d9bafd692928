"""The scan without an index: the quick ways through a note's words find what the slow ones do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.fallback import _Means
from index.question import read
from index.words import Lexicon, pattern, raw_words

_QUESTION = "dying Apples in getUserName of node-7, naïve gebouwd x"
_TOLD = raw_words(
    "dying died die Die APPLES apple appling applesauce getUserName username user_name node node-7 7 naïve naive NAIVE "
    "gebouwd bouw bouwen x X xylophone the of zebra Nodes noDe Getting gets ŉode"
)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_the_words_of_ascii_text_are_those_of_the_expression(text: str) -> None:
    assert raw_words(text) == pattern(text).findall(text)


@pytest.mark.parametrize("language", ["english", "dutch", "german", "spanish"])
@given(
    raws=st.lists(
        st.sampled_from(_TOLD) | st.text("adnguxADNGUX", min_size=1, max_size=6).filter(str.isalpha), max_size=30
    )
)
def test_words_that_go_by_one_expression_are_no_terms(language: str, raws: list[str]) -> None:
    lexicon = Lexicon(language)
    meanings = {term: number for number, word in enumerate(read(_QUESTION, lexicon).words) for term in word.terms}
    quick = _Means(meanings, lexicon.tongue())
    slow = _Means(meanings, lexicon.tongue())
    slow._others = None
    words = [word for raw in raws for word in raw_words(raw)]
    assert quick.among(words) == slow.among(words)
    assert quick.among(words[::-1]) == slow.among(words[::-1])
    assert slow.among(raw_words("dying apples"))
