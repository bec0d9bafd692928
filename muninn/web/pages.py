"""The console's table of pages: one row a page, in the order of the navigation. ``visit.py`` shows how to add one."""

from __future__ import annotations

from typing import Final

from . import acting, browse, find, home, notes, watching
from .visit import Page

PAGES: Final = (
    Page("", home.home, nav="Home", scope=None),
    Page("/search", find.search, nav="Search"),
    Page("/browse", browse.browse, nav="Browse"),
    Page("/note", notes.note, under="/browse"),
    Page("/history", notes.history, under="/browse"),
    Page("/diff", notes.diff, under="/browse"),
    Page("/activity", watching.activity_page, nav="Activity"),
    Page("/undo", acting.undo_page, under="/activity", scope="write"),
    Page("/undo", acting.undo_done, under="/activity", scope="write", method="POST"),
    Page("/restore", acting.restore_page, under="/activity", scope="archive"),
    Page("/restore", acting.restore_done, under="/activity", scope="archive", method="POST"),
    Page("/bound", watching.bound_page, nav="Bound"),
    Page("/backups", watching.backups_page, nav="Backups", scope=None),
)
"""Every page but login and static files."""
