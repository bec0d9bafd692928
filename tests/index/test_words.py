"""Words and their terms: folding, two forms, identifiers, runs without spaces, and what a question is made of."""

from __future__ import annotations

import doctest
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import folding, languages, question, stems, words
from index.passages import Finder, snippet, trace
from index.question import Question, read
from index.words import Lexicon, Tongue, fold, identifiers


@pytest.mark.parametrize("module", [words, stems, question, folding, languages])
def test_examples_of_the_docstrings_run(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "folded"),
    [("ISPARTA", "isparta"), ("ısparta", "isparta"), ("İzmir", "izmir"), ("Ünïcode", "unicode"), ("Straße", "strasse"),
     ("Łódź", "lodz"), ("서버", "서버"), ("棚卸し", "棚卸し"), ("ﬁne", "fine")],
)  # fmt: skip
def test_fold(word: str, folded: str) -> None:
    assert fold(word) == folded
    assert fold(unicodedata.normalize("NFD", word)) == folded


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing_more_in_a_term(text: str) -> None:
    for term in Tongue("english").column(text).split():
        assert '"' not in term
        assert "\0" not in term


def test_a_column_holds_the_stems_and_the_parts() -> None:
    terms = Tongue("english").column("The measuring of a_b.c and getUserName in JWT-123").split()
    assert {"measur", "a_b.c", "jwt-123", "user", "jwt", "123"} <= set(terms)
    assert "~measu" not in terms
    assert "the" not in terms
    assert "the" in Tongue("english").column("The measuring", with_common=True).split()


@given(st.text(max_size=60))
def test_every_second_form_is_the_beginning_of_a_term(text: str) -> None:
    lexicon = Tongue("english")
    terms = lexicon.column(text, with_common=True).split()
    for raw in words.raw_words(text):
        for short in lexicon[raw].short.split():
            assert any(term.startswith(short[1:]) for term in terms)


@pytest.mark.parametrize("language", [known for known in stems.languages() if stems.keeps_first_letter(known)])
@given(word=st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12))
def test_a_stemmer_that_keeps_the_first_letter_keeps_it(language: str, word: str) -> None:
    assert stems.stemmer(language)(word)[:1] == word[0]


@pytest.mark.parametrize("text", ["Fix JWT-123 in gate-keeper today", "fix \u201cJWT-123\u201d in gate-keeper today"])
def test_words_stay_neighbours_beside_names(text: str) -> None:
    assert Tongue("english").column(text).split()[:6] == ["fix", "jwt", "123", "gate", "keeper", "today"]


def test_what_was_remembered_can_be_given_back() -> None:
    lexicon = Tongue("english")
    before = lexicon.column("measuring a_b.c", with_common=True)
    lexicon.forget()
    assert not lexicon
    assert lexicon.column("measuring a_b.c", with_common=True) == before


@pytest.mark.parametrize(
    ("text", "found"),
    [("v2.1 and 1.2.3-rc.1.", ["v2.1", "1.2.3-rc.1"]), ("C++ C# c", ["c++", "c#"]), ("well-known end.", []),
     ("a" * 70 + ".b", []), ("std::vector", []), ("mail a@b.c", ["a@b.c"])],
)  # fmt: skip
def test_identifiers(text: str, found: list[str]) -> None:
    assert identifiers(text) == found


@pytest.mark.parametrize("unit", ["a-", "#", ".", "a.", "+", "a_", "A", "園"])
def test_hostile_text_takes_no_longer_than_its_length(unit: str) -> None:
    begun = time.process_time()
    Tongue("english").column(unit * (200_000 // len(unit)))
    assert time.process_time() - begun < 2


def asked(text: str) -> Question:
    return read(text, Lexicon())


def test_a_question_keeps_each_word_once_and_cuts_at_64() -> None:
    assert [word.text for word in asked("gate gates of the GATE").words] == ["GATE"]
    long = asked(" ".join(f"w{number}x" for number in range(65)))
    assert long.cut
    assert len(long.words) == 64
    assert not asked(" ".join(f"w{number}x" for number in range(64)) + " ...").cut
    assert asked("to be or not").common
    assert asked("?!").words == ()


def finder(text: str) -> tuple[Finder, int]:
    lexicon = Lexicon()
    found = read(text, lexicon)
    terms = {term: number for number, word in enumerate(found.words) for term in word.terms}
    return Finder(found, terms, lexicon), len(found.words)


@pytest.mark.parametrize(
    ("query", "text", "held"),
    [
        ("tank valves", "The TANKS and a valve", {0, 1}),
        ("tank", "a thinktank vacant", set()),
        ("happy days", "happiness of the day", {0, 1}),
        ("夜间巡逻", "园区夜间巡逻值班", {0}),
        ("decrire", "d\u00e9crire", {0}),
        ("\u0131l\u0131k", "ILIK", {0}),
        ("b", "a_b.c", {0}),
    ],
)  # fmt: skip
def test_finder(query: str, text: str, held: set[int]) -> None:
    found, _ = finder(query)
    assert found.numbers(text) == held
    for start, end, _ in found.places(text):
        assert 0 <= start < end <= len(text)


def test_best_passage_and_nearness() -> None:
    text = "alpha " + "x " * 500 + "alpha beta gamma " + "x " * 500 + "gamma"
    found, count = finder("alpha beta gamma")
    traces = trace(text, 0, found, (1.0,) * count)
    assert traces.passage == pytest.approx(1.0)
    assert text[traces.start : traces.end] == "alpha beta gamma"
    assert traces.near == 1.0
    far = trace("alpha " + "x " * 500 + "beta", 0, found, (1.0,) * count)
    assert far.near == 0.0
    assert far.passage == pytest.approx(1 / 3)


@given(st.text(max_size=300), st.text(max_size=20))
def test_snippets_of_any_text_stand_in_it(text: str, query: str) -> None:
    found, count = finder(query or "x")
    traces = trace(text, 0, found, (1.0,) * max(count, 1))
    cut = snippet(text, 0, traces.start, traces.end)
    assert cut.text in text
    assert len(cut.text) <= 400
    assert cut.text in "\n".join(text.split("\n")[cut.start_line - 1 : cut.end_line])


@pytest.mark.parametrize("language", ["english", "turkish", "german"])
@given(chunk=st.from_regex(r"[A-Za-z][a-z]{0,70}", fullmatch=True))
def test_a_plain_word_is_told_as_any_other(language: str, chunk: str) -> None:
    tongue = words.Tongue(language)
    assert tongue.column(chunk).split() == tongue.column(f"{chunk}-").split()
