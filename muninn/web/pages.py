"""The console's table of pages: one row a page, in the order of the navigation. ``visit.py`` shows how to add one."""

from __future__ import annotations

from typing import Final

from . import browse, find, home, notes
from .visit import Page

PAGES: Final = (
    Page("", home.home, nav="Home", scope=None),
    Page("/search", find.search, nav="Search"),
    Page("/browse", browse.browse, nav="Browse"),
    Page("/note", notes.note, under="/browse"),
    Page("/history", notes.history, under="/browse"),
    Page("/diff", notes.diff, under="/browse"),
)
"""Every page but login and static files."""
