"""What a page is, and what its handler gets: a visit of somebody logged in.

To add a page, write a plain function and put a row into ``PAGES`` in ``pages.py``::

    def activity(visit: Visit) -> Response:
        found = reading.listing(visit.door, visit.rights, visit.ask("folder"), 1, False, None)
        return visit.refused(found) if isinstance(found, Refusal) else visit.page("activity.html", found=found)

    Page("/activity", activity, nav="Activity")
    Page("/undo", undo, method="POST", scope="write", under="/activity")

The handler runs in a worker thread and only for a session whose client has the scope. A POST's handler runs only once
the request is known to come from a page of this console (``forms.py``); its template holds ``{{ token() }}`` inside the
form. What may not be seen is refused as if it were not there: ask with ``visit.rights``, always.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlencode

from starlette.datastructures import ImmutableMultiDict, QueryParams
from starlette.responses import HTMLResponse, RedirectResponse, Response

from muninn.door import Door
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights

from .frame import Frame

ROOT: Final = "/console"
STATUS: Final = {
    Code.NOT_FOUND: 404,
    Code.UNKNOWN_ID: 404,
    Code.FORBIDDEN: 403,
    Code.TOO_LARGE: 413,
    Code.EXISTS: 409,
    Code.CONFLICT: 409,
    Code.VAULT_UNAVAILABLE: 503,
    Code.LEDGER_UNAVAILABLE: 503,
}
"""The HTTP status of a refusal; every other code is 400."""
_TITLES: Final = {
    403: "Not allowed",
    404: "Not here",
    409: "Something changed meanwhile",
    413: "Too large to show",
    503: "Not available now",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody logged in: at which door, with which rights, asking what."""

    door: Door
    rights: Rights
    query: QueryParams
    form: ImmutableMultiDict[str, str]
    csrf: str
    frame: Frame
    here: str = ""
    """The path of the navigation's entry that this page belongs to."""
    nav: tuple[tuple[str, str], ...] = ()

    def ask(self, name: str, default: str = "") -> str:
        """A value of the query, without white space around it."""
        return self.query.get(name, default).strip()

    def may(self, scope: str) -> bool:
        """Whether the client has a scope: what it lacks is not offered."""
        return scope in self.rights.scopes

    def page(self, template: str, status: int = 200, /, **values: Any) -> Response:
        """A page of the console around a template's blocks; every value is escaped where it is shown."""
        shown = {"visit": self, "rights": self.rights, "csrf": self.csrf, "here": self.here, "nav": self.nav} | values
        return HTMLResponse(self.frame.render(template, shown), status)

    def refused(self, refusal: Refusal) -> Response:
        """A refusal as a page with its own words."""
        status = STATUS.get(refusal.code, 400)
        title = _TITLES.get(status, "That was not understood")
        return self.page("refused.html", status, title=title, refusal=refusal)

    def go(self, path: str, /, **query: str) -> Response:
        """After a POST: go on at a page of the console, so that loading it again repeats nothing."""
        return RedirectResponse(address(path, **query), 303)


Handler = Callable[[Visit], Response]


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the console's table. ``path`` is below ``/console``; ``nav`` makes it an entry of the navigation,
    ``under`` names the entry that is lit where it is none itself; ``scope`` None is for any client."""

    path: str
    run: Handler
    nav: str = ""
    under: str = ""
    scope: str | None = "read"
    method: Literal["GET", "POST"] = "GET"

    def is_open_to(self, scopes: Collection[str]) -> bool:
        """Whether a client with these scopes may see it."""
        return self.scope is None or self.scope in scopes


def address(path: str, /, **query: object) -> str:
    """The address of a page, ``address("/note", path="a b.md")``; None and empty values are left out."""
    found = {name: value for name, value in query.items() if value not in (None, "", False, ())}
    return f"{ROOT}{path}" + (f"?{urlencode(found, doseq=True)}" if found else "")
