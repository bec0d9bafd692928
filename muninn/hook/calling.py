"""Who calls and with what: the object that an agent's client sends on standard input, and the rights it calls with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from muninn import clients
from muninn.model.rights import Rights
from muninn.settings import Settings

MOST_BYTES: Final = 1024 * 1024
"""Of the object that is sent. A longer prompt gets no notes: it is no question, and nothing is worth its reading."""

EVENTS: Final[Mapping[str, str]] = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop"}
"""Our names of the events, and those of Claude Code (its hooks reference, ``hook_event_name``)."""


@dataclass(frozen=True, slots=True)
class Call:
    """What of the sent object is used. ``continued``: the agent goes on only because a stop was held up before."""

    prompt: str = ""
    continued: bool = True


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing is to be said, and why; the reason is for the person, on stderr."""

    why: str


def called(raw: bytes, event: str) -> Call | Silence:
    """Read what was sent, at most ``MOST_BYTES``. Halves of surrogate pairs and other odd characters are replaced."""
    if len(raw) > MOST_BYTES:
        return Silence(f"more than {MOST_BYTES >> 10} KiB were sent; such a prompt gets no notes")
    try:
        sent = json.loads(raw)
    except (ValueError, RecursionError):
        return Silence("expected the hook's JSON object on standard input; what came is none")
    if not isinstance(sent, dict):
        return Silence("expected the hook's JSON object on standard input; what came is another value")
    named = sent.get("hook_event_name")
    if named is not None and named != EVENTS[event]:
        return Silence(f"this command is for the event {EVENTS[event]}, and was called for another one")
    prompt = sent.get("prompt")
    text = prompt if isinstance(prompt, str) else ""
    # Only a plain false says that no stop was held up before: whatever else is there must not make a loop.
    return Call(text.encode("utf-8", "replace").decode("utf-8"), sent.get("stop_hook_active") is not False)


def rights_of(settings: Settings, name: str) -> Rights | Silence:
    """The rights of a client that may read now; none for one that is unknown, revoked, expired or may not read.

    Raises SettingsError where the clients cannot be read.
    """
    client = clients.load(settings.places.clients).get(name)
    if client is None:
        return Silence("the client named by --client is not known here; see muninn client list")
    if client.is_expired(datetime.now(UTC)):
        return Silence("the client's time is over; see muninn client list")
    rights = client.rights(settings.private)
    if "read" not in rights.scopes:
        return Silence("the client has no scope read")
    return rights
