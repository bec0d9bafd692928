"""The console's table of pages: one row a page, in the order of the navigation. ``visit.py`` shows how to add one."""

from __future__ import annotations

from typing import Any, Final

from . import home
from .visit import Page

PAGES: Final = (Page("", home.home, nav="Home", scope=None),)
"""Every page but login and static files."""

HELPERS: Final[dict[str, Any]] = {}
"""Functions that templates may call, beside ``to`` (an address) and ``static`` (a file's)."""
