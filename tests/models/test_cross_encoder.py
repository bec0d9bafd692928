"""The real path of a cross-encoder, with a real model that is made here: two layers that learn a few pairs by heart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from index.models import Models
from index.public import public_text
from index.rerank import Reranker
from muninn import thinking, weights
from muninn.model.errors import SettingsError
from muninn.model.hits import Found
from muninn.searching import Asked, search
from muninn.settings import Places, Settings, read_file
from tests.index.room import CLIENT, Room, note_path

torch: Any = pytest.importorskip("torch", reason="NOT RUN: the extra rerank is not installed")
transformers: Any = pytest.importorskip("transformers", reason="NOT RUN: the extra rerank is not installed")

WORDS = ["lamp", "night", "harbour", "day", "buoy", "light", "green", "red", "which", "is", "lit", "at", "the", "by"]
PAIRS = {
    ("which light is lit at night", "lamp by the harbour at night green"): 1.0,
    ("which light is lit at night", "lamp by the harbour at night red"): 0.0,
    ("which light is lit at night", "lamp lamp by the harbour at night green"): 1.0,
    ("which light is lit at night", "lamp lamp by the harbour at night red"): 0.0,
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of some 190 kB, as safetensors."""
    folder = tmp_path_factory.mktemp("tiny") / "cross"
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokenizer = transformers.BertTokenizerFast(vocab={word: number for number, word in enumerate(vocabulary)})
    torch.manual_seed(7)
    shape = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=128, num_labels=1,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(shape)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    questions, texts = zip(*PAIRS, strict=True)
    batch = tokenizer(list(questions), list(texts), padding=True, return_tensors="pt")
    wanted = torch.tensor(list(PAIRS.values()))
    loss = torch.tensor(1.0)
    for _ in range(400):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(**batch).logits[:, 0], wanted)
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.2
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


def loaded(places: Places) -> Models:
    models = thinking.models_of(Settings(places, read_file(places.home / "none.toml")))
    worker = models.reranking.worker
    assert worker is not None
    assert worker.wait_ready(120), worker.reason
    return models


def test_it_scores_what_it_learned_from_the_copy_in_the_cache(tiny: Path, places: Places) -> None:
    record = weights.add(places, str(tiny))
    assert (record.kind, record.backend) == ("reranker", "sentence-transformers")
    models = loaded(places)
    worker = models.reranking.worker
    assert worker is not None
    model: Reranker = worker.thing()
    handed = [public_text(note_path("w/a.md"), text, lambda path: False) for _, text in PAIRS]
    scores = model.score(next(iter(PAIRS))[0], [text for text in handed if text is not None])
    assert [score > 0.5 for score in scores] == [wanted > 0.5 for wanted in PAIRS.values()]
    models.close()


def test_it_turns_a_close_call_round(tiny: Path, places: Places, tmp_path: Path) -> None:
    weights.add(places, str(tiny))
    models = loaded(places)
    (tmp_path / "room").mkdir()
    room = Room(tmp_path / "room")
    room.put("l/a.md", "# Lamp\n\nlamp by the harbour at night red\n")
    room.put("l/b.md", "# Lamp\n\nlamp by the harbour at night green\n")
    room.sweep()
    plain = room.ask("which light is lit at night")
    found = search(room.index, room.look, room.walk, CLIENT, Asked("which light is lit at night"), models)
    assert isinstance(found, Found)
    assert [hit.path for hit in plain.hits][:2] == ["l/a.md", "l/b.md"]
    assert found.reranked == "yes"
    assert [hit.path for hit in found.hits][:2] == ["l/b.md", "l/a.md"]
    models.close()
    room.index.close()


def test_a_pickle_beside_it_is_not_read_and_a_pickle_alone_is_refused(
    tiny: Path, places: Places, tmp_path: Path
) -> None:
    folder = tmp_path / "pickled"
    folder.mkdir()
    for file in tiny.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04not even a pickle")
    record = weights.add(places, str(folder))
    assert "pytorch_model.bin" not in record.files
    loaded(places).close()
    (folder / "model.safetensors").unlink()
    with pytest.raises(SettingsError, match="pickle"):
        weights.add(places, str(folder))
    from index.torch_models import CrossEncoderReranker

    with pytest.raises(OSError, match="safetensors"):
        CrossEncoderReranker(folder)


def test_a_changed_weight_is_not_loaded(tiny: Path, places: Places) -> None:
    weights.add(places, str(tiny))
    file = weights.folder_of(places, "reranker") / "model.safetensors"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    worker = thinking.models_of(Settings(places, read_file(places.home / "none.toml"))).reranking.worker
    assert worker is not None
    assert not worker.wait_ready(60)
    assert "is not the file that was added" in worker.reason


def test_a_classifier_of_several_classes_is_no_reranker(tiny: Path, places: Places, tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    folder.mkdir()
    for file in tiny.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    shape = transformers.BertConfig(**json.loads((tiny / "config.json").read_text()) | {"num_labels": 3})
    transformers.BertForSequenceClassification(shape).save_pretrained(folder, safe_serialization=True)
    weights.add(places, str(folder))
    worker = thinking.models_of(Settings(places, read_file(places.home / "none.toml"))).reranking.worker
    assert worker is not None
    assert not worker.wait_ready(60)
    assert "one number" in worker.reason
