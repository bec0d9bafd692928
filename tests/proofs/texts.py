"""Notes that are nearly right: frontmatter with a break in it, and soups of links and fences below."""

from __future__ import annotations

import random
from typing import Final

from .hostile import string

_LINES: Final = {
    "title": ("Canary", '"quoted: yes"', "'it''s'", "[a, b]", "", "|\n  long\n  text", "!!str x", "&a x", "2026"),
    "type": ("note", "log", "index", "[note]", "~", "Note "),
    "status": ("active", "superseded", "archived", "1", "no"),
    "tags": ("[ops, plan]", "[a]", "[a, b, c, d, e, f]", "[A, b]", "ops plan", "[ops, ops]", "[1, 2]", "[[a], b]"),
    "date": ("2026-05-04", "2026-02-30", "2026-05-04T10:00:00Z", "yesterday", "2026-05-04 10:00", "0000-01-01"),
}  # fmt: skip
_MORE: Final = (
    "source: [[other|x]]", "a: {b: {c: {d: [1, {e: f}]}}}", "n: " + "9" * 120, "a: *a", "? x\n: y", "<<: {a: 1}",
    "x: 0o17", "1: 2", "true: x", "title: twice", "\ttab: x", "a: 'open", "u: \u2028",
    "e: !!python/object:os.system x", "d: 1e999", "- a", "deep: " + "[" * 40 + "]" * 40,
)  # fmt: skip
_SOUP: Final = (
    "[[a]]", "[[a|b", "![[x.png]]", "[a](b.md)", "[a](<b c.md>)", "[a](%2e%2e/b.md)", "[[#h]]", "[[a^b]]", "`code",
    "``` \n", "~~~~\n", "```\n[[x]]\n```\n", "# h\n", "## h ##\n", "- [ ] x\n", "> q\n", "| a | b |\n|-|-|\n",
    "\\[\\[x]]", "<!-- c -->", "%%c%%", "$$x$$", "\n\n", "    indented\n", "word ", "\u4f60\u597d ", "e\u0301 ",
    "\r\n", "\t", "((", "[[", "]]", "](", "***", "&amp;", "<a href='b.md'>", "http://a/b", "[^1]: x\n",
    "<!-- muninn:index -->\n", "<!-- /muninn:index -->\n",
)  # fmt: skip


def note(chance: random.Random) -> str:
    """A note: often one that meets the contract, else one with a break."""
    return head(chance) + soup(chance, chance.randrange(40))


def head(chance: random.Random) -> str:
    """The frontmatter."""
    right = chance.random() < 0.6
    lines = [f"{key}: {values[0] if right else chance.choice(values)}" for key, values in _LINES.items()]
    if not right:
        if chance.random() < 0.5:
            lines.pop(chance.randrange(len(lines)))
        lines += chance.sample(_MORE, chance.randrange(3))
        chance.shuffle(lines)
    opening, closing = (
        ("---\n", "---\n")
        if right
        else (chance.choice(("---\n", "--- \n", "---\r\n", "")), chance.choice(("---\n", "...\n", "")))
    )
    mark = "\ufeff" if chance.random() < 0.05 else ""
    return mark + opening + "\n".join(lines) + "\n" + closing


def soup(chance: random.Random, length: int) -> str:
    """A body."""
    parts = [chance.choice(_SOUP) for _ in range(length)]
    if chance.random() < 0.05:
        parts.append(string(chance))
    if chance.random() < 0.01:
        parts = [chance.choice(_SOUP) * chance.choice((100, 5_000))]
    return "".join(parts)
