"""Tests with real models. They need the extras and packages with weights: run them by ``make test-model``."""
