"""Arguments of tools drawn from their schemas: right ones made of what answers have told, near ones, hostile ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Final

from . import hostile, texts

_LONG: Final = 4


@dataclass(slots=True)
class Known:
    """What answers have told: hashes to write on, events, cursors. A request drawn from them goes deep."""

    hashes: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=lambda: ["missing"])

    def learn(self, answer: Any) -> None:
        """Take from a tool's answer what can be sent back."""
        if not isinstance(answer, dict):
            return
        if isinstance(answer.get("path"), str) and isinstance(answer.get("hash"), str):
            self.hashes[answer["path"]] = answer["hash"]
        for key in ("event", "next_cursor", "pending_id", "hash", "previous_hash"):
            if isinstance(answer.get(key), str):
                self.words.append(answer[key])
        for event in (answer.get("events") or ())[:3]:
            self.words.append(event["event"])
        del self.words[:-200]


class Drawer:
    """Draws values for one thread."""

    def __init__(self, chance: random.Random, known: Known) -> None:
        self._chance = chance
        self._known = known

    def argument(self, name: str, shape: Any, schema: Any) -> Any:
        """A value for one argument of a tool, by its name and its schema."""
        chance, roll = self._chance, self._chance.random()
        if roll < 0.06:
            return hostile.value(chance)
        if roll < 0.12:
            return hostile.string(chance)
        if roll < 0.14:
            return str(self._right(name, shape, schema))
        return self._right(name, shape, schema)

    def _right(self, name: str, shape: Any, schema: Any) -> Any:
        chance = self._chance
        match name:
            case "path":
                return f"{chance.choice(('fuzz', 'fuzz/deep', 'other', 'private'))}/{chance.randrange(25)}.md"
            case "folder":
                return chance.choice(("", "fuzz", "fuzz/deep", "other", "old/0"))
            case "content":
                return texts.note(chance)
            case "edits":
                return [self._edit() for _ in range(chance.randrange(1, _LONG))]
            case "query":
                return " ".join(
                    chance.choice(("canary", "gate", "attempt", "old", "JWT-123", "\u4f60"))
                    for _ in range(chance.randrange(6))
                )
            case "expected_hash" | "revision" | "cursor" | "pending_id" | "request_id":
                return chance.choice(self._known.words)
            case "since" | "until":
                return chance.choice(("2026-01-01", "2026-13-01", "today"))
            case "dry_run":
                return chance.random() < 0.3
        return self._by_shape(shape, schema)

    def _by_shape(self, shape: Any, schema: Any) -> Any:
        chance = self._chance
        if "$ref" in shape:
            shape = schema.get("$defs", {}).get(shape["$ref"].rpartition("/")[2], {})
        if "enum" in shape:
            return chance.choice(shape["enum"])
        for choice in ("anyOf", "oneOf"):
            if choice in shape:
                return self._by_shape(chance.choice(shape[choice]), schema)
        match shape.get("type"):
            case "integer":
                return chance.choice((1, 2, 10, shape.get("minimum", 1), shape.get("maximum", 100)))
            case "boolean":
                return chance.random() < 0.5
            case "array":
                return [self._by_shape(shape.get("items", {}), schema) for _ in range(chance.randrange(_LONG))]
            case "object":
                return {key: self._by_shape(value, schema) for key, value in shape.get("properties", {}).items()}
            case "null":
                return None
        return chance.choice(("note", "active", "ops", "plan", "index", "word"))

    def _edit(self) -> Any:
        chance = self._chance
        match chance.randrange(6):
            case 0:
                return {"replace": chance.choice(("word", "[[a]]", "", "title: Canary")), "with": texts.soup(chance, 3)}
            case 1:
                return {"append": texts.soup(chance, 5)}
            case 2:
                mode = chance.choice(("replace", "append", "prepend", "other"))
                return {"section": chance.choice(("h", "", "no such")), "text": texts.soup(chance, 3), "mode": mode}
            case 3:
                return {"frontmatter": {chance.choice(("title", "tags", "x", "\x00", "a: b")): hostile.value(chance)}}
            case 4:
                return {"frontmatter": {"status": chance.choice(("active", "done", None, 1))}}
        return hostile.value(chance)
