"""Muninn: the door to a vault of plain Markdown notes. Importing this package wakes nothing."""

__version__ = "0.1.0"
