"""The console as an ASGI app with an admission of its own: a cookie names a session, and nothing else counts here.

The gate hands it what is asked below ``/console``, after host, origin and size, and hands it nothing else: there is no
way from here to ``/mcp``. A bearer token is no use here, as a cookie is none there.
"""

from __future__ import annotations

import functools
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from muninn.asgi import Message, Receive, Scope, Send
from muninn.clients import Register
from muninn.door import Door
from muninn.lanes import Lane, Lanes
from muninn.model.refusal import Refusal
from muninn.recording import request_of
from muninn.refusals import guarded

from . import forms
from .frame import FOR_GOOD, HEADERS, NO_STORE, Frame
from .pages import PAGES
from .session import WHOLE_S, Admitted, Sessions, Tries
from .visit import ROOT, Page, Visit, address

log = logging.getLogger("muninn.console")

_WAY: Final = re.compile(r"/console(?:/(?!log)[a-z/]*)?(?:\?[\x21-\x5b\x5d-\x7e]*)?\Z")
"""Where a login may lead: a page of the console and no other place."""


def console(door: Door, register: Register, *, port: int = 0, behind_proxy: bool = False) -> Console:
    """The console of one door. ``port`` keeps the cookies of two gateways on one host apart."""
    return Console(door, Sessions(register), Tries(), port, behind_proxy)


class Console:
    """The console's pages, its login, and its static files."""

    def __init__(self, door: Door, sessions: Sessions, tries: Tries, port: int, behind_proxy: bool) -> None:
        self._door = door
        self._sessions = sessions
        self._tries = tries
        self._port = port
        self._behind_proxy = behind_proxy
        self._threads = Lanes()
        self._frame = Frame(to=address)
        routes = [
            Route(f"{ROOT}/", _without_slash, methods=["GET"]),
            Route(f"{ROOT}/login", self._login, methods=["GET", "POST"]),
            Route(f"{ROOT}/logout", self._logout, methods=["POST"]),
            Route(f"{ROOT}/static/{{hash}}/{{name}}", self._static, methods=["GET"]),
            *(Route(ROOT + page.path, self._opened(page), methods=[page.method]) for page in PAGES),
        ]
        self._app = Starlette(routes=routes, exception_handlers={HTTPException: self._no_page})
        self._app.router.redirect_slashes = False

    def admit(self, scope: Scope) -> Admitted | None:
        """Whose session the request's cookie names; None where nobody is logged in."""
        session_id = self._cookie(scope)
        return None if session_id is None else self._sessions.admit(session_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the headers go with every answer, also with one that says what broke."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = {name for name, _ in message["headers"]}
                more = [*HEADERS, *(() if b"cache-control" in named else ((b"cache-control", NO_STORE),))]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, send_with_headers)

    # --- pages -------------------------------------------------------------------------------------

    def _opened(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of a page: a session, its scope, and for a POST both guards, before the handler runs."""

        async def endpoint(request: Request) -> Response:
            admitted: Admitted | None = request.scope["state"].get("admitted")
            form: forms.Form = ImmutableMultiDict()
            if admitted is None:
                return self._sent_to_login(request) if page.method == "GET" else self._stranger(403)
            if page.method == "POST":
                found = await self._form(request)
                if found is None or not forms.carries_token(found, admitted.session):
                    return self._stranger(403, "not_ours")
                form = found
            visit = self._visit(request, page, admitted, form)
            if not page.is_open_to(visit.rights.scopes):
                return visit.page("lacking.html", 403, scope=page.scope)
            lane: Lane = "write" if page.method == "POST" else "read"
            told = {"request": request_of(request.scope), "page": page.path or "/", "client": visit.rights.client}
            answer: Response = await self._threads.run(
                visit.rights.client, functools.partial(_run, page, visit, told), lane
            )
            return answer

        return endpoint

    def _visit(self, request: Request, page: Page, admitted: Admitted, form: forms.Form) -> Visit:
        rights = admitted.client.rights(self._door.contract.private)
        nav = tuple((one.path, one.nav) for one in PAGES if one.nav and one.is_open_to(rights.scopes))
        here = page.path if page.nav else page.under
        return Visit(self._door, rights, request.query_params, form, admitted.session.csrf, self._frame, here, nav)

    def _no_page(self, request: Request, error: Exception) -> Response:
        """404 and 405: the same for somebody logged in and for a stranger, whatever the address."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        return self._stranger(status)

    # --- login -------------------------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        way = _way(request.query_params.get("next", ""))
        if request.method != "POST":
            known = request.scope["state"].get("admitted") is not None
            return RedirectResponse(way, 303) if known else self._login_page(way)
        form = await self._form(request)
        if form is None:
            return self._stranger(403, "not_ours")
        # Behind a proxy every address is the proxy's: counted by it, one stranger would keep everybody out.
        peer = request.client.host if request.client is not None and not self._behind_proxy else None
        wait = self._tries.wait_s(peer)
        if wait > 0:
            answer = self._login_page(way, 429, "too_many")
            answer.headers["retry-after"] = str(int(wait) + 1)
            return answer
        session_id = self._sessions.begin(form.get("token", "").strip().encode("utf-8", "surrogatepass"))
        if session_id is None:
            self._tries.failed(peer)
            log.info("a wrong token at the console", extra={"request": request_of(request.scope), "status": 403})
            return self._login_page(way, 403, "wrong")
        self._end_session_of(request)
        admitted = self._sessions.admit(session_id)
        name = admitted.client.name if admitted is not None else None
        log.info("logged in at the console", extra={"request": request_of(request.scope), "client": name})
        answer = RedirectResponse(way, 303)
        self._set_cookie(answer, request, session_id)
        return answer

    async def _logout(self, request: Request) -> Response:
        admitted: Admitted | None = request.scope["state"].get("admitted")
        form = await self._form(request)
        if admitted is None or form is None or not forms.carries_token(form, admitted.session):
            return self._stranger(403, "not_ours")
        self._end_session_of(request)
        answer = RedirectResponse(f"{ROOT}/login", 303)
        self._set_cookie(answer, request, None)
        return answer

    async def _form(self, request: Request) -> forms.Form | None:
        """The form of a POST that a page of this console sent; None for any other."""
        headers = request.scope["headers"]
        return forms.parse(headers, await request.body()) if forms.is_from_here(headers) else None

    def _login_page(self, way: str, status: int = 200, fault: str = "") -> Response:
        return HTMLResponse(self._frame.render("login.html", {"way": way, "fault": fault}), status)

    def _sent_to_login(self, request: Request) -> Response:
        if len(self._cookies(request.scope)) > 1:
            # One of them may count for this page alone: the login would see the other and send back here, for ever.
            return self._stranger(400, "two_cookies")
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        way = _way(asked)
        return RedirectResponse(address("/login", next=None if way == ROOT else way), 303)

    def _stranger(self, status: int, why: str = "") -> Response:
        """A page that tells nobody anything: no name, no navigation."""
        return HTMLResponse(self._frame.render("bare.html", {"status": status, "why": why}), status)

    # --- cookies and files -------------------------------------------------------------------------

    def _is_secure(self, scope: Scope) -> bool:
        return self._behind_proxy or scope.get("scheme") == "https"

    def _cookie_name(self, scope: Scope) -> str:
        # Cookies do not know ports: two gateways on one host would log one another out.
        return f"{'__Host-' if self._is_secure(scope) else ''}muninn-{self._port}"

    def _cookie(self, scope: Scope) -> str | None:
        """The one cookie of this console; None where there is none, or more than one."""
        found = self._cookies(scope)
        return found[0] if len(found) == 1 else None

    def _cookies(self, scope: Scope) -> list[str]:
        name = self._cookie_name(scope)
        pairs = [part for header in _cookie_headers(scope["headers"]) for part in header.split(";")]
        return [value.strip() for key, _, value in (part.partition("=") for part in pairs) if key.strip() == name]

    def _set_cookie(self, answer: Response, request: Request, session_id: str | None) -> None:
        secure = self._is_secure(request.scope)
        answer.set_cookie(
            self._cookie_name(request.scope),
            session_id or "",
            max_age=int(WHOLE_S) if session_id is not None else 0,
            path="/" if secure else ROOT,
            secure=secure,
            httponly=True,
            samesite="strict",
        )

    def _end_session_of(self, request: Request) -> None:
        held = self._cookie(request.scope)
        if held is not None:
            self._sessions.end(held)

    def _static(self, request: Request) -> Response:
        file = self._frame.static.get(request.path_params["name"])
        if file is None or file.hash != request.path_params["hash"]:
            return self._stranger(404)
        headers = {"cache-control": FOR_GOOD.decode(), "etag": f'"{file.hash}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.kind)


def _without_slash(_: Request) -> Response:
    return RedirectResponse(ROOT, 303)


def _run(page: Page, visit: Visit, told: dict[str, Any]) -> Response:
    """Do one page's work and log it. The edge: no bug's text may reach a browser, and none may pass unseen."""
    started = time.perf_counter()
    try:
        found = guarded(lambda: _shown(page, visit))
        answer = visit.refused(found) if isinstance(found, Refusal) else found
    except Exception:
        log.exception("a bug in a page", extra=told)
        return visit.page("broken.html", 500)
    took = round((time.perf_counter() - started) * 1000, 1)
    log.info("view", extra={**told, "status": answer.status_code, "ms": took})
    return answer


def _shown(page: Page, visit: Visit) -> Response:
    if page.scope is not None:
        # A vault that is not there is said on every page, also on those that would not need to look.
        with visit.door.vault.opened():
            pass
    return page.run(visit)


def _way(text: str) -> str:
    return text if _WAY.match(text) else ROOT


def _cookie_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name == b"cookie"]
