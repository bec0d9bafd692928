"""Scripts in an engine of their own, in a process of their own, with nothing but functions that were handed in."""

from .engine import Ask, Engine, Limits, Returned, Stopped, Usage
from .process import NoEngineError
from .trail import Citation, Gap

__all__ = ["Ask", "Citation", "Engine", "Gap", "Limits", "NoEngineError", "Returned", "Stopped", "Usage"]
