"""Where a gateway is. A token goes out encrypted, or to this machine, unless the person allows it otherwise."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    """An address that a token may be sent to. Made by ``parse`` alone."""

    url: str
    secure: bool
    host: str
    port: int
    target: str


def parse(url: str, *, allow_plain: bool = False) -> Address | str:
    """The gateway's address, or what is wrong with it. Without a path, ``/mcp`` is meant.

    >>> parse("http://127.0.0.1:8460")
    Address(url='http://127.0.0.1:8460/mcp', secure=False, host='127.0.0.1', port=8460, target='/mcp')
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("https", "http") or not parts.hostname:
        return "it must begin with https:// (or http:// to this machine) and name a host"
    if "@" in parts.netloc:
        return "it holds a user or a password; a token belongs in a file of mode 0600"
    if parts.query or parts.fragment or not url.isascii() or any(char <= " " or char == "\x7f" for char in url):
        return "it holds a query, a fragment, a space, or characters beyond ASCII"
    secure = parts.scheme == "https"
    if not (secure or allow_plain or _is_this_machine(parts.hostname)):
        return "it is neither https nor this machine, so the token would travel in clear"
    target = parts.path if parts.path not in ("", "/") else "/mcp"
    whole = f"{parts.scheme}://{parts.netloc}{target}"
    return Address(whole, secure, parts.hostname, port or (443 if secure else 80), target)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
