"""Models that PyTorch runs, from a folder and from nowhere else: the one room of ``sentence-transformers`` (extra
``rerank``).

The hub is switched off before the package is imported, only files of the folder are read, weights only as safetensors,
and no code that a model brings along is run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .encoding import Vector
from .public import PublicText


def _offline() -> None:
    """Must come before the first import of the package: it reads these once."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


class CrossEncoderReranker:
    """A cross-encoder: reads the question and a text together. Raises what the packages raise where it cannot load."""

    def __init__(self, folder: Path) -> None:
        _offline()
        from sentence_transformers import CrossEncoder

        self._model: Any = CrossEncoder(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        if self._model.num_labels != 1:
            raise ValueError(f"a cross-encoder for ranking gives one number, this one {self._model.num_labels}")

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        """One number for each text."""
        pairs = [(question, text.text) for text in texts]
        return [float(score) for score in self._model.predict(pairs, show_progress_bar=False)]


class SentenceEncoder:
    """A bi-encoder in the form of sentence-transformers."""

    def __init__(self, folder: Path, key: str) -> None:
        _offline()
        from sentence_transformers import SentenceTransformer

        self.key = key
        self._model: Any = SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        self.size = len(list(self.question("size")))

    def passages(self, texts: Sequence[PublicText]) -> Sequence[Vector]:
        """A vector for each text, at length one."""
        return list(self._encode([text.text for text in texts]))

    def question(self, text: str) -> Vector:
        """The question's vector."""
        vector: Vector = self._encode([text])[0]
        return vector

    def _encode(self, texts: list[str]) -> Any:
        return self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
