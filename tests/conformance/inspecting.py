"""Ask the gateway through the official inspector's command line, as a person would, and check what comes back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from .fetching import Kit
from .gateway import Address

_CALL_S: Final = 60


@dataclass(frozen=True, slots=True)
class Question:
    """A method with its arguments, and what its answer must be; ``fits`` gives the fault, "" for none."""

    name: str
    arguments: tuple[str, ...]
    fits: Callable[[Any], str]


def _lists_tools(answer: Any) -> str:
    tools = answer.get("tools", [])
    names = {tool["name"] for tool in tools}
    wanted = {"search", "read", "write", "status", "contract"}
    if not wanted <= names:
        return f"expected at least the tools {sorted(wanted)}, found {sorted(names)}"
    bare = [tool["name"] for tool in tools if not tool.get("inputSchema") or not tool.get("description")]
    return f"no schema or description: {bare}" if bare else ""


def _finds_notes(answer: Any) -> str:
    found = answer.get("structuredContent", {})
    hits = found.get("hits", [])
    if not hits:
        return "expected hits, found none"
    if json.loads(answer["content"][0]["text"]) != found:
        return "the text of the answer is not its structured content"
    return "" if all(len(hit["source_hash"]) == 64 for hit in hits) else "a hit without a source_hash"


def _says_status(answer: Any) -> str:
    found = answer.get("structuredContent", {})
    if not found.get("vault", {}).get("readable"):
        return "expected a readable vault"
    name = found.get("client", {}).get("name")
    return "" if name == "conformance" else f"expected the client conformance, found {name}"


QUESTIONS: Final = (
    Question("tools/list", ("--method", "tools/list", "--strict"), _lists_tools),
    Question(
        "tools/call search",
        ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=surge threshold", "limit=3"),
        _finds_notes,
    ),
    Question("tools/call status", ("--method", "tools/call", "--tool-name", "status"), _says_status),
)


def inspect(kit: Kit, address: Address) -> Iterator[tuple[str, str]]:
    """Each question's name, with its fault or "" for none."""
    for question in QUESTIONS:
        yield question.name, _ask(kit, address, question)


def _ask(kit: Kit, address: Address, question: Question) -> str:
    command = [str(kit.node), str(kit.inspector), "--cli", address.door, "--transport", "http"]
    command += ["--header", f"Authorization: Bearer {address.token}", *question.arguments]
    try:
        done = subprocess.run(
            command,
            env=dict(kit.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CALL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_CALL_S} s"
    if done.returncode != 0:
        said = " / ".join(done.stderr.strip().splitlines()[-3:])
        return f"ended with status {done.returncode}: {said}".replace(address.token, "…")
    try:
        return question.fits(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return f"the answer has another shape than expected ({type(error).__name__}: {error})"
