"""The bundled set of questions; what a set is, and how it is asked, stands in ``muninn.questions``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muninn.questions import Half, Question, Questions, half_of, load

__all__ = ["BUNDLED", "Half", "Question", "Questions", "half_of", "load"]

BUNDLED: Final = Path(__file__).with_name("questions.json")
"""The frozen questions on the bundled vault."""
