"""Values that clients should not send, and sometimes do."""

from __future__ import annotations

import json
import random
import re
from typing import Any, Final

STRINGS: Final = (
    "", " ", "\x00", "a\x00b.md", "\ud800", "a\udfff.md", "../x.md", "a/../../etc/passwd", "/etc/passwd", "C:\\x.md",
    "a\\b.md", "./a.md", "a//b.md", "a/", ".hidden.md", ".muninn-vault", ".git/config", "private/x.md", "CON.md",
    "nul/a.md", "a\n.md", "a\r\nX: y", "\u202egnp.md", "\u2028", "e\u0301.md", "\u00e9.md", "%2e%2e/x.md", "a%00.md",
    "~$a.md", "a.tmp", "a.md.icloud", "index.md", "INDEX.MD", "a (conflicted copy 1).md", "[[x]]", "[[" * 500,
    "`" * 999, "<!-- muninn:index -->", "<!-- /muninn:index -->", '"; DROP TABLE notes; --', "NEAR(a b)",
    "a AND NOT b*", "^a:", "\uffff", "\U0010ffff", "\ufdd0", "\ufb00", "\u00df\u0130\u0131", "\u4f60\u597d",
    "\U0001f600" * 9, "\u0660\u0661", "1e999", "NaN", "null", "true", "-1", "0x10", "missing", "MISSING", "0" * 64,
    "f" * 63, "F" * 64, "ev-1-000000000000", "ev-9" * 40, "pn-" + "0" * 32, "x" * 256, "x/" * 600, "\u00e9" * 600,
    "a" * 5000, "{{}}", "${jndi:x}", "muninn://note/../x", "9" * 400,
)  # fmt: skip

NUMBERS: Final[tuple[Any, ...]] = (
    0,
    -1,
    1,
    100,
    101,
    2**31,
    2**63,
    2**64,
    2**200,
    -(2**63),
    0.5,
    1e308,
    -0.0,
    float("nan"),
)
_DEEP = re.compile(rb'"@deep(\d+)([\[{])@"')


def string(chance: random.Random) -> str:
    """One hostile string; rarely a very long one."""
    roll = chance.random()
    if roll < 0.005:
        return chance.choice("ax\u00e9\n[#`") * chance.choice((70_000, 300_000, 1_100_000))
    if roll < 0.1:
        return "".join(
            chr(chance.choice((chance.randrange(1, 0x300), chance.randrange(0x2000, 0xE000)))) for _ in range(9)
        )
    if roll < 0.2:
        return chance.choice(STRINGS) + chance.choice(STRINGS)
    return chance.choice(STRINGS)


def value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON value, and some that are none."""
    match chance.randrange(9):
        case 0 | 1 | 2:
            return string(chance)
        case 3 | 4:
            return chance.choice(NUMBERS)
        case 5:
            return chance.choice((None, True, False, float("inf")))
        case 6:
            return f"@deep{chance.choice((10, 60, 300, 3000, 40_000))}{chance.choice('[{')}@"
        case 7 if depth < 4:
            return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case 8 if depth < 4:
            return {string(chance)[:200]: value(chance, depth + 1) for _ in range(chance.randrange(4))}
        case _:
            return []


def dumped(call: Any) -> bytes:
    """JSON with lone surrogates as escapes, and with nesting deeper than this Python could write."""
    text = json.dumps(call, ensure_ascii=True).encode()

    def deep(found: re.Match[bytes]) -> bytes:
        levels = int(found[1])
        if found[2] == b"[":
            return b"[" * levels + b"]" * levels
        return b'{"a":' * levels + b"1" + b"}" * levels

    return _DEEP.sub(deep, text)
