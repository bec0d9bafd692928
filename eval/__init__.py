"""Ask a vault questions with known right notes, and say how often they are found. Run it: ``python -m eval``."""
