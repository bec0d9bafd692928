"""Text of the vault as it is shown: escaped, with what was searched for marked, and nothing in it that deceives.

A note may hold characters that are not to be seen or that turn a line's direction around. They are shown by their
number, so that what a person reads is what the file holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup, escape

_ODD: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls but for tab and line end, signs of direction, and what has no width."""

Span = tuple[int, int]


def marked(text: str, spans: Iterable[Span], tag: str = "mark") -> Markup:
    """A text with these places (start and end, sorted, apart) inside ``tag``, everything in it escaped."""
    parts: list[Markup] = []
    at = 0
    for start, end in spans:
        parts += [plain(text[at:start]), Markup("<{0}>{1}</{0}>").format(Markup(tag), plain(text[start:end]))]
        at = end
    return Markup("").join([*parts, plain(text[at:])])


def plain(text: object) -> Markup:
    """A text as it is, its odd characters by their numbers.

    >>> str(plain("a<b\\u202e"))
    'a&lt;b<span class="odd">U+202E</span>'
    """
    # In one pass over what is escaped already: a note may hold a quarter of a million of them.
    return Markup(_ODD.sub(_numbered, str(escape(str(text)))))


def _numbered(found: re.Match[str]) -> str:
    """One odd character. A carriage return before a line end is how some systems end their lines, and no trick."""
    if found[0] == "\r" and found.string[found.end() : found.end() + 1] in ("\n", ""):
        return ""
    return f'<span class="odd">U+{ord(found[0]):04X}</span>'


def told(text: object) -> Markup:
    """A message of the gateway, with what it names between backticks as code.

    >>> str(told("use `muninn <x>` now"))
    'use <code>muninn &lt;x&gt;</code> now'
    """
    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return plain(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(plain(p)) if n % 2 else plain(p) for n, p in enumerate(pieces)
    )


def bare(text: object) -> str:
    """A text for places that hold no elements, as a page's title: its odd characters by their numbers."""
    return _ODD.sub(lambda found: f"U+{ord(found[0]):04X}", str(text))


def size(count: int) -> str:
    """A number of bytes for a person.

    >>> size(900), size(2048), size(5_242_880)
    ('900 bytes', '2.0 KiB', '5.0 MiB')
    """
    if count < 1024:
        return f"{count} bytes" if count != 1 else "1 byte"
    return f"{count / 1024:.1f} KiB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MiB"


def when(text: str) -> Markup:
    """A time of the ledger as an element of HTML, to the second and in UTC; what is no time is shown as it is."""
    try:
        found = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return plain(text)
    return Markup('<time datetime="{}">{} UTC</time>').format(text, found.strftime("%Y-%m-%d %H:%M:%S"))


def short(digest: str) -> str:
    """The beginning of a hash, enough to tell it from its neighbours."""
    return digest[:12]


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "plain": plain,
    "bare": bare,
    "told": told,
    "size": size,
    "when": when,
    "short": short,
    "marked": marked,
}
"""What templates may put behind a value."""
