"""Whether a POST comes from a page of this console, and what its form holds.

Two guards that need nothing of one another: the browser says where the request comes from, and the form carries the
session's own token. A request that has neither word of the browser is refused as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import ImmutableMultiDict

from .session import Session, is_same

FIELD: Final = "csrf"
MOST_FIELDS: Final = 1000
_FORM: Final = b"application/x-www-form-urlencoded"
_PORTS: Final = {"http": "80", "https": "443"}

Headers = Iterable[tuple[bytes, bytes]]
Form = ImmutableMultiDict[str, str]


def parse(headers: Headers, body: bytes) -> Form | None:
    """The fields of a form; None for any other kind of body."""
    kinds = [value for name, value in headers if name == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != _FORM:
        return None
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        return None
    return ImmutableMultiDict(pairs)


def is_from_here(headers: Headers) -> bool:
    """Whether the browser says that a request was sent by a page of this very origin.

    ``Sec-Fetch-Site`` is set by browsers alone and no page can choose it. Those that do not know it send ``Origin``,
    which must then be the host that was asked for, its port included: another port of this machine is another site.
    """
    found = {name: value.decode("latin-1") for name, value in headers}
    site = found.get(b"sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(found.get(b"origin", ""))
    port = _PORTS.get(origin.scheme)
    if port is None:
        return False
    host = found.get(b"host", "").lower()
    return host in (origin.netloc.lower(), origin.netloc.lower().removesuffix(f":{port}"))


def carries_token(form: Form, session: Session) -> bool:
    """Whether a form carries its session's token, once."""
    found = form.getlist(FIELD)
    return len(found) == 1 and is_same(found[0], session.csrf)
