"""A client that writes, edits, archives, restores and creates in a few folders, as fast as it is answered."""

from __future__ import annotations

import http.client
import random
import threading
from typing import Any, Final

from .model import Finding
from .said import fresh_note
from .serving import Proved

_FOLDERS: Final = 4
_NAMES: Final = 6
_FINE: Final = ("conflict", "exists", "not_found", "unknown_id")
"""Refusals that clients who share a few notes come to by themselves."""


class Worker:
    """One client. It ends when told to, or when the gateway is gone."""

    def __init__(self, place: Proved, chance: random.Random, stop: threading.Event, client: str = "a") -> None:
        self._place = place
        self._chance = chance
        self._stop = stop
        self._client = client
        self.odd: list[Finding] = []
        """Answers that nothing in this load explains."""

    def work(self) -> None:
        """Write until the end."""
        while not self._stop.is_set():
            try:
                self._step(f"load{self._chance.randrange(_FOLDERS)}/{self._chance.randrange(_NAMES)}.md")
            except (OSError, http.client.HTTPException):
                return

    def _step(self, path: str) -> None:
        seen = self._place.call("read", {"path": path}, self._client)
        if "error" in seen:
            self._bring(path)
            return
        of = {"path": path, "expected_hash": seen["hash"]}
        match self._chance.randrange(4):
            case 0:
                self._send("archive", of | {"reason": "obsolete"}, None)
            case 1:
                more = fresh_note("edited").rpartition("---\n")[2]
                self._send("edit", of | {"edits": [{"append": more}]}, seen["content"] + more)
            case _:
                content = fresh_note(path[:-3].replace("/", " "))
                self._send("write", of | {"content": content}, content)

    def _bring(self, path: str) -> None:
        """Make the note, or bring its newest kept bytes back."""
        events = self._place.call("history", {"path": path}, self._client).get("events", [])
        if events and self._chance.random() < 0.5:
            self._send("restore", {"path": path, "revision": events[0]["event"]}, None)
            return
        content = fresh_note(path[:-3].replace("/", " "))
        self._send("write", {"path": path, "content": content, "expected_hash": "missing"}, content)

    def _send(self, tool: str, arguments: dict[str, Any], content: str | None) -> None:
        said = self._place.said
        sent = None if content is None else said.attempt(content.encode())
        answer = self._place.call(tool, arguments, self._client)
        said.answered(answer, sent)
        if "error" in answer and answer["error"]["code"] not in _FINE:
            self.odd.append(Finding("answer", f"{tool} was refused: {answer['error']}"))
        if answer.get("state") == "pending":
            self.odd.append(Finding("pending", f"{tool} on {arguments['path']} is pending with nothing in its way"))
