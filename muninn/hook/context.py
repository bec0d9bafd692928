"""What is printed for an event: one JSON object, in the form that Claude Code's hooks reference gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .calling import EVENTS


@dataclass(frozen=True, slots=True)
class Context:
    """The object to print."""

    shown: dict[str, Any]


def added(event: str, text: str) -> Context:
    """A text that goes into the agent's context."""
    return Context({"hookSpecificOutput": {"hookEventName": EVENTS[event], "additionalContext": text}})


def told_the_user(text: str) -> Context:
    """A text that the agent's client shows to its user."""
    return Context({"systemMessage": text})


def held_up(text: str) -> Context:
    """A stop that is held up, and the text that says to the agent why."""
    return Context({"decision": "block", "reason": text})
