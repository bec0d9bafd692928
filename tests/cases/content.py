"""The exact bytes of fixtures and of outside writes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from .verdict import UnknownWordError

_COUNTER = re.compile(r"\{([a-z])(?::0(\d+))?\}")


def count_in(text: str, counters: Mapping[str, int]) -> str:
    """Puts counters in their places; a counter that does not run stays as it is.

    >>> count_in("n{n:03}-{i}", {"n": 7})
    'n007-{i}'
    """
    if not counters or "{" not in text:
        return text

    def put(found: re.Match[str]) -> str:
        number = counters.get(found[1])
        if number is None:
            return found[0]
        return f"{number:0{int(found[2])}d}" if found[2] else str(number)

    return _COUNTER.sub(put, text)


def repeated(form: Mapping[str, Any]) -> str:
    """Head, the unit `times` times with {i} = 0, 1, 2 …, tail.

    >>> repeated({"head": "a", "unit": "{i},", "times": 3, "tail": "z"})
    'a0,1,2,z'
    """
    unit = str(form["unit"])
    times = int(form["times"])
    body = "".join(count_in(unit, {"i": i}) for i in range(times)) if "{i" in unit else unit * times
    return f"{form.get('head', '')}{body}{form.get('tail', '')}"


def noise(form: Mapping[str, Any]) -> bytes:
    """SHA-256 of `seed:0`, `seed:1`, … joined and cut to the asked size.

    >>> noise({"seed": "x", "bytes": 4}).hex() == hashlib.sha256(b"x:0").hexdigest()[:8]
    True
    """
    size = int(form["bytes"])
    blocks = (hashlib.sha256(f"{form['seed']}:{n}".encode()).digest() for n in range((size + 31) // 32))
    return b"".join(blocks)[:size]


def from_b64(text: object) -> bytes:
    """Raw bytes from base64; anything else is an unknown value."""
    try:
        return base64.b64decode(str(text), validate=True)
    except (binascii.Error, ValueError) as wrong:
        raise UnknownWordError(f"b64 value {text!r}: {wrong}") from wrong


def fixture_bytes(entry: Mapping[str, Any], counters: Mapping[str, int] | None = None) -> bytes:
    """The bytes of an entry of `given`; `counters` run in its text, head and tail, not in its unit."""
    run = counters or {}
    if "text" in entry:
        return count_in(str(entry["text"]), run).encode("utf-8", "surrogatepass")
    if "b64" in entry:
        return from_b64(entry["b64"])
    if "repeat" in entry:
        form = dict(entry["repeat"])
        ends = {key: count_in(str(form.get(key, "")), run) for key in ("head", "tail")}
        return repeated(form | ends).encode("utf-8", "surrogatepass")
    if "noise" in entry:
        return noise(entry["noise"])
    raise UnknownWordError(f"a fixture without content: {sorted(entry)}")


def wrong_fixture(entry: Mapping[str, Any]) -> str | None:
    """Why the entry is not what its `bytes` and `sha256` say; None when it is."""
    data = fixture_bytes(entry)
    name = entry.get("path", entry.get("name_b64"))
    if "bytes" in entry and len(data) != entry["bytes"]:
        return f"fixture {name}: {entry['bytes']} bytes said, {len(data)} found"
    if "sha256" in entry and hashlib.sha256(data).hexdigest() != entry["sha256"]:
        return f"fixture {name}: its bytes do not have the sha256 it says"
    return None
