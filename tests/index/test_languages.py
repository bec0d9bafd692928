"""Languages: found out by a few words, said by the note itself, and searched in several at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from index import IndexSettings, languages, stems
from index.guessing import neighbours
from index.question import read
from index.words import Lexicon, Tongue
from muninn.searching import Asked
from muninn.settings import LANGUAGES
from tests.index.room import CLIENT, KEEPER, Room

SENTENCES = {
    "danish": "Jeg ved ikke, hvad der sker med de nye noter, og hvorfor de ikke bliver vist for mig",
    "dutch": "De ketel heeft te weinig druk en de kraan moet open, maar niet te lang, want dan loopt het over",
    "english": "The pressure of the boiler is too low and the tap must be opened for a while",
    "finnish": "Kattilan paine on liian pieni ja hana pitää avata, mutta se ei saa olla auki kuin hetken",
    "french": "La pression de la chaudière est trop basse et il faut ouvrir le robinet, mais pas pour longtemps",
    "german": "Der Druck im Kessel ist zu niedrig und der Hahn muss geöffnet werden, aber nicht zu lange",
    "hungarian": "A kazán nyomása túl alacsony, ezért ki kell nyitni a csapot, de csak kicsit, mert sok lesz",
    "italian": "La pressione della caldaia è troppo bassa e bisogna aprire il rubinetto, ma non per molto tempo",
    "norwegian": "Jeg vet ikke hva som skjer med de nye notatene, og hvorfor de ikke blir vist, noe som er rart",
    "portuguese": "A pressão da caldeira está baixa e é preciso abrir a torneira, mas não por muito tempo",
    "romanian": "Presiunea din cazan este prea mică și trebuie deschis robinetul, dar nu pentru mult timp",
    "russian": "Давление в котле слишком низкое, и надо открыть кран, но не на долгое время",
    "spanish": "La presión de la caldera está demasiado baja y hay que abrir la llave, pero no por mucho tiempo",
    "swedish": "Jag vet inte vad som händer med de nya anteckningarna och varför de inte visas för mig, något är fel",
    "turkish": "Kombinin basıncı çok düşük ve vananın açılması gerekiyor, ama bu uzun sürmez",
}


def test_every_language_of_the_settings_has_stemmer_and_stop_words() -> None:
    assert set(stems.languages()) == LANGUAGES == set(SENTENCES)
    for language in LANGUAGES:
        assert len(stems.stop_words(language)) > 50
        assert stems.stemmer(language) is not str


@pytest.mark.parametrize(("language", "sentence"), SENTENCES.items())
def test_a_sentence_tells_its_language(language: str, sentence: str) -> None:
    assert languages.of_text(sentence) == language
    assert languages.of_question(sentence)[0] == language


@pytest.mark.parametrize(
    "text", ["", "JWT-123", "kubernetes ingress timeout", "https://a.com/b.com?c.com", "園区夜間巡邏"]
)
def test_what_tells_nothing_is_of_no_language(text: str) -> None:
    assert languages.of_text(text) is None


@pytest.mark.parametrize(
    ("said", "language"),
    [("lang: es", "spanish"), ("language: Turkish", "turkish"), ('lang: "de-DE"', "german"), ("lang: xx", "english")],
)
def test_a_note_may_say_its_own_language(said: str, language: str) -> None:
    head = f"---\ntitle: x\n{said}\n---\n"
    text = head + SENTENCES["english"]
    assert languages.of_note(text, len(head)) == language
    # Only the frontmatter says so.
    assert languages.of_note(SENTENCES["english"] + f"\n{said}\n", 0) == "english"


def test_the_stemmer_sees_accents_and_the_index_does_not() -> None:
    spanish, turkish = Tongue("spanish"), Tongue("turkish")
    assert spanish.stem("canciones") == spanish.stem("canción") == "cancion"
    assert turkish.stem("ağacın") == turkish.stem("AĞAÇ") == "agac"
    assert turkish.stem("ISPARTA") == turkish.stem("ısparta")


def test_a_question_of_one_telling_word_keeps_what_english_may_mean() -> None:
    def content(text: str) -> list[str]:
        return [word.text for word in read(text, Lexicon()).words]

    assert content("die casting") == ["die", "casting"]
    assert content("Wo ist die Presse") == ["Presse"]
    assert content("presión de caldera") == ["presión", "caldera"]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    made = Room(tmp_path_factory.mktemp("languages"), fillers=6)
    for language, sentence in SENTENCES.items():
        made.put(f"{language}.md", f"# {language.title()}\n\n{sentence}.\n")
    made.put("es/conservas.md", "# Conservas\n\nHay que escaldar los tomates y llenar los frascos para el invierno.\n")
    made.put("tr/budama.md", "# Bahçe\n\nElma ağaçları şubatta budanır ve çapraz dallar kesilir.\n")
    made.put("de/protokoll.md", "# Akte\n\nDas Batteriewechselprotokoll ist nach dem Tausch für die Akte da.\n")
    made.put("de/wechsel.md", "# Räder\n\nDer Wechsel der Reifen ist im Herbst, und das Lager ist dann voll.\n")
    made.put("private/sauna.md", "# Sauna\n\nSaunassa on aina lämmintä, ja se on hyvä, kun on kylmä.\n")
    made.sweep()
    yield made
    made.index.close()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("conservando un tomate", "es/conservas.md"),
        ("¿Cómo se llenó el frasco?", "es/conservas.md"),
        ("llenaron frascos", "es/conservas.md"),
        ("elma ağacını budamak", "tr/budama.md"),
        ("ELMA AĞACI", "tr/budama.md"),
        ("elma agaci", "tr/budama.md"),
        ("wo steht das Protokoll", "de/protokoll.md"),
        ("Reifenwechsel", "de/wechsel.md"),
        ("opening taps of boilers", "english.md"),
        ("кранов и котлов", "russian.md"),
        ("anteckning", "swedish.md"),
    ],
)
def test_a_question_finds_other_forms_in_its_own_language(room: Room, query: str, path: str) -> None:
    assert room.hits(query)[0] == path


def test_two_languages_in_one_vault_keep_their_own_stop_words(room: Room) -> None:
    words = [word.text for word in room.index.read("¿Qué hay que llenar para el invierno?").words]
    assert words == ["llenar", "invierno"]


def test_the_languages_of_private_notes_change_nothing_for_others(tmp_path: Path) -> None:
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    with_private, without = Room(tmp_path / "with"), Room(tmp_path / "without")
    for made in (with_private, without):
        made.put("a.md", "# A\n\nthe talossa of the boiler\n")
        made.put("b.md", "# B\n\nthe talo of the boiler\n")
    for number in range(30):
        with_private.put(f"private/n{number}.md", f"# N\n\n{SENTENCES['finnish']} talossa {number}\n")
    for made in (with_private, without):
        made.sweep()
    for query in ("taloissa", "talossa", "talon paine"):
        asked = Asked(query, explain=True)
        seen, bare = (
            [(hit.path, hit.score, hit.explain) for hit in made.ask(asked, CLIENT).hits]
            for made in (with_private, without)
        )
        assert seen == bare
    assert with_private.hits("taloissa", KEEPER)
    for made in (with_private, without):
        made.index.close()


def test_a_set_language_holds_for_every_note_and_question(tmp_path: Path) -> None:
    room = Room(tmp_path, IndexSettings(language="spanish"))
    room.put("a.md", f"# A\n\n{SENTENCES['english']}\n")
    room.sweep()
    assert {tongue.language for tongue in room.index.read("the boilers are old").tongues} == {"spanish"}
    with room.index.public() as shelf:
        marks = {term for (term,) in shelf.execute("SELECT term FROM words WHERE term LIKE '~~_%'")}
    assert marks == {"~~spanish"}
    room.index.close()


def test_neighbours_are_one_step_away() -> None:
    near = neighbours("gate")
    assert {"gat", "agte", "gats", "gates", "grate", "ate"} <= near
    assert "gate" not in near
    assert "gaet" in near
    assert "get" not in near
