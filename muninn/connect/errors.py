"""What can be wrong with a file that a configuration is to go into."""

from __future__ import annotations

from muninn.model.errors import MuninnError


class ConfigError(MuninnError):
    """A client's file cannot be read, or not be changed without a loss. Nothing was changed."""
