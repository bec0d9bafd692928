"""A reranker for tests that turns the given order round, and writes down every text it is handed.

Loaded only when MUNINN_TEST=1 and MUNINN_TEST_RERANKER names a file: for each call one line
``{"call": n, "question": …}``, and one line for each text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from index.public import PublicText


class StubReranker:
    """Scores so that the given order is turned round."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._calls = 0

    def score(self, question: str, texts: Sequence[PublicText]) -> Sequence[float]:
        """Higher, the later in the order."""
        self._calls += 1
        lines = [{"call": self._calls, "question": question}, *(text.text for text in texts)]
        with self._file.open("a", encoding="utf-8") as written:
            written.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        return [float(number) for number in range(len(texts))]
