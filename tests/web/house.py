"""A whole gateway in this process with its console, and a browser that keeps cookies and follows nothing by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from muninn import app, clients, opening, web
from muninn.door import Door
from muninn.model.rights import DEFAULT_SCOPES
from muninn.settings import Settings, load
from muninn.web.session import Sessions, Tries

HOST = "http://127.0.0.1:8460"
OURS = {"origin": HOST, "sec-fetch-site": "same-origin"}


def note(body: str = "text\n", title: str = "Canary gate") -> str:
    """A note that meets the contract."""
    return f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [ops, plan]\ndate: 2026-05-04\n---\n{body}"


@dataclass(slots=True)
class Browser:
    """Somebody with a cookie jar. ``get`` and ``post`` take paths below ``/console``."""

    http: TestClient

    def get(self, page: str, /, headers: dict[str, str] | None = None, **query: str) -> Any:
        return self.http.get(f"/console{page}", params=query, headers=headers or {})

    def post(self, page: str, fields: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
        """Send a form as a page of the console would; ``headers`` in place of what a browser says of it."""
        return self.http.post(f"/console{page}", data=fields, headers=OURS if headers is None else headers)

    def log_in(self, token: str) -> Any:
        return self.post("/login", {"token": token})

    def csrf(self, path: str = "") -> str:
        """The token in the forms of a page."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(path).text)
        assert found is not None
        return found[1]


@dataclass(slots=True)
class House:
    """A vault behind a gateway with a console; time stands still until it is moved."""

    folder: Path
    behind_proxy: bool = False
    rates: tuple[float, float] = (0, 0)
    tokens: dict[str, str] = field(default_factory=dict)
    now: float = 1_000_000.0
    made: int = 0
    """Consoles that were made."""
    settings: Settings = field(init=False)
    door: Door = field(init=False)
    app: Any = field(init=False)

    def __post_init__(self) -> None:
        places = [self.folder / name for name in ("vault", "home", "cache")]
        places[0].mkdir()
        self.settings = load({}, *map(str, places))
        self.door = opening.for_serving(self.settings)
        self.add("ada")
        self.app = self.build()

    def build(self, *, console: bool = True) -> Any:
        """The gateway as ``muninn serve`` builds it, but for the clock of its sessions."""
        register = clients.Register(self.settings.places.clients)
        front = app.Front(register, app.host_names("127.0.0.1", ("muninn.example",)), *self.rates)
        tries, sessions = Tries(self._clock()), Sessions(register, self._clock())

        def make() -> web.Console:
            self.made += 1
            return web.Console(self.door, sessions, tries, 8460, self.behind_proxy)

        return app.build(self.door, front, 8460, console=make if console else None)

    def _clock(self) -> Callable[[], float]:
        return lambda: self.now

    def browser(self, base: str = HOST, peer: str = "127.0.0.1") -> Browser:
        return Browser(TestClient(self.app, base_url=base, follow_redirects=False, client=(peer, 50000)))

    def logged_in(self, name: str = "ada") -> Browser:
        made = self.browser()
        assert made.log_in(self.tokens[name]).status_code == 303
        return made

    def add(self, name: str, scopes: frozenset[str] = DEFAULT_SCOPES, read: str = "**") -> None:
        """Register a client, also while somebody is logged in."""
        self.tokens[name] = clients.new_token()
        with clients.changing(self.settings.places.clients) as known:
            known[name] = clients.make(name, self.tokens[name], scopes, (read,), ("**",), None)

    def lay(self, path: str, content: str | bytes) -> None:
        """Put a file into the vault, and let the index see it."""
        file = self.folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def scan(self) -> None:
        """Let the index take in what was laid."""
        self.door.index.sweep(self.door.vault.walk, self.door.vault.look)

    def close(self) -> None:
        self.door.index.close()
        self.door.ledger.close()
