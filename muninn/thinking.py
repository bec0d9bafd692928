"""The models a gateway asks, as the settings and what was added name them. Made without loading any."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Final

from index.encoding import Encoder
from index.models import Models
from index.rerank import NO_RERANKING, ByMeaning, Reranker, Reranking, load
from index.rerank_http import Address, HttpReranker, parse
from index.semantic import Semantic
from index.waiting import Worker
from muninn import weights
from muninn.model.errors import SettingsError
from muninn.settings import Places, Settings
from muninn.weights import Record

_LEAST_TOKEN: Final = 8
_LOAD_S: Final = 300.0
SHARE_OF_WORDS: Final = 0.5
"""How much of a close call's order single words have; the rest is the score so far (docs/explain/search.md)."""


def models_of(settings: Settings) -> Models:
    """What the owner added and did not switch off. Raises SettingsError where a setting of theirs is wrong."""
    added = weights.records(settings.places.home)
    encoder = added.get("encoder")
    semantic = _semantic(settings, encoder)
    return Models(semantic, _reranking(settings, added.get("reranker"), encoder, semantic))


def _semantic(settings: Settings, record: Record | None) -> Semantic | None:
    if record is None or not settings.values["search.hybrid"]:
        return None
    return Semantic(Worker("encoder", partial(_encoder, settings.places, record)), settings.places.cache)


def _reranking(
    settings: Settings, record: Record | None, encoder: Record | None, semantic: Semantic | None
) -> Reranking:
    """A cross-encoder or an endpoint. Without one, an encoder that was added orders close calls: word by word beside
    vectors, where its words can be had, and as a whole where vectors are switched off."""
    budget_s = settings.values["rerank.budget_ms"] / 1000
    if settings.test_reranker is not None:
        return Reranking(Worker("reranker", load(partial(_stub, settings.test_reranker))), budget_s)
    if not settings.values["search.rerank"]:
        return NO_RERANKING
    if settings.values["rerank.url"]:
        endpoint = HttpReranker(_address(settings), budget_s, _token(settings), settings.values["rerank.model"])
        return Reranking(Worker("reranker", load(lambda: endpoint)), budget_s)
    if record is None and encoder is not None and encoder.backend == "onnx" and semantic is not None:
        return Reranking(Worker("reranker", load(partial(_by_words, semantic))), budget_s, SHARE_OF_WORDS)
    if record is None and encoder is not None and semantic is None:
        return Reranking(Worker("reranker", load(partial(_by_meaning, settings.places, encoder))), budget_s)
    if record is None:
        return NO_RERANKING
    return Reranking(Worker("reranker", load(partial(_cross_encoder, settings.places, record))), budget_s)


def _address(settings: Settings) -> Address:
    found = parse(settings.values["rerank.url"], allow_plain=settings.values["rerank.allow_plain"])
    if isinstance(found, str):
        raise SettingsError(f"rerank.url: {found}")
    return found


def _token(settings: Settings) -> str | None:
    """The endpoint's token: from the environment, or from a file that its owner alone can read."""
    if settings.rerank_token is not None:
        return _checked(settings.rerank_token, "MUNINN_RERANK_TOKEN")
    if settings.values["rerank.token_file"] is None:
        return None
    file = Path(settings.values["rerank.token_file"]).expanduser()
    try:
        if os.stat(file).st_mode & 0o077:
            raise SettingsError(f"rerank.token_file: {file} can be read by others; run: chmod 600 {file}")
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"rerank.token_file: {file} cannot be read ({type(error).__name__})") from error
    return _checked(text, "rerank.token_file")


def _checked(token: str, source: str) -> str:
    if len(token) < _LEAST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        raise SettingsError(f"{source}: expected at least {_LEAST_TOKEN} printable ASCII characters without a space")
    return token


# --- loaded in the background -----------------------------------------------------------------------


def _encoder(places: Places, record: Record) -> Encoder:
    folder = _whole(places, record)
    if record.backend == "onnx":
        from index.onnx_encoder import OnnxEncoder

        return OnnxEncoder(folder, record.digest)
    from index.torch_models import SentenceEncoder

    return SentenceEncoder(folder, record.digest)


def _cross_encoder(places: Places, record: Record) -> Reranker:
    from index.torch_models import CrossEncoderReranker

    return CrossEncoderReranker(_whole(places, record))


def _by_words(semantic: Semantic) -> Reranker:
    """The encoder that vectors are made with, once it is loaded: it is held in memory once."""
    from index.onnx_encoder import ByWords, OnnxEncoder

    if not semantic.worker.wait_ready(_LOAD_S):
        raise SettingsError(f"the encoder cannot be loaded: {semantic.worker.reason or 'it takes too long'}")
    encoder = semantic.worker.thing()
    if not isinstance(encoder, OnnxEncoder):
        raise SettingsError("the encoder gives no vectors of single words")
    return ByWords(encoder)


def _by_meaning(places: Places, record: Record) -> Reranker:
    return ByMeaning(_encoder(places, record))


def _whole(places: Places, record: Record) -> Path:
    """The model's folder, its files compared with those that were added."""
    fault = weights.check(places, record)
    if fault is not None:
        raise SettingsError(fault)
    return weights.folder_of(places, record.kind)


def _stub(file: Path) -> Reranker:
    from muninn.stub_reranker import StubReranker

    return StubReranker(file)
