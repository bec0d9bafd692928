"""A bi-encoder that onnxruntime runs: no PyTorch. The one room of ``onnxruntime`` and ``tokenizers`` (the extra
``semantic``).

Word pieces, at most 256 of them; the mean of the last layer over the words that are there, at length one, as
sentence-transformers pools for all-MiniLM-L6-v2.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .encoding import Vector
from .public import PublicText

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
MOST_TOKENS: Final = 256
_LEAST_SIZE: Final = 8


class OnnxEncoder:
    """A model of two files in a folder. Its calls may run beside each other."""

    def __init__(self, folder: Path, key: str) -> None:
        """Load the model. Raises what the packages raise where a file is no model, ImportError without the extra."""
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        import numpy
        import onnxruntime
        from tokenizers import Tokenizer

        self.key = key
        self._numpy = numpy
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.enable_truncation(max_length=MOST_TOKENS)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        # One thread a call: a question is short, and what fills in the background must leave room for the door.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(folder / MODEL), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {found.name for found in self._session.get_inputs()}
        self.size = len(list(self.question("size")))
        if self.size < _LEAST_SIZE:
            raise ValueError(f"the model gives vectors of {self.size} numbers")

    def passages(self, texts: Sequence[PublicText]) -> Sequence[Vector]:
        """A vector for each text. One at a time: padding to the longest would cost more than a batch saves."""
        return [self._encode(text.text) for text in texts]

    def question(self, text: str) -> Vector:
        """The question's vector."""
        return self._encode(text)

    def tokens(self, text: str) -> NDArray[Any]:
        """A vector at length one for each word piece of a text, without the marks before and after them."""
        numpy = self._numpy
        hidden, _ = self._read(text)
        own = hidden[0, 1:-1]
        lengths = numpy.linalg.norm(own, axis=1, keepdims=True)
        pieces: NDArray[Any] = own / numpy.maximum(lengths, 1e-12)
        return pieces

    def _encode(self, text: str) -> Vector:
        numpy = self._numpy
        hidden, mask = self._read(text)
        weight = mask[..., None].astype(numpy.float32)
        mean = (hidden * weight).sum(axis=1)[0] / max(float(weight.sum()), 1.0)
        vector: Vector = (mean / max(float(numpy.linalg.norm(mean)), 1e-12)).astype(numpy.float32)
        return vector

    def _read(self, text: str) -> tuple[Any, Any]:
        """The last layer, and which of its places hold a word."""
        numpy = self._numpy
        read = self._tokenizer.encode(text)
        ids = numpy.array([read.ids], dtype=numpy.int64)
        mask = numpy.array([read.attention_mask], dtype=numpy.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        return self._session.run(None, {name: given[name] for name in self._inputs})[0], mask


class ByWords:
    """An encoder as a reranker of close calls: each word of the question beside the text's word that is nearest to it
    in meaning, the mean of these (MaxSim). Vectors of whole passages do not tell apart what stands in them."""

    def __init__(self, encoder: OnnxEncoder) -> None:
        self._encoder = encoder

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        """One number for each text; 0 where question or text has no word."""
        asked = self._encoder.tokens(question)
        return [_nearest(asked, self._encoder.tokens(text.text)) for text in texts]


def _nearest(asked: NDArray[Any], pieces: NDArray[Any]) -> float:
    return float((asked @ pieces.T).max(axis=1).mean()) if len(asked) and len(pieces) else 0.0
