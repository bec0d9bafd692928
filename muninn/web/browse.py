"""The vault's folders, one at a time, as far as the client may see them."""

from __future__ import annotations

from starlette.responses import Response

from muninn import reading
from muninn.model.refusal import Refusal

from .notes import crumbs
from .visit import Visit


def browse(visit: Visit) -> Response:
    """What lies in a folder, up to a page of it."""
    asked = visit.ask("folder").strip("/")
    folder = reading.parse_path(asked) if asked else ""
    if isinstance(folder, Refusal):
        return visit.refused(folder)
    found = reading.listing(visit.door, visit.rights, folder, 1, False, visit.ask("cursor") or None)
    if isinstance(found, Refusal):
        return visit.refused(found)
    return visit.page("browse.html", folder=folder, crumbs=crumbs(folder), found=found)
