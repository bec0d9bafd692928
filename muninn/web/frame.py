"""How pages are rendered and what goes with every answer: templates that escape, static files by their hash, headers.

Everything is read from the package once, when the console is made. Values are escaped always: no template and no value
may opt out, and a name that a template expects and does not get is an error, not an empty place.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from jinja2 import DictLoader, Environment, StrictUndefined

from .marks import FILTERS

HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; "
        b"frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not no-referrer: with it browsers send `Origin: null` with the console's own forms (Fetch, 3.2). Same-origin
    # tells other sites just as little.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
"""On every answer of the console."""
NO_STORE: Final = b"no-store"
FOR_GOOD: Final = b"public, max-age=31536000, immutable"
"""For static files alone: their address holds the hash of their bytes."""

_KINDS: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Static:
    """A file that is served as it is."""

    content: bytes
    kind: str
    hash: str


class Frame:
    """Templates and static files of one console. ``helpers`` are functions that templates may call."""

    def __init__(self, **helpers: Any) -> None:
        self.static = _static_files()
        self._environment = Environment(
            loader=DictLoader(_texts("templates")),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(helpers, static=self._address)
        self._environment.filters.update(FILTERS)

    def render(self, template: str, values: dict[str, Any]) -> str:
        """A template with its values."""
        return self._environment.get_template(template).render(values)

    def _address(self, name: str) -> str:
        return f"/console/static/{self.static[name].hash}/{name}"


def _static_files() -> dict[str, Static]:
    found = {}
    for file in resources.files(__package__).joinpath("static").iterdir():
        kind = _KINDS.get(file.name[file.name.rfind(".") :])
        if kind is not None:
            content = file.read_bytes()
            found[file.name] = Static(content, kind, hashlib.sha256(content).hexdigest()[:16])
    return found


def _texts(folder: str) -> dict[str, str]:
    files = resources.files(__package__).joinpath(folder).iterdir()
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.name.endswith(".html")}
