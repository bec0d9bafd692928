"""What a note must be: rules that publish and judge (``rules``), and the versioned whole (``contract``)."""

from .contract import Contract, build
from .rules import MAX_NOTE_BYTES, Finding, OwnerRules, Rule

__all__ = ["MAX_NOTE_BYTES", "Contract", "Finding", "OwnerRules", "Rule", "build"]
