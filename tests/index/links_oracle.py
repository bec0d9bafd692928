"""Links and where they lead, worked out the slow and simple way: another pair of eyes on the linear scanner.

It reads a note line by line, blanks what is code or a comment, and looks for links with two plain expressions; it finds
a target by going through every path of the vault. Written from the rules alone, it shares no code with what it checks.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

_WIKI = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_PLAIN = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+\"[^\"]*\")?\s*\)"
)
_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d+[.)][ \t])*(`{3,}|~{3,})([^\n]*)$")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_TICKS = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_BLOCK: Final = re.compile(r"\n(?=[ \t>]*(?:\n|$|#{1,6}[ \t]|[-*+][ \t]|\d+[.)][ \t]|`{3}|~{3}|\|))")


@dataclass(frozen=True, slots=True)
class Seen:
    """A link as the oracle reads it."""

    target: str
    kind: str
    line: int


def blank(found: str) -> str:
    """The same text with nothing in it: lines stand."""
    return "".join(char if char == "\n" else " " for char in found)


def head_and_body(text: str) -> tuple[str, str]:
    """Frontmatter and the rest; the rest keeps its place by blank lines."""
    found = re.match(r"\ufeff?---[ \t]*\n(?:.*?\n)??---[ \t]*(?:\n|$)", text, re.DOTALL)
    return ("", text) if found is None else (found[0], blank(found[0]) + text[found.end() :])


def without_code(body: str) -> str:
    """The body without fences, comments, code spans and escaped marks."""
    lines, fence = [], ""
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            closing = re.match(r"[ \t>]*(`{3,}|~{3,})[ \t]*$", line)
            if closing and closing[1].startswith(fence):
                fence = ""
            lines.append("")
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
            lines.append("```")
        else:
            lines.append(line)
    text = "\n".join(lines)
    text = re.sub(r"<!--.*?-->", lambda found: blank(found[0]), text, flags=re.DOTALL)
    text = re.sub(r"\\[!-/:-@\[-`{-~]", lambda found: "\\|" if found[0] == "\\|" else "  ", text)
    return "\n".join(_TICKS.sub(lambda found: blank(found[0]), block) for block in _BLOCK.split(text))


def links_of(text: str) -> list[Seen]:
    """Every link of a note by line, in no set order within one."""
    text = text.replace("\r\n", "\n")
    head, body = head_and_body(text)
    found = [_wiki(mark, head) for mark in _WIKI.finditer(head)]
    rest = without_code(body)
    found += [_wiki(mark, rest) for mark in _WIKI.finditer(rest)]
    rest = _WIKI.sub(lambda mark: blank(mark[0]), rest)
    while mark := next(iter(_PLAIN.finditer(rest)), None):
        found += [_markdown(inner, rest) for inner in _PLAIN.finditer(mark[2])] if "](" in mark[2] else []
        found.append(_markdown(mark, rest))
        rest = rest[: mark.start()] + blank(mark[0]) + rest[mark.end() :]
    return sorted((seen for seen in found if seen is not None), key=lambda seen: (seen.line, seen.target, seen.kind))


def _wiki(mark: re.Match[str], text: str) -> Seen | None:
    named = mark[2].replace("\\|", "|").split("|")[0]
    target = named.split("#")[0].strip()
    line = text.count("\n", 0, mark.start()) + 1
    return Seen(target, "embed" if mark[1] and not text.startswith("---") else "wikilink", line) if target else None


def _markdown(mark: re.Match[str], text: str) -> Seen | None:
    target = (mark[3] if mark[3] is not None else mark[4]).split("#")[0]
    if not target.strip() or _ELSEWHERE.match(target):
        return None
    return Seen(target, "embed" if mark[1] else "markdown", text.count("\n", 0, mark.start()) + 1)


def folded(path: str) -> str:
    """How two spellings of a path are compared."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


@dataclass(frozen=True, slots=True)
class Vault:
    """Every file of a vault, and the aliases of its notes."""

    paths: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...]

    def leads(self, link: Seen, source: str) -> str | None:
        """Where a link of a note leads."""
        folder = source.rpartition("/")[0]
        target = link.target
        if link.kind == "wikilink":
            return self._by_name(target, folder)
        if link.kind == "embed" and "%" not in target:
            return self._by_name(target, folder) or self._by_address(target, folder)
        return self._by_address(target, folder) or self._by_name(unquote(target), folder)

    def _by_name(self, target: str, folder: str) -> str | None:
        if target.split("/")[0] in (".", ".."):
            return self._at(self._stepped(folder, target))
        name = folded(target.strip("/"))
        forms = {name, name if name.endswith(".md") else name + ".md"}
        whole = [path for path in self.paths if folded(path) in forms]
        if "/" in target and whole:
            return min(whole)
        if target.startswith("/"):
            return None
        ending = [path for path in self.paths if any(("/" + folded(path)).endswith("/" + form) for form in forms)]
        ending = ending or [path for alias, path in self.aliases if folded(alias) == folded(target)]
        near = [path for path in ending if not folder or path.startswith(folder + "/")]
        for group in (whole, near, ending):
            if group:
                return min(group, key=lambda path: (len(path), path))
        return None

    def _by_address(self, target: str, folder: str) -> str | None:
        target = unquote(target).split("?")[0]
        if target.startswith("/"):
            return self._at(target.strip("/"))
        return self._at(self._stepped(folder, target)) or self._at(target)

    def _stepped(self, folder: str, target: str) -> str | None:
        steps = [step for step in folder.split("/") if step]
        for step in target.split("/"):
            if step == ".." and not steps:
                return None
            if step == "..":
                steps.pop()
            elif step not in ("", "."):
                steps.append(step)
        return "/".join(steps)

    def _at(self, place: str | None) -> str | None:
        if place is None:
            return None
        name = folded(place.strip("/"))
        for form in (name, name + ".md", f"{name}/index.md".lstrip("/"), f"{name}/readme.md".lstrip("/")):
            found = [path for path in self.paths if folded(path) == form]
            if found:
                return min(found)
        return None
