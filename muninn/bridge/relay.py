"""Lines in, requests out, answers back in whatever order they come.

Each line is a message on its own thread, up to ``AT_ONCE`` together. Whatever goes wrong with one becomes a JSON-RPC
error of that one that says the next step; the bridge itself goes on.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from muninn.model.errors import SettingsError

from . import messages
from .address import Address
from .line import DownError, Heard, Line, LostError
from .token import TokenSource

if TYPE_CHECKING:
    import ssl

AT_ONCE: Final = 16
_WAITS: Final = 2
_MOST_WAIT_S: Final = 10.0


@dataclass(slots=True, eq=False)
class Flight:
    """A message on its way, and whether its sender has lost interest."""

    message: dict[str, Any]
    body: bytes
    dropped: threading.Event = field(default_factory=threading.Event)
    line: Line | None = None

    @property
    def awaited(self) -> bool:
        """Whether it is a request, which is owed an answer."""
        return "id" in self.message


class Relay:
    """Takes messages as bytes, hands answers to ``write`` and remarks for the person to ``log``."""

    def __init__(
        self,
        address: Address,
        token: TokenSource,
        write: Callable[[bytes], None],
        log: Callable[[str], None],
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._address, self._source, self._trust = address, token, trust
        self._token = token.read()
        self._write, self._log = write, log
        self._waiting: queue.SimpleQueue[Flight] = queue.SimpleQueue()
        self._flights: dict[str, Flight] = {}
        self._open = 0
        self._workers = 0
        self._lock = threading.Lock()
        self._done = threading.Condition(self._lock)
        self._negotiated: str | None = None
        self._trouble = ""

    def take(self, line: bytes) -> None:
        """One line of the client. Never waits for the gateway."""
        line = line.strip()
        if not line:
            return
        try:
            message = messages.parsed(line)
        except (ValueError, RecursionError):
            self._write(messages.fault(None, messages.PARSE_ERROR, "this line is no JSON", "parse"))
            return
        if isinstance(message, list):
            self._refuse_batch(message)
        elif not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            self._refuse(message, "expected a JSON-RPC message: an object with a method")
        elif not messages.is_id(message.get("id")):
            self._refuse(message, "expected an id that is a text or a number")
        elif "method" not in message:
            self._log("an answer of the client to a question that the gateway never asks was dropped")
        elif len(line) > messages.MAX_BODY:
            text = f"the message has {len(line)} bytes, over the {messages.MAX_BODY} that a gateway takes; send less"
            self._refuse(message, text, "too_large")
        else:
            self._send(Flight(message, line))

    def end(self, seconds: float) -> None:
        """Wait until every request is answered, at most this long; then say of each that is left that it was not."""
        with self._done:
            self._done.wait_for(lambda: self._open == 0, seconds)
            left = [flight for flight in self._flights.values() if not flight.dropped.is_set()]
            for flight in left:
                flight.dropped.set()
        for flight in left:
            text = f"the input ended, and {seconds:g} s later there was no answer; what was asked may have been done"
            self._write(messages.fault(flight.message["id"], messages.GATEWAY_ERROR, text, "lost"))

    def _refuse_batch(self, batch: list[Any]) -> None:
        text = "batches are no part of MCP since 2025-06-18: send one message a line"
        for message in batch or [None]:
            self._refuse(message, text)

    def _refuse(self, message: Any, text: str, reason: str = "invalid") -> None:
        message_id = message.get("id") if isinstance(message, dict) and messages.is_id(message.get("id")) else None
        self._write(messages.fault(message_id, messages.INVALID_REQUEST, text, reason))

    def _send(self, flight: Flight) -> None:
        if flight.message["method"] == "notifications/cancelled":
            self._drop(flight.message)
        with self._lock:
            if flight.awaited:
                self._flights[messages.key(flight.message["id"])] = flight
            self._open += 1
            more = self._open > self._workers and self._workers < AT_ONCE
            self._workers += more
        self._waiting.put(flight)
        if more:
            threading.Thread(target=self._work, daemon=True).start()

    def _drop(self, notification: dict[str, Any]) -> None:
        """A request was cancelled: its answer is not written, and the gateway sees its connection close."""
        params = notification.get("params")
        flight_id = params.get("requestId") if isinstance(params, dict) else None
        with self._lock:
            flight = self._flights.get(messages.key(flight_id)) if messages.is_id(flight_id) else None
            if flight is not None and flight.message["method"] != "initialize":
                flight.dropped.set()
                if flight.line is not None:
                    flight.line.cut()

    def _work(self) -> None:
        """The body of a thread: message after message over a connection of its own."""
        line = Line(self._address, self._trust)
        while True:
            flight = self._waiting.get()
            with self._lock:
                flight.line = line
            answer = None if flight.dropped.is_set() else self._relay(flight, line)
            with self._done:
                # From here on nobody cuts the line for this message's sake.
                flight.line = None
                wanted = flight.awaited and not flight.dropped.is_set()
                if flight.awaited and self._flights.get(messages.key(flight.message["id"])) is flight:
                    del self._flights[messages.key(flight.message["id"])]
            if flight.dropped.is_set():
                line.close()
            if wanted and answer is not None:
                self._write(answer)
            with self._done:
                self._open -= 1
                self._done.notify_all()

    def _relay(self, flight: Flight, line: Line) -> bytes | None:
        """The answer to a message, None where it is owed none."""
        message_id = flight.message.get("id")
        try:
            heard = self._ask(flight, line)
        except DownError as error:
            self._note(f"the gateway cannot be reached ({error})")
            text = (
                f"the gateway at {self._address.url} cannot be reached ({error}); nothing was done. Start it "
                "(muninn serve) or give the right --url, then call again: this bridge goes on"
            )
            return messages.fault(message_id, messages.GATEWAY_ERROR, text, "unreachable")
        except LostError as error:
            if not flight.dropped.is_set():
                self._note(f"the gateway went away in the middle of a call ({error})")
            text = (
                f"the gateway at {self._address.url} went away before it answered; what was asked may have been done: "
                "look (read, history) before you ask again"
            )
            return messages.fault(message_id, messages.GATEWAY_ERROR, text, "lost")
        return self._understood(flight, heard)

    def _ask(self, flight: Flight, line: Line) -> Heard:
        """Post it; again where the gateway asked for patience, or where the token's file holds another by now."""
        heard = line.post(flight.body, self._headers(flight.message))
        if heard.status == 401 and self._token_is_new():
            heard = line.post(flight.body, self._headers(flight.message))
        for _ in range(_WAITS):
            if heard.status != 429 or flight.dropped.wait(_seconds(heard.retry_after)):
                break
            heard = line.post(flight.body, self._headers(flight.message))
        return heard

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        fixed = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": "muninn-bridge",
        }
        return fixed | messages.headers_of(message, self._negotiated)

    def _token_is_new(self) -> bool:
        try:
            fresh = self._source.read()
        except SettingsError as error:
            self._note(str(error))
            return False
        old, self._token = self._token, fresh
        return fresh != old

    def _understood(self, flight: Flight, heard: Heard) -> bytes | None:
        if not flight.awaited:
            if heard.status >= 300:
                self._note(f"a notification was answered with status {heard.status}")
            return None
        found = messages.answer_in(heard, flight.message["id"])
        if found is None:
            text, reason = messages.meaning(heard.status, self._address, str(self._source))
            self._note(text)
            return messages.fault(flight.message["id"], messages.GATEWAY_ERROR, text, reason)
        if self._trouble:
            self._note("")
        line, answer = found
        if flight.message["method"] == "initialize" and isinstance(answer.get("result"), dict):
            version = answer["result"].get("protocolVersion")
            self._negotiated = messages.encoded(version) if isinstance(version, str) else None
        return line

    def _note(self, trouble: str) -> None:
        """Say a trouble once and not with every call, and once when it is over."""
        with self._lock:
            known, self._trouble = self._trouble, trouble
        if trouble != known:
            self._log(trouble or "the gateway answers again")


def _seconds(retry_after: str) -> float:
    """How long to wait before another try: as the gateway says, within bounds.

    >>> _seconds("3"), _seconds("999999"), _seconds("Wed, 21 Oct 2026 07:28:00 GMT")
    (3.0, 10.0, 1.0)
    """
    return min(float(retry_after), _MOST_WAIT_S) if retry_after.isascii() and retry_after.isdigit() else 1.0
